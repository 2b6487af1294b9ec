/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stacks of threads that are still blocked when the window closes, and what they wait for. A thread that does not run
 * cannot take its own stack, so an iterator over all threads reads it from their memory.
 */
#ifndef WPROF_BLOCKED_H
#define WPROF_BLOCKED_H

volatile __u64 closed_at; /* when the window closed, CLOCK_MONOTONIC */

#include "blockedpython.h"

/* Shared by all runs of the iterator: user space reads one at a time. */
#define BLOCKED_WORDS 1024
static __u64 blocked_buf[BLOCKED_WORDS];

_Static_assert(sizeof(struct rec_blocked) / sizeof(__u64) + STACK_FRAMES + TABLE_FRAMES + 2 <= BLOCKED_WORDS, "both parts fit");

static __always_inline bool is_blocked(struct task_struct *task)
{
	return !low_byte(task->on_cpu) && !is_queued(task) && !task->exit_state && task->__state && !(task->__state & TASK_DEAD);
}

/* When it was last put on a CPU, CLOCK_MONOTONIC, or later than that; -1: not known. */
static __always_inline __u64 last_run_at(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.last_arrival) || !bpf_core_field_exists(task->se.cfs_rq))
		return -1ULL;
	update_clock_offset();
	return task->sched_info.last_arrival + clock_offset;
}

struct user_frame32 {
	__u32 next;
	__u32 ret;
};

/* Shared as blocked_buf is, and not on the program's stack, so that the verifier does not follow the values. */
static struct blocked_walk {
	__u64 fp;
	__u32 first; /* word of blocked_buf for the first frame */
	__u32 count;
	bool compat; /* frames of 32-bit code */
	/* Of walks by tables. */
	__u64 vdso;
	bool code;    /* the mapping that was looked up has some */
	bool stepped; /* to a frame that is not added yet */
} blocked_walk;

static __always_inline void add_frame(__u64 address)
{
	struct blocked_walk *b = &blocked_walk;

	blocked_buf[bounded(b->first + b->count, BLOCKED_WORDS)] = address;
	b->count++;
}

static __always_inline long read_frame(struct other_thread *other, struct user_frame *frame)
{
	struct blocked_walk *b = &blocked_walk;
	struct user_frame32 compat = {};
	long err;

	if (!b->compat)
		return read_other(other, frame, sizeof(*frame), b->fp);
	err = read_other(other, &compat, sizeof(compat), b->fp);
	frame->next = compat.next;
	frame->ret = compat.ret;
	return err;
}

/* One frame, as perf_callchain_user() does in the thread itself. */
static long walk_frame(__u32 index, struct other_thread *other)
{
	struct blocked_walk *b = &blocked_walk;
	struct user_frame frame = {};

	if (!b->fp || b->fp & (b->compat ? 3 : 7) || read_frame(other, &frame))
		return 1;
	if ((frame.ret - 1) >> 56)
		return 1;
	add_frame(frame.ret);
	b->fp = frame.next;
	return 0;
}

#if defined(__TARGET_ARCH_x86)

#define BLOCKED_STEPS (3 * TABLE_FRAMES) /* few frames need more than one read */

/* Shared as blocked_buf is. */
static struct unwind_walk blocked_state;

static long set_blocked_mapping(struct task_struct *task, struct vm_area_struct *area, struct other_thread *other)
{
	blocked_walk.code = set_mapping(&blocked_state, area, blocked_walk.vdso);
	return 0;
}

static __always_inline bool enter_blocked_mapping(struct other_thread *other, __u64 address)
{
	struct unwind_walk *w = &blocked_state;

	if (in_mapping(w, address) || enter_known_mapping(w, address))
		return true;
	replace_mapping(w);
	blocked_walk.code = false;
	if (bpf_find_vma(other->task, address, set_blocked_mapping, other, 0) == -EBUSY)
		other_read.locked = true;
	return blocked_walk.code;
}

/* Reads the words from the wanted one on, which the same step may need as well, or those around it at the end of a mapping. */
static __always_inline bool read_wanted(struct other_thread *other)
{
	struct unwind_walk *w = &blocked_state;
	__u64 at = w->wanted;

	w->wanted = w->cached_at = 0;
	if (!at)
		return false;
	if (read_other(other, w->cached, sizeof(w->cached), at)) {
		at &= ~(sizeof(w->cached) - 1);
		if (read_other(other, w->cached, sizeof(w->cached), at))
			return false;
	}
	w->cached_at = at;
	return true;
}

