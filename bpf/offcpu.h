/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stacks of threads that are off-CPU, and what they waited for (wait.h).
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

/* Where a thread was that has just come back to the CPU: both parts of its stack, and what it waited for. */
static __always_inline bool take_returned(void *ctx, struct task_struct *task, struct rec_packed_return *ret)
{
	struct scratch *s = get_scratch(REC_STACK);
	struct rec_stacks *to = &ret->stacks;

	to->user = to->kernel = ret->wait = 0;
	if (!s)
		return false;
	if (offcpu_user)
		to->user = returned_user_stack(ctx, s, task).id;
	if (offcpu_kernel)
		to->kernel = returned_kernel_stack(ctx, s, task).id;
	if (waits_enabled)
		ret->wait = intern_wait(s);
	put_scratch(s);
	return true;
}

static __always_inline void write_return(struct task_struct *task, const struct rec_packed_return *ret)
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
		*packed = *ret;
		submit_packed(packed, sizeof(*packed), REC_RETURN, 0, ts);
		return;
	}
	rec = reserve(REC_RETURN, 0, task->pid, sizeof(*rec));
	if (!rec)
		return;
	rec->stacks = ret->stacks;
	rec->wait = ret->wait;
	submit(rec, sizeof(*rec));
}

static __always_inline int handle_return(void *ctx)
{
	struct task_struct *task;
	struct rec_packed_return ret;

	if (!armed)
		return 0;
	task = bpf_get_current_task_btf();
	if (!take_pending_return(task))
		return 0;
	if (!take_returned(ctx, task, &ret))
		return 0;
	write_return(task, &ret);
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

#endif
