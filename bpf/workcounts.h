/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Counts of performance counters within work items. Their workers may sleep meanwhile, and wake up on other CPUs: so the sum is that of the
 * worker's times on CPUs, less what it counted before the item in the first one.
 */
#ifndef WPROF_WORKCOUNTS_H
#define WPROF_WORKCOUNTS_H

const volatile bool work_counted;

struct work_counts {
	struct counts sum;
	bool open; /* an item is executed */
};

/* One for each worker that has executed an item since the programs were attached. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct work_counts);
} work_counts SEC(".maps");

/* Changes where a thread is preempted in a program, as on some kernels: its counts are not known then. */
static __always_inline __u32 switches_here(void)
{
	struct counter_states *s = this_counter_states();

	return s ? *(volatile __u32 *)&s->switches : 0;
}

static __always_inline void begin_work_counts(struct task_struct *worker)
{
	struct work_counts *w;
	__u32 switches;

	if (!work_counted)
		return;
	w = bpf_task_storage_get(&work_counts, worker, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return;
	w->open = armed;
	if (!w->open)
		return;
	switches = switches_here();
	count_since_switch(&w->sum, worker->pid);
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++)
		w->sum.values[i] = -w->sum.values[i];
	if (switches_here() != switches)
		w->sum.unknown = -1;
}

static __always_inline void add_counts(struct counts *sum, const struct counts *c)
{
	sum->unknown |= c->unknown;
	sum->scaled |= c->scaled;
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++)
		sum->values[i] += c->values[i];
}

/* At a switch from a worker; counts: of its time on the CPU, NULL: not known. */
static __always_inline void count_work(struct task_struct *worker, const struct counts *counts)
{
	struct work_counts *w;

	if (!work_counted || !(worker->flags & PF_WQ_WORKER))
		return;
	w = bpf_task_storage_get(&work_counts, worker, NULL, 0);
	if (!w || !w->open)
		return;
	if (counts)
		add_counts(&w->sum, counts);
	else
		w->sum.unknown = -1;
}

/* NULL: nothing is counted, or the item began before the window. */
static __always_inline const struct counts *end_work_counts(struct task_struct *worker)
{
	struct counts last = {};
	struct work_counts *w;
	__u32 switches;

	if (!work_counted)
		return NULL;
	w = bpf_task_storage_get(&work_counts, worker, NULL, 0);
	if (!w || !w->open)
		return NULL;
	switches = switches_here();
	count_since_switch(&last, worker->pid);
	add_counts(&w->sum, &last);
	w->open = false;
	if (switches_here() != switches)
		w->sum.unknown = -1;
	return &w->sum;
}

#endif
