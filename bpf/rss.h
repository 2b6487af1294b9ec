/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Resident memory of processes.
 *
 * The tracepoint comes with every page fault, but the kernel's counters change in batches: each CPU adds its changes when they exceed 32
 * pages or twice the number of CPUs (lib/percpu_counter.c; before 6.2 each thread after 64 faults). A record is written where a counter has
 * changed. So a value lacks at most a batch for each CPU that the process ran on.
 *
 * Cannot see: the owner of memory that is not the running thread's, on kernels without CONFIG_MEMCG.
 */
#ifndef WPROF_RSS_H
#define WPROF_RSS_H

#define RSS_COUNTERS 4 /* enum of include/linux/mm_types_task.h: file, anonymous, swapped, shared */
#define RSS_SLOTS 4096 /* a power of two; 160 KiB */

const volatile __u32 page_bytes;

/* What was written last of a process. Where two have the same slot, each is written at every change. */
struct rss_written {
	__u64 mm;
	__u64 counters[RSS_COUNTERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RSS_SLOTS);
	__type(key, __u32);
	__type(value, struct rss_written);
} rss_written SEC(".maps");

static __always_inline __u64 read_rss(__u64 mm, __u32 counter)
{
	__s64 pages;

	if (bpf_core_type_exists(struct mm_rss_stat))
		mm += bpf_core_field_offset(struct mm_struct___rss_stat, rss_stat) + counter * sizeof(__s64);
	else
		mm += bpf_core_field_offset(struct mm_struct, rss_stat) + bpf_core_field_offset(struct percpu_counter, count) +
		      counter * bpf_core_type_size(struct percpu_counter);
	pages = read_kernel_word(mm);
	return pages > 0 ? pages * page_bytes : 0;
}

/* The process whose memory it is; 0: not known. A new process has its parent's number until its memory is in place. */
static __always_inline __u32 owner_of(struct mm_struct *mm, __u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if ((__u64)task->mm == address)
		return task->tgid;
	if (filter.any || !bpf_core_field_exists(mm->owner))
		return 0;
	task = mm->owner;
	return task && (__u64)task->mm == address ? task->tgid : 0;
}

SEC("tp_btf/rss_stat")
int BPF_PROG(rss_stat, struct mm_struct *mm, int counter)
{
	__u64 address = argument_word(ctx, 0), *values;
	struct rss_written *last;
	__u32 slot, pid;

	if (!armed)
		return 0;
	slot = mix64(address) & (RSS_SLOTS - 1);
	last = bpf_map_lookup_elem(&rss_written, &slot);
	counter &= RSS_COUNTERS - 1;
	if (!last || (last->mm == address && last->counters[counter] == read_rss(address, counter)))
		return 0;
	pid = owner_of(mm, address);
	if (!pid || !passes_filter_noinline(bpf_get_current_task_btf()) || !within_limit(TYPE_RSS))
		return 0;
	values = reserve_typed_of(pid, TYPE_RSS, 0, RSS_COUNTERS);
	if (!values)
		return 0;
	last->mm = address;
#pragma unroll
	for (__u32 i = 0; i < RSS_COUNTERS; i++)
		values[i] = last->counters[i] = read_rss(address, i);
	submit_typed(values, RSS_COUNTERS);
	return 0;
}

#endif