/* Adds the frame that the step before has led to, if code is there, and goes on to its caller, or reads what that needs. */
static long step_blocked(__u32 i, struct other_thread *other)
{
	struct blocked_walk *b = &blocked_walk;
	struct unwind_walk *w = &blocked_state;
	__u64 address = w->pc - w->is_return;

	w->ended = w->pc ? END_NO_CODE : END_ROOT;
	if (!enter_blocked_mapping(other, address))
		return 1;
	if (b->stepped) {
		w->ended = END_DEPTH;
		if (b->count >= TABLE_FRAMES || b->count >= table_depth)
			return 1;
		add_frame(w->pc | (python_enabled ? note_python(w, address, b->count) : 0));
		b->stepped = false;
	} else if (python_enabled && b->count == 1) {
		blocked_buf[bounded(b->first, BLOCKED_WORDS)] |= note_python(w, address, 0);
	}
	w->ended = step_to_caller(w);
	if (w->ended != END_DEPTH)
		return !read_wanted(other);
	b->stepped = true;
	return 0;
}

/* The first frame is there. Returns enum stack_end. */
static __always_inline __u8 walk_blocked_by_tables(struct other_thread *other, struct pt_regs *regs)
{
	struct unwind_walk *w = &blocked_state;
	struct task_struct *task = other->task;

	start_walk(w, task, regs);
	w->is_other = 1;
	__builtin_memset(w->processes, 0, sizeof(w->processes[0]));
	blocked_walk.vdso = (__u64)BPF_CORE_READ(task, mm, context.vdso);
	bpf_loop(BLOCKED_STEPS, step_blocked, other, 0);
	return w->ended;
}

static long mark_blocked_call(__u32 call, struct python_context *ctx)
{
	if (!ctx->st)
		return 1;
	mark_call(ctx->st, call, &blocked_state, blocked_buf, blocked_walk.first, blocked_walk.count, BLOCKED_WORDS);
	return 0;
}

static __always_inline void walk_blocked_python(struct task_struct *task, struct rec_blocked *rec)
{
	struct python_context ctx = {};
	struct python_listing *l;

	if (!python_enabled)
		return;
	walk_listed_python(task, &blocked_state, rec);
	l = python_listing();
	if (!l || !rec->python_count)
		return;
	ctx.st = &l->st;
	bpf_loop(bounded(l->st.calls, PYTHON_CALLS), mark_blocked_call, &ctx, 0);
}

#else

static __always_inline __u8 walk_blocked_by_tables(struct other_thread *other, struct pt_regs *regs)
{
	return END_UNKNOWN;
}

static __always_inline void walk_blocked_python(struct task_struct *task, struct rec_blocked *rec) {}

#endif

/* bpf_loop(), because the verifier would take a quarter of a second for unrolled steps. */
static __always_inline __u32 walk_blocked(struct task_struct *task, __u32 first, struct rec_blocked *rec)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct other_thread other = {.task = task};
	struct blocked_walk *b = &blocked_walk;
	__u64 pc;

	if (!regs)
		return 0;
	pc = REGS_PC(regs);
	if ((pc - 1) >> 56)
		return 0;
	b->first = first;
	b->count = 0;
	b->stepped = false;
	add_frame(pc);
	b->fp = REGS_FP(regs);
	b->compat = REGS_32BIT(regs);
	other_read.locked = false;
	if (unwind_tables && !b->compat) {
		rec->ended = walk_blocked_by_tables(&other, regs);
		rec->cut |= rec->ended == END_ROOT ? 0 : BLOCKED_USER_CUT;
		walk_blocked_python(task, rec);
		return b->count;
	}
	bpf_loop(user_depth - 1, walk_frame, &other, 0);
	rec->cut |= other_read.locked || b->count >= user_depth ? BLOCKED_USER_CUT : 0;
	return b->count;
}

/* Shared as blocked_buf is: the stack of the program has no room for it. */
static struct rec_wait blocked_wait;
static struct rec_ident blocked_ident;
static struct wait_call blocked_call;

