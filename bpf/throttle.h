/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Threads that could run but do not, because the CPU quota of their cgroup (cpu.max, or cpu.cfs_quota_us of cgroups v1) is used up.
 * The kernel has no tracepoint for that.
 */
#ifndef WPROF_THROTTLE_H
#define WPROF_THROTTLE_H

#define MAX_RT_PRIO 100 /* include/linux/sched/prio.h; from here on threads are of the fair class */

/*
 * Whether a thread that could run does not because the CPU quota of its cgroup, or of one above, is used up. Since 6.18 a thread
 * takes itself off the run queue for that, on its way back to user mode; before, the kernel takes off the whole group.
 */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return bpf_core_field_exists(task->se.cfs_rq) && bpf_core_field_exists(task->se.cfs_rq->throttle_count) &&
	       task->prio >= MAX_RT_PRIO && task->se.cfs_rq->throttle_count;
}

#endif
