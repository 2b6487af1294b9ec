/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Fences of GPUs and other devices that share buffers, as spans from their emission, or from where they were made, to their signal; and
 * threads that wait for one.
 *
 * The map of fences has room for 16,384; one that does not fit is not recorded, nor one that was made before the programs were attached.
 */
#ifndef WPROF_GPU_H
#define WPROF_GPU_H

#define FENCES 16384
#define FENCE_VALUES 4

struct fence {
	__u64 began;
	__u64 context;
	__u64 seqno;
	__u64 driver; /* the function that names it */
	__u32 tid;    /* thread that made it */
	bool selected;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FENCES);
	__type(key, __u64);
	__type(value, struct fence);
} fences SEC(".maps");

struct fence_wait {
	__u64 began, ended; /* as of other spans: ended is set outside of the window only */
	__u64 context, seqno, driver;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fence_wait);
} fence_waits SEC(".maps");

/* Newer kernels set the functions to NULL when a fence is signaled. */
static __always_inline __u64 fence_driver(struct dma_fence *fence)
{
	const struct dma_fence_ops *ops = fence->ops;

	return ops ? (__u64)ops->get_driver_name : 0;
}

static __always_inline int fence_began(struct dma_fence *fence, __u64 key)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fence now = {};

	now.began = bpf_ktime_get_ns();
	now.context = fence->context;
	now.seqno = fence->seqno;
	now.driver = fence_driver(fence);
	now.tid = task->pid;
	now.selected = passes_filter_noinline(task);
	bpf_map_update_elem(&fences, &key, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/dma_fence_init")
int BPF_PROG(dma_fence_init, struct dma_fence *fence)
{
	return fence_began(fence, argument_word(ctx, 0));
}

/* Drivers that report it do so when the device gets the work. */
SEC("tp_btf/dma_fence_emit")
int BPF_PROG(dma_fence_emit, struct dma_fence *fence)
{
	return fence_began(fence, argument_word(ctx, 0));
}

static __always_inline void write_fence(const struct fence *fence, __u64 driver, int error, __u32 cpu, __u64 at)
{
	__u64 *values = reserve_typed_of(fence->tid, TYPE_FENCE, fence->began, FENCE_VALUES);

	if (!values)
		return;
	values[0] = driver;
	values[1] = fence->context;
	values[2] = fence->seqno;
	values[3] = (__s64)error;
	if (at)
		leave_open(values, cpu, at);
	submit_typed(values, FENCE_VALUES);
}

SEC("tp_btf/dma_fence_signaled")
int BPF_PROG(dma_fence_signaled, struct dma_fence *fence)
{
	__u64 key = argument_word(ctx, 0);
	struct fence *known = bpf_map_lookup_elem(&fences, &key), ended;

	if (!known)
		return 0;
	ended = *known;
	bpf_map_delete_elem(&fences, &key);
	if (armed && ended.selected && within_limit(TYPE_FENCE))
		write_fence(&ended, ended.driver ? intern_symbol(ended.driver) : 0, fence->error, 0, 0);
	return 0;
}

/* Its memory may become another fence. */
SEC("tp_btf/dma_fence_destroy")
int dma_fence_destroy(unsigned long long *ctx)
{
	__u64 key = argument_word(ctx, 0);

	bpf_map_delete_elem(&fences, &key);
	return 0;
}

static long write_open_fence(struct bpf_map *map, __u64 *key, struct fence *fence, void *ctx)
{
	if (fence->selected && fence->began < closed_at)
		write_fence(fence, fence->driver ? intern_symbol(fence->driver) : 0, 0, bpf_get_smp_processor_id(), closed_at);
	return 0;
}

/* Writes the fences that are not signaled at the close of the window. */
SEC("syscall")
int open_fences(void *ctx)
{
	bpf_for_each_map_elem(&fences, write_open_fence, NULL, 0);
	return 0;
}

SEC("tp_btf/dma_fence_wait_start")
int BPF_PROG(dma_fence_wait_start, struct dma_fence *fence)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fence_wait *wait;

	if (!passes_filter_noinline(task))
		return 0;
	wait = bpf_task_storage_get(&fence_waits, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!wait)
		return 0;
	wait->context = fence->context;
	wait->seqno = fence->seqno;
	wait->driver = fence_driver(fence);
	wait->began = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void write_fence_wait(struct task_struct *task, const struct fence_wait *wait, __u64 at)
{
	__u64 driver = wait->driver ? intern_symbol(wait->driver) : 0;
	__u64 *values = reserve_typed_of(task->pid, TYPE_FENCE_WAIT, wait->began, 3);

	if (!values)
		return;
	values[0] = driver;
	values[1] = wait->context;
	values[2] = wait->seqno;
	if (at)
		leave_open(values, task->thread_info.cpu, at);
	submit_typed(values, 3);
}

SEC("tp_btf/dma_fence_wait_end")
int dma_fence_wait_end(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fence_wait *wait = bpf_task_storage_get(&fence_waits, task, NULL, 0);

	if (!wait || !wait->began)
		return 0;
	if (!armed) {
		wait->ended = bpf_ktime_get_ns();
		return 0;
	}
	if (within_limit(TYPE_FENCE_WAIT))
		write_fence_wait(task, wait, 0);
	wait->began = 0;
	return 0;
}

SEC("iter/task")
int open_fence_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct fence_wait *wait;

	if (!task)
		return 0;
	wait = bpf_task_storage_get(&fence_waits, task, NULL, 0);
	if (wait && is_open(wait->began, wait->ended))
		write_fence_wait(task, wait, closed_at);
	return 0;
}

#endif
