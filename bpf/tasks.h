/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * All live threads, and since when each is in its state, 0.4 to 1.1 us a thread. Idle threads are in no list: a CPU
 * on which no thread is reported to run is idle.
 *
 * The kernel does not store when a thread left its CPU. It stores, in the run queue's clock, when the thread was last put
 * there, and how long it ran: the sum is when it left. The run queue's clock is sched_clock(); CLOCK_MONOTONIC is ahead
 * of it by an offset that is measured here, at the run queue of the CPU that the iterator runs on, whose clock is fresh
 * because user space has just yielded. Compared with threads that measured it themselves, the result was right within
 * 50 us. By the run queue's other clock, clock_task, it would be wrong by up to a second a minute.
 */
#ifndef WPROF_TASKS_H
#define WPROF_TASKS_H

#define SINCE_ERROR_NS 10000000LL
#define SINCE_ERROR_SHIFT 5	 /* or 3% of how long ago it was */
#define SHORT_RUN_NS 100000000LL /* what is stolen from a run of this length is below SINCE_ERROR_NS */
#define CLOCK_UNKNOWN 0x7fffffffffffffffLL

const volatile bool since_enabled = true;

static __s64 clock_offset; /* CLOCK_MONOTONIC - sched_clock(), of this run of the iterator */

static __always_inline void update_clock_offset(void)
{
	struct task_struct *self = bpf_get_current_task_btf();
	__s64 offset = bpf_ktime_get_ns() - self->se.cfs_rq->rq->clock;

	/* A run queue's clock is never ahead of sched_clock(): the smallest difference is the best. */
	if (offset < clock_offset)
		clock_offset = offset;
}

/* SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE: their class stores how long a thread had run when it was put on its CPU. */
static __always_inline bool is_fair(struct task_struct *task)
{
	return task->policy == 0 || task->policy == 3 || task->policy == 5;
}

/* When it left its CPU, in sched_clock(); 0: not known within SINCE_ERROR_NS or 3%. */
static __always_inline __s64 departure(struct task_struct *task)
{
	struct rq *rq = task->se.cfs_rq->rq;
	__s64 clock = rq->clock, behind = clock - rq->clock_task;
	__s64 arrival = task->sched_info.last_arrival, early, late, run, error;

	if (!arrival || !task->se.exec_start)
		return 0;
	/* Too late by the time of interrupts and the stolen time since it left. */
	late = task->se.exec_start + behind;
	if (behind <= SINCE_ERROR_NS)
		return late;
	error = (clock - arrival) >> SINCE_ERROR_SHIFT;
	if (error < SINCE_ERROR_NS)
		error = SINCE_ERROR_NS;
	/* Too early by the part of that time that fell into its last run. */
	run = task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
	early = arrival + run;
	if (is_fair(task) && early <= late + SINCE_ERROR_NS / 10 && (run <= SHORT_RUN_NS || late - early <= error))
		return early;
	if (late - arrival <= error)
		return late;
	return 0;
}

/* The first byte of an int that has shrunk to one byte in 7.x; both architectures are little-endian. */
#define low_byte(field) (*(__u8 *)&(field))

static __always_inline bool is_queued(struct task_struct *task)
{
	if (low_byte(task->on_rq) != 1)
		return false;
	/* Since 6.12 a thread that sleeps may stay on the run queue for a while. */
	return !bpf_core_field_exists(task->se.sched_delayed) || !task->se.sched_delayed;
}

static __always_inline void write_since(struct rec_task *rec, struct task_struct *task)
{
	__s64 at;

	if (!since_enabled || !bpf_core_field_exists(task->sched_info.last_arrival) ||
	    !bpf_core_field_exists(task->se.cfs_rq))
		return;
	update_clock_offset();
	if (rec->hdr.flags & REC_ON_CPU)
		at = task->sched_info.last_arrival;
	else if (rec->hdr.flags & REC_QUEUED && task->sched_info.last_queued)
		at = task->sched_info.last_queued;
	else
		at = departure(task);
	if (!at)
		return;
	at += clock_offset;
	if (at > (__s64)rec->hdr.ts) /* it has just changed */
		at = rec->hdr.ts;
	rec->since_ns = at;
	rec->hdr.flags |= REC_SINCE;
}

SEC("iter/task")
int tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rec_task rec = {};

	if (ctx->meta->seq_num == 0)
		clock_offset = CLOCK_UNKNOWN;
	if (!task)
		return 0;
	rec.hdr.kind = REC_TASK;
	rec.hdr.cpu = task->thread_info.cpu;
	rec.hdr.tid = task->pid;
	if (low_byte(task->on_cpu))
		rec.hdr.flags |= REC_ON_CPU;
	else if (is_queued(task))
		rec.hdr.flags |= REC_QUEUED;
	rec.state = mark_iowait(task, task->__state | task->exit_state) & ~REC_THROTTLED;
	if (rec.hdr.flags & REC_QUEUED && is_throttled(task))
		rec.state |= REC_THROTTLED;
	rec.prio = task->prio;
	write_ident(&rec.ident, task);
	if (ident_passes(&rec.ident, task))
		rec.hdr.flags |= REC_SUBJECT;
	rec.cgroup = intern_cgroup(task);
	rec.hdr.ts = bpf_ktime_get_ns();
	write_since(&rec, task);
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}

#endif
