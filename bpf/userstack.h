/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * User stacks.
 */
#ifndef WPROF_USERSTACK_H
#define WPROF_USERSTACK_H

/* If the register holds no frame pointer the walk may read anything; it ends at the first value that is no user address. */
static __always_inline __u32 user_frames(struct scratch *s, __u32 count)
{
	__u32 i;

	for (i = 0; i < STACK_FRAMES && i < count; i++)
		if ((s->addrs[i] - 1) >> 56)
			break;
	return i;
}

/*
 * During an exec the memory and the number of execs are those of the new program, but the registers still those of the
 * old one, whose calls cannot be walked any more: the one frame would be taken for new code.
 */
static __always_inline bool is_in_exec(struct scratch *s, struct task_struct *task)
{
	return frames(s) == 1 && bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve);
}

/* These threads never ran in user mode: their saved registers are another thread's. */
static __always_inline bool has_user_stack(struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | worker_flags()));
}

static __always_inline __u32 walk_user_stack(void *ctx, struct scratch *s)
{
	long bytes = bpf_get_stack(ctx, s->addrs, bounded(user_depth, STACK_FRAMES + 1) * sizeof(__u64), BPF_F_USER_STACK);

	return bytes > 0 ? user_frames(s, bytes / sizeof(__u64)) : 0;
}

static __always_inline struct stack_ref refer_to_user_stack(struct scratch *s, struct task_struct *task, __u32 flags)
{
	if (!frames(s) || is_in_exec(s, task))
		return (struct stack_ref){};
	return refer_to_stack(s, user_seed(task), task->tgid, task->pid, flags);
}

#if defined(__TARGET_ARCH_x86)

#define SHALLOW_FRAMES 32
#define FIRST_PAGE 4096

/*
 * Walks the frame pointers of the running thread as perf_callchain_user() does, at less cost. Returns the number of
 * frames; 0: bpf_get_stack() has to walk them, because there are more than SHALLOW_FRAMES, the code is 32-bit, or return
 * addresses may be replaced by uretprobes.
 *
 * Without frame pointers the register is often a small number. Nothing is mapped there, and a page fault costs more than
 * the rest of the walk.
 */
__noinline __u32 walk_shallow(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct user_frame frame;
	__u64 fp;

	if (!s || !BPF_CORE_READ(task, mm) || !REGS_64BIT(regs) || user_depth <= SHALLOW_FRAMES)
		return 0;
	if (bpf_core_field_exists(task->utask) && task->utask)
		return 0;
	frame.ret = REGS_PC(regs);
	fp = REGS_FP(regs);
	for (__u32 i = 0; i < SHALLOW_FRAMES; i++) {
		if ((frame.ret - 1) >> 56)
			return i;
		s->addrs[i] = frame.ret;
		if (fp < FIRST_PAGE || bpf_probe_read_user(&frame, sizeof(frame), (void *)fp))
			return i + 1;
		fp = frame.next;
	}
	return 0;
}

/* Other threads may write to the memory between the two walks. */
static __always_inline void check_shallow(void *ctx, struct scratch *s)
{
	__u64 shallow = hash_stack(s, 0);

	s->count = walk_user_stack(ctx, s);
	count_check(&stack_checks.shallow, &stack_checks.shallow_wrong, shallow == hash_stack(s, 0));
}

#else

static __always_inline __u32 walk_shallow(struct scratch *s)
{
	return 0;
}

static __always_inline void check_shallow(void *ctx, struct scratch *s) {}

#endif

/* The walk by tables has begun. */
static __always_inline struct stack_ref walked_user_stack(struct scratch *s, struct task_struct *task)
{
	walk_by_tables(s);
	if (python_enabled) {
		walk_python(s);
		walk_ruby(s);
	}
	return refer_to_user_stack(s, task, s->walk.ended << STACK_END_SHIFT | (s->walk.ended == END_ROOT ? 0 : REC_CUT));
}

/* The user's part of the stack of the running thread. may_be_shallow: without tables, half the cost if it is. */
static __always_inline struct stack_ref user_stack(void *ctx, struct scratch *s, struct task_struct *task, bool may_be_shallow)
{
	if (!has_user_stack(task))
		return (struct stack_ref){};
	if (python_enabled)
		s->python = PYTHON_NONE;
	if (unwind_tables && begin_walk(s))
		return walked_user_stack(s, task);
	s->count = may_be_shallow ? walk_shallow(s) : 0;
	if (!frames(s))
		s->count = walk_user_stack(ctx, s);
	else if (stacks_checked)
		check_shallow(ctx, s);
	return refer_to_user_stack(s, task, cut_if_deep(s, user_depth));
}

/* Both parts of the stack of the running thread; flags are those of kernel_stack(). */
static __always_inline bool take_flagged_stacks(void *ctx, struct task_struct *task, bool user, bool kernel, __u8 flags, struct rec_stacks *to)
{
	struct scratch *s = get_scratch(REC_STACK);

	to->user = to->kernel = 0;
	if (!s)
		return false;
	if (user)
		to->user = user_stack(ctx, s, task, false).id;
	if (kernel)
		to->kernel = kernel_stack(ctx, s, task, flags).id;
	put_scratch(s);
	return true;
}

/* The same where a tracepoint or a probe has called the program. */
static __always_inline bool take_stacks(void *ctx, struct task_struct *task, bool user, bool kernel, struct rec_stacks *to)
{
	return take_flagged_stacks(ctx, task, user, kernel, REC_TRACER, to);
}

/* The same of a perf event, which has the registers of where it happened. */
static __always_inline bool take_event_stacks(void *ctx, struct task_struct *task, bool user, bool kernel, struct rec_stacks *to)
{
	return take_flagged_stacks(ctx, task, user, kernel, 0, to);
}

#endif
