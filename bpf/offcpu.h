/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stacks of threads that are off-CPU.
 *
 * A thread's stack does not change while it is off-CPU, so it is taken when the thread comes back, by the thread itself: by
 * then the time since it was last put on a CPU is known, and the many short off-CPU times cost only a clock read. The record
 * of the switch, which is written before, announces the stack. The program is attached to the tracepoint sched_exit_tp
 * (since 6.15), or as a kprobe to finish_task_switch, where the run queue is locked; where the kernel has neither, every
 * switch takes the stack of the thread that leaves its CPU.
 */
#ifndef WPROF_OFFCPU_H
#define WPROF_OFFCPU_H

enum offcpu_place {
	OFFCPU_NEVER,
	OFFCPU_AT_RETURN,
	OFFCPU_AT_DEPARTURE,
};

const volatile __u8 offcpu_place;
const volatile bool offcpu_kernel, offcpu_user;
const volatile __u64 offcpu_min; /* ns; shorter off-CPU times have no stack */

/* The thread whose return is announced on a CPU; 0: none. A cache line each, because every CPU writes its own. */
struct pending_return {
	__u32 tid;
	__u32 pad[15];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pending_return);
} pending_returns SEC(".maps");

/*
 * Whether a thread that is about to be put on the CPU may have been off-CPU for offcpu_min. The kernel stores when a thread
 * was put on its CPU, not when it left: if its running and off-CPU times together reach offcpu_min, the stack is taken.
 * The reader, which has both times, drops it if the off-CPU time alone is shorter. So at most one stack per thread and
 * offcpu_min is taken in vain. Where the kernel does not store the time (no CONFIG_SCHED_INFO or no
 * CONFIG_FAIR_GROUP_SCHED) all stacks are taken.
 */
static __always_inline bool may_be_off_long(struct task_struct *task)
{
	if (!since_enabled || !bpf_core_field_exists(task->sched_info.last_arrival) ||
	    !bpf_core_field_exists(task->se.cfs_rq))
		return true;
	return task->se.cfs_rq->rq->clock - task->sched_info.last_arrival >= offcpu_min;
}

/*
 * Whether the thread's stack is to be taken when it is on the CPU; if so, arranges for it. The thread is back before
 * this CPU switches again, so one word per CPU is enough.
 */
static __always_inline bool expect_return(struct task_struct *task, __u32 cpu)
{
	struct pending_return *pending = bpf_map_lookup_elem(&pending_returns, &cpu);
	bool has_run = task->nvcsw + task->nivcsw != 0;

	if (!pending || !task->pid || !has_run || !may_be_off_long(task))
		return false;
	pending->tid = task->pid;
	return true;
}

static __always_inline bool take_pending_return(struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id(), tid;
	struct pending_return *pending = bpf_map_lookup_elem(&pending_returns, &cpu);

	if (!pending || !pending->tid)
		return false;
	tid = pending->tid;
	pending->tid = 0;
	return tid == (__u32)task->pid;
}

/* Both parts of the stack of a thread that has just come back to the CPU. */
static __always_inline bool take_returned_stacks(void *ctx, struct task_struct *task, struct rec_stacks *to)
{
	struct scratch *s = get_scratch(REC_STACK);

	to->user = to->kernel = 0;
	if (!s)
		return false;
	if (offcpu_user)
		to->user = returned_user_stack(ctx, s, task).id;
	if (offcpu_kernel)
		to->kernel = returned_kernel_stack(ctx, s, task).id;
	put_scratch(s);
	return true;
}

static __always_inline void write_return(struct task_struct *task, const struct rec_stacks *stacks)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ring *ring = ring_of(cpu);
	struct rec_packed_return *packed;
	struct rec_return *rec;
	__u64 ts;

	if (!ring)
		return;
	packed = pack(ring, cpu, task->pid, sizeof(*packed), &ts);
	if (packed) {
		packed->stacks = *stacks;
		submit_packed(packed, sizeof(*packed), REC_RETURN, 0, ts);
		return;
	}
	rec = reserve(REC_RETURN, 0, task->pid, sizeof(*rec));
	if (!rec)
		return;
	rec->stacks = *stacks;
	submit(rec, sizeof(*rec));
}

static __always_inline int handle_return(void *ctx)
{
	struct task_struct *task;
	struct rec_stacks stacks;

	if (!armed)
		return 0;
	task = bpf_get_current_task_btf();
	if (!take_pending_return(task))
		return 0;
	if (!take_returned_stacks(ctx, task, &stacks))
		return 0;
	write_return(task, &stacks);
	return 0;
}

/* In the thread that has come back, after the run queue was unlocked. Newer kernels pass fewer arguments. */
SEC("tp_btf/sched_exit_tp")
int sched_exit(void *ctx)
{
	return handle_return(ctx);
}

__u8 probe_fired;

SEC("kprobe/finish_task_switch")
int switch_finished(void *ctx)
{
	if (!armed) {
		probe_fired = 1;
		return 0;
	}
	return handle_return(ctx);
}

/* Shared by all runs of the iterator: user space reads one at a time. */
#define BLOCKED_WORDS 512
static __u64 blocked_buf[BLOCKED_WORDS];

