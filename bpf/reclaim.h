/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Threads that have to free memory before they get some, and processes that are killed for lack of it.
 */
#ifndef WPROF_RECLAIM_H
#define WPROF_RECLAIM_H

/* A thread may compact memory while it reclaims, never the other way round. */
struct reclaim {
	__u64 reclaim, reclaim_end; /* as of other spans: the end is set outside of the window only */
	__u64 compaction, compaction_end;
	__u32 order; /* of the pages that are wanted */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reclaim);
} reclaims SEC(".maps");

static __always_inline struct reclaim *begin_reclaim(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!passes_filter_noinline(task))
		return NULL;
	return bpf_task_storage_get(&reclaims, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct reclaim *this_reclaim(void)
{
	return bpf_task_storage_get(&reclaims, bpf_get_current_task_btf(), NULL, 0);
}

static __always_inline int reclaim_began(int order)
{
	struct reclaim *now = begin_reclaim();

	if (!now)
		return 0;
	now->reclaim = bpf_ktime_get_ns();
	now->order = order;
	return 0;
}

static __always_inline void write_reclaim(struct task_struct *task, const struct reclaim *span, __u64 pages, __u64 at)
{
	__u64 *values = reserve_typed_of(task->pid, TYPE_RECLAIM, span->reclaim, 2);

	if (!values)
		return;
	values[0] = span->order;
	values[1] = pages;
	if (at)
		leave_open(values, task->thread_info.cpu, at);
	submit_typed(values, 2);
}

static __always_inline int reclaim_ended(unsigned long pages)
{
	struct reclaim *now = this_reclaim();

	if (!now || !now->reclaim)
		return 0;
	if (!armed) {
		now->reclaim_end = bpf_ktime_get_ns();
		return 0;
	}
	if (within_limit(TYPE_RECLAIM))
		write_reclaim(bpf_get_current_task_btf(), now, pages, 0);
	now->reclaim = 0;
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(mm_vmscan_direct_reclaim_begin, int order)
{
	return reclaim_began(order);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(mm_vmscan_direct_reclaim_end, unsigned long pages)
{
	return reclaim_ended(pages);
}

/* The same for the limit of a memory cgroup. */
SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(mm_vmscan_memcg_reclaim_begin, int order)
{
	return reclaim_began(order);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(mm_vmscan_memcg_reclaim_end, unsigned long pages)
{
	return reclaim_ended(pages);
}

SEC("tp_btf/mm_compaction_begin")
int mm_compaction_begin(void *ctx)
{
	struct reclaim *now = begin_reclaim();

	if (now)
		now->compaction = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void write_compaction(struct task_struct *task, const struct reclaim *span, __u64 at)
{
	__u64 *values = reserve_typed_of(task->pid, TYPE_COMPACTION, span->compaction, 0);

	if (!values)
		return;
	if (at)
		leave_open(values, task->thread_info.cpu, at);
	submit_typed(values, 0);
}

SEC("tp_btf/mm_compaction_end")
int mm_compaction_end(void *ctx)
{
	struct reclaim *now = this_reclaim();

	if (!now || !now->compaction)
		return 0;
	if (!armed) {
		now->compaction_end = bpf_ktime_get_ns();
		return 0;
	}
	if (within_limit(TYPE_COMPACTION))
		write_compaction(bpf_get_current_task_btf(), now, 0);
	now->compaction = 0;
	return 0;
}

SEC("iter/task")
int open_reclaims(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct reclaim *span;

	if (!task)
		return 0;
	span = bpf_task_storage_get(&reclaims, task, NULL, 0);
	if (!span)
		return 0;
	if (is_open(span->reclaim, span->reclaim_end))
		write_reclaim(task, span, 0, closed_at);
	if (is_open(span->compaction, span->compaction_end))
		write_compaction(task, span, closed_at);
	return 0;
}

/* The argument is a task since 6.8, its number before. */
SEC("tp_btf/mark_victim")
int mark_victim(unsigned long long *ctx)
{
	__u64 victim = argument_word(ctx, 0), *values;

	if (!armed || !within_limit(TYPE_OOM))
		return 0;
	if (victim >> 32)
		victim = BPF_CORE_READ((struct task_struct *)victim, pid);
	values = reserve_typed(TYPE_OOM, 0, 1);
	if (!values)
		return 0;
	values[0] = victim;
	submit_typed(values, 1);
	return 0;
}

#endif
