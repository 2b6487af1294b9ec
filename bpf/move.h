/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Moves of threads from CPU to CPU, and from cgroup to cgroup.
 */
#ifndef WPROF_MOVE_H
#define WPROF_MOVE_H

const volatile __u8 cpu_nodes[CPUS_MAX]; /* NUMA nodes */

static __always_inline __u32 numa_node(__u32 cpu)
{
	return cpu_nodes[cpu & (CPUS_MAX - 1)];
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(sched_migrate_task, struct task_struct *task, int to)
{
	__u64 *values;

	if (!armed || !passes_filter_noinline(task) || !within_limit(TYPE_MIGRATION))
		return 0;
	values = reserve_typed_of(task->pid, TYPE_MIGRATION, 0, 5);
	if (!values)
		return 0;
	values[0] = task->thread_info.cpu;
	values[1] = to;
	values[2] = numa_node(task->thread_info.cpu);
	values[3] = numa_node(to);
	values[4] = bpf_get_current_task_btf()->pid;
	submit_typed(values, 5);
	return 0;
}

/*
 * Moves to another cgroup, of a thread or of all threads of its process. The record that cgroup.h writes has the cgroup, and comes before:
 * the recorder puts the paths in.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_moved, struct cgroup *to, const char *path, struct task_struct *task, bool whole)
{
	__u64 *values;

	if (!armed || !passes_filter_noinline(task) || !within_limit(TYPE_CGROUP))
		return 0;
	values = reserve_typed_of(task->pid, TYPE_CGROUP, 0, 4);
	if (!values)
		return 0;
	values[0] = 0;
	values[1] = 0;
	values[2] = whole;
	values[3] = bpf_get_current_task_btf()->pid;
	submit_typed(values, 4);
	return 0;
}

#endif