/* As intern_wait() does in the thread itself. Returns false if nothing is known. */
static __always_inline bool describe_blocked(struct task_struct *task)
{
	struct other_thread other = {.task = task};
	struct futex_memory memory = {};
	struct pollfd polled = {};
	struct wait_file f = {};
	struct wait_call *call = &blocked_call;
	__u64 gil = 0;
	__u32 fd = 0;

	if (!read_call(task, call))
		return false;
	if (polls_one(call) && !read_other(&other, &polled, sizeof(polled), call->args[0]))
		set_polled(call, &polled);
	else if (call->use & USE_POLLFD)
		call->args[0] = 0;
	if (call->use & USE_FD) {
		fd = call->args[0];
		find_file(&f, task, fd);
	}
	if (python_enabled && call->use & USE_FUTEX) {
		gil = gil_with(&other, task, call->args[0]);
		set_gil(call, gil);
	}
	describe_wait(&blocked_wait, task, call, &f, fd);
	if (gil)
		blocked_wait.owner = gil_holder(&other, task, gil);
	else if (call->number == SYSCALL_FUTEX && has_owner(call->args[1], call->args[2]) &&
		 !read_other(&other, &memory, sizeof(memory), call->args[0]))
		blocked_wait.owner = owner_in(call->args[1], call->args[2], memory.word, memory.after);
	return true;
}

SEC("iter.s/task")
int blocked(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rec_blocked *rec = (struct rec_blocked *)blocked_buf;
	__u32 kernel = 0, user = 0;
	unsigned long switches;
	bool described = false;
	long bytes;

	if (ctx->meta->seq_num == 0) {
		clock_offset = CLOCK_UNKNOWN;
		if (python_enabled)
			begin_python_listing();
	}
	if (!task || !is_blocked(task) || last_run_at(task) > closed_at)
		return 0;
	write_ident(&blocked_ident, task);
	switches = task->nvcsw + task->nivcsw;
	if (!switches || !ident_passes(&blocked_ident, task))
		return 0;
	rec->cut = rec->ended = rec->python_count = 0;
	if (offcpu_kernel) {
		bytes = bpf_get_task_stack(task, rec->addrs, STACK_FRAMES * sizeof(__u64), 0);
		if (bytes > 0)
			kernel = bytes / sizeof(__u64);
		if (kernel >= STACK_FRAMES)
			rec->cut |= BLOCKED_KERNEL_CUT;
	}
	if (offcpu_user && !(task->flags & (PF_KTHREAD | worker_flags()))) {
		user = walk_blocked(task, sizeof(*rec) / sizeof(__u64) + kernel, rec);
	}
	if (waits_enabled)
		described = describe_blocked(task);
	/* A thread that has run meanwhile has no such stack. */
	if (!is_blocked(task) || switches != task->nvcsw + task->nivcsw || last_run_at(task) > closed_at || !(kernel + user + described))
		return 0;
	rec->hdr.ts = bpf_ktime_get_ns();
	rec->hdr.kind = REC_BLOCKED;
	rec->hdr.flags = REC_SUBJECT;
	rec->hdr.cpu = task->thread_info.cpu;
	rec->hdr.tid = task->pid;
	rec->start_ns = task->start_time;
	rec->pid = task->tgid;
	rec->kernel_count = kernel;
	rec->user_count = user;
	rec->state = mark_iowait(task, task->__state | task->exit_state);
	rec->prio = task->prio;
	rec->since_ns = 0;
	if (since_enabled && bpf_core_field_exists(task->se.cfs_rq)) {
		rec->since_ns = departure(task);
		if (rec->since_ns) {
			rec->since_ns += clock_offset;
			rec->hdr.flags |= REC_SINCE;
		}
	}
	if (described)
		bpf_seq_write(ctx->meta->seq, &blocked_wait, sizeof(blocked_wait));
	bpf_seq_write(ctx->meta->seq, rec, sizeof(*rec) + bounded(kernel + user, BLOCKED_WORDS) * sizeof(__u64));
	if (python_enabled)
		write_listed_python(ctx->meta->seq, rec->python_count);
	return 0;
}

#endif
