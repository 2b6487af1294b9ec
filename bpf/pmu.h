/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Samples of events of performance counters that the user chose (-Spmu=EVENT): one program for all that perf counts, and one for
 * tracepoints, which the kernel calls at each hit. The cookie is the number of the event in the lower half, and in the upper one that
 * of its event type.
 *
 * Cannot see: events while another program of a perf event or tracepoint runs on the CPU, and hits of the idle thread.
 */
#ifndef WPROF_PMU_H
#define WPROF_PMU_H

#define PMU_EVENTS 32 /* a power of two; bpf/pmu.go has it too */

const volatile __u64 pmu_periods[PMU_EVENTS]; /* of tracepoints: hits from one sample to the next */

/* Hits of each tracepoint since its last sample. */
struct pmu_hits {
	__u64 of[PMU_EVENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pmu_hits);
} pmu_hits SEC(".maps");

/* Whether a thread's event is to be recorded. */
static __always_inline bool wants_pmu_sample(struct task_struct *task)
{
	return armed && task->pid && passes_filter_noinline(task);
}

static __always_inline void write_pmu_sample(struct task_struct *task, __u64 cookie, __u64 period, const struct rec_stacks *stacks,
					     const struct counts *counts)
{
	struct rec_tracepoint *rec;
	struct rec_pmu_sample *to;
	__u32 length = sizeof(*to) + (counts ? counts_size() : 0);

	rec = reserve_source(task->pid, MISSING_PMU, sizeof(*rec) + length);
	if (!rec)
		return;
	rec->start = 0;
	rec->type = TYPE_TRACEPOINT + (cookie >> 32);
	rec->length = length;
	to = (void *)rec->bytes;
	to->stacks = *stacks;
	to->period = period;
	if (counts)
		write_counts((void *)(to + 1), counts);
	submit(rec, sizeof(*rec) + length);
}

SEC("perf_event")
int pmu_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_stacks stacks = {};
	const struct counts *counts;

	if (!wants_pmu_sample(task))
		return 0;
	counts = count_sample(task->pid);
	if ((source_kernel || source_user) && may_define())
		take_event_stacks(ctx, task, source_user, source_kernel, &stacks);
	write_pmu_sample(task, bpf_get_attach_cookie(ctx), ctx->sample_period, &stacks, counts);
	return 0;
}

/* The result 1 lets other users of the tracepoint, such as perf, have the event too. */
SEC("tracepoint")
int pmu_tracepoint(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx), period, hits;
	__u32 only = 0, event = cookie & (PMU_EVENTS - 1);
	struct rec_stacks stacks = {};
	const struct counts *counts;
	struct pmu_hits *count;

	if (!wants_pmu_sample(task))
		return 1;
	count = bpf_map_lookup_elem(&pmu_hits, &only);
	if (!count)
		return 1;
	period = pmu_periods[event];
	hits = __sync_fetch_and_add(&count->of[event], 1) + 1;
	if (hits < period)
		return 1;
	count->of[event] = 0;
	counts = count_sample(task->pid);
	take_source_stacks(ctx, task, &stacks);
	write_pmu_sample(task, cookie, hits, &stacks, counts);
	return 1;
}

#endif