_Static_assert(sizeof(struct rec_blocked) / sizeof(__u64) + 2 * (STACK_FRAMES + 1) <= BLOCKED_WORDS, "both parts fit");

volatile __u64 closed_at; /* when the window closed, CLOCK_MONOTONIC */

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

struct user_walk {
	struct task_struct *task;
	__u64 fp;
	__u32 first; /* word of blocked_buf for the first frame */
	__u32 count;
	bool compat; /* frames of 32-bit code */
	bool readable;
	bool locked; /* there may be more frames, but their memory is locked */
};

/*
 * A stack is private memory. A register that holds no frame pointer may point into a mapped file, whose server may hang,
 * or to memory that another thread of the process has to provide (userfaultfd).
 */
static long check_frame_area(struct task_struct *task, struct vm_area_struct *area, struct user_walk *w)
{
	__u64 size = w->compat ? sizeof(struct user_frame32) : sizeof(struct user_frame);

	w->readable = (area->vm_flags & (VM_WRITE | VM_SHARED | VM_UFFD_MISSING)) == VM_WRITE && area->vm_end - w->fp >= size;
	return 0;
}

/*
 * Reading waits for mmap_lock, which a hung process may hold for writing for as long as it hangs. bpf_find_vma() only
 * tries the lock.
 */
static __always_inline bool can_read_frame(struct user_walk *w)
{
	long err;

	w->readable = false;
	err = bpf_find_vma(w->task, w->fp, check_frame_area, w, 0);
	if (err == -EBUSY)
		w->locked = true;
	return !err && w->readable;
}

static __always_inline long read_frame(struct user_walk *w, struct user_frame *frame)
{
	struct user_frame32 compat;
	long err;

	if (!w->compat)
		return bpf_copy_from_user_task(frame, sizeof(*frame), (void *)w->fp, w->task, 0);
	err = bpf_copy_from_user_task(&compat, sizeof(compat), (void *)w->fp, w->task, 0);
	frame->next = compat.next;
	frame->ret = compat.ret;
	return err;
}

/* One frame, as perf_callchain_user() does in the thread itself. */
static long walk_frame(__u32 index, struct user_walk *w)
{
	struct user_frame frame;

	if (!w->fp || w->fp & (w->compat ? 3 : 7) || !can_read_frame(w) || read_frame(w, &frame))
		return 1;
	if ((frame.ret - 1) >> 56)
		return 1;
	blocked_buf[bounded(w->first + w->count, BLOCKED_WORDS)] = frame.ret;
	w->count++;
	w->fp = frame.next;
	return 0;
}

/* bpf_loop(), because the verifier would take a quarter of a second for unrolled steps. */
static __always_inline __u32 walk_user(struct task_struct *task, __u32 first, bool *cut)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct user_walk w = {.task = task, .first = first, .count = 1};
	__u64 pc;

	if (!regs)
		return 0;
	pc = REGS_PC(regs);
	if ((pc - 1) >> 56)
		return 0;
	blocked_buf[bounded(first, BLOCKED_WORDS)] = pc;
	w.fp = REGS_FP(regs);
	w.compat = REGS_32BIT(regs);
	bpf_loop(STACK_FRAMES - 1, walk_frame, &w, 0);
	*cut = w.locked || w.count >= STACK_FRAMES;
	return w.count;
}

SEC("iter.s/task")
int blocked(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rec_blocked *rec = (struct rec_blocked *)blocked_buf;
	__u32 kernel = 0, user = 0;
	struct rec_ident ident;
	unsigned long switches;
	bool cut = false;
	long bytes;

	if (ctx->meta->seq_num == 0)
		clock_offset = CLOCK_UNKNOWN;
	if (!task || !is_blocked(task) || last_run_at(task) > closed_at)
		return 0;
	write_ident(&ident, task);
	switches = task->nvcsw + task->nivcsw;
	if (!switches || !ident_passes(&ident, task))
		return 0;
	rec->cut = 0;
	if (offcpu_kernel) {
		bytes = bpf_get_task_stack(task, rec->addrs, STACK_FRAMES * sizeof(__u64), 0);
		if (bytes > 0)
			kernel = bytes / sizeof(__u64);
		if (kernel >= STACK_FRAMES)
			rec->cut |= 1;
	}
	if (offcpu_user && !(task->flags & (PF_KTHREAD | worker_flags()))) {
		user = walk_user(task, sizeof(*rec) / sizeof(__u64) + kernel, &cut);
		if (cut)
			rec->cut |= 2;
	}
	/* A thread that has run meanwhile has no such stack. */
	if (!is_blocked(task) || switches != task->nvcsw + task->nivcsw || last_run_at(task) > closed_at || !(kernel + user))
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
	rec->state = task->__state | task->exit_state;
	rec->prio = task->prio;
	rec->since_ns = 0;
	if (since_enabled && bpf_core_field_exists(task->se.cfs_rq)) {
		rec->since_ns = departure(task);
		if (rec->since_ns) {
			rec->since_ns += clock_offset;
			rec->hdr.flags |= REC_SINCE;
		}
	}
	bpf_seq_write(ctx->meta->seq, rec, sizeof(*rec) + bounded(kernel + user, 2 * (STACK_FRAMES + 1)) * sizeof(__u64));
	return 0;
}

#endif
