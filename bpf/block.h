/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Requests of block devices, as spans from insertion, or from issue where no scheduler queues them, to completion.
 *
 * The map of requests has room for 16,384: a device has as many as its tags, 256 to 1,024 a queue. One that does not fit is not
 * recorded. Of requests that were inserted before the programs were attached, and of flushes without data, which the kernel does not issue
 * itself, only the completion is seen: they begin when the request was made, and the thread is not known.
 */
#ifndef WPROF_BLOCK_H
#define WPROF_BLOCK_H

#define REQUESTS 16384
#define BLOCK_DEVICES 1024
#define REQ_OP_MASK 255

struct block_request {
	__u64 inserted;
	__u64 issued; /* 0: not yet */
	__u64 sector;
	__u64 device; /* text */
	__u64 depth; /* of the device, with this request */
	__u32 bytes;
	__u32 flags;
	__u32 tid; /* thread that inserted it */
	__u32 number; /* of the device */
	bool selected;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS);
	__type(key, __u64);
	__type(value, struct block_request);
} block_requests SEC(".maps");

/* How many requests a device has, queued or issued, of those that began since the programs were attached. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCK_DEVICES);
	__type(key, __u32);
	__type(value, __u64);
} block_depths SEC(".maps");

static __always_inline void describe_request(struct request *rq, struct block_request *now)
{
	/* As a word: the verifier allows no arithmetic with pointers. */
	__u64 disk = read_kernel_word((__u64)&rq->q->disk);

	now->sector = rq->__sector;
	now->bytes = rq->__data_len;
	now->flags = rq->cmd_flags;
	now->device = disk + bpf_core_field_offset(struct gendisk, disk_name);
	now->number = (__u32)BPF_CORE_READ((struct gendisk *)disk, major) << 20 | BPF_CORE_READ((struct gendisk *)disk, first_minor);
}

static __always_inline __u64 add_depth(__u32 device)
{
	__u64 none = 0, *depth = bpf_map_lookup_elem(&block_depths, &device);

	/* Another CPU may have the device's first request at the same time: both find the entry of the one that comes first. */
	if (!depth) {
		bpf_map_update_elem(&block_depths, &device, &none, BPF_NOEXIST);
		depth = bpf_map_lookup_elem(&block_depths, &device);
	}
	return depth ? __sync_fetch_and_add(depth, 1) + 1 : 1;
}

static __always_inline __u64 take_depth(__u32 device)
{
	__u64 *depth = bpf_map_lookup_elem(&block_depths, &device);

	return depth && *depth ? __sync_fetch_and_add(depth, -1) - 1 : 0;
}

static __always_inline __u64 depth_of(__u32 device)
{
	__u64 *depth = bpf_map_lookup_elem(&block_depths, &device);

	return depth ? *depth : 0;
}

static __always_inline void begin_request(struct request *rq, __u64 key, bool issued)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_request now = {};

	describe_request(rq, &now);
	now.inserted = bpf_ktime_get_ns();
	now.issued = issued ? now.inserted : 0;
	now.tid = task->pid;
	now.selected = passes_filter_noinline(task);
	now.depth = add_depth(now.number);
	if (bpf_map_update_elem(&block_requests, &key, &now, BPF_ANY))
		take_depth(now.number);
}

static __always_inline void end_request(__u64 key, const struct block_request *request)
{
	bpf_map_delete_elem(&block_requests, &key);
	take_depth(request->number);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *rq)
{
	__u64 key = argument_word(ctx, 0);
	struct block_request *request = bpf_map_lookup_elem(&block_requests, &key);

	/* A request that the device has refused is inserted again. One that was issued has ended without completion. */
	if (request && !request->issued)
		return 0;
	if (request)
		take_depth(request->number);
	begin_request(rq, key, false);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *rq)
{
	__u64 key = argument_word(ctx, 0);
	struct block_request *request = bpf_map_lookup_elem(&block_requests, &key);

	if (request && !request->issued) {
		/* Bios may have been merged into it. */
		request->sector = rq->__sector;
		request->bytes = rq->__data_len;
		request->issued = bpf_ktime_get_ns();
		return 0;
	}
	if (request)
		take_depth(request->number);
	begin_request(rq, key, true);
	return 0;
}

/* The device has refused it. */
SEC("tp_btf/block_rq_requeue")
int block_rq_requeue(unsigned long long *ctx)
{
	__u64 key = argument_word(ctx, 0);
	struct block_request *request = bpf_map_lookup_elem(&block_requests, &key);

	if (request)
		request->issued = 0;
	return 0;
}

/* It has become part of another one. */
SEC("tp_btf/block_rq_merge")
int block_rq_merge(unsigned long long *ctx)
{
	__u64 key = argument_word(ctx, 0);
	struct block_request *request = bpf_map_lookup_elem(&block_requests, &key);

	if (request)
		end_request(key, request);
	return 0;
}

#define BLOCK_VALUES 9

static __always_inline void write_request(const struct block_request *request, __u64 text, __u64 depth, __u32 error, __u32 cpu, __u64 at)
{
	__u64 *values = reserve_typed_of(request->tid, TYPE_BLOCK, request->inserted, BLOCK_VALUES);

	if (!values)
		return;
	values[0] = request->flags & REQ_OP_MASK;
	values[1] = text;
	values[2] = request->bytes ? request->sector : 0; /* a flush has none */
	values[3] = request->bytes;
	values[4] = request->issued ? request->issued - request->inserted : 0;
	values[5] = request->depth;
	values[6] = depth;
	values[7] = error;
	values[8] = request->flags & ~REQ_OP_MASK;
	if (at)
		leave_open(values, cpu, at);
	submit_typed(values, BLOCK_VALUES);
}

static __always_inline void write_unknown(struct request *rq, __u8 error)
{
	struct block_request unknown = {.inserted = rq->start_time_ns};

	if (!armed || filter.any || !unknown.inserted || !within_limit(TYPE_BLOCK))
		return;
	describe_request(rq, &unknown);
	unknown.depth = depth_of(unknown.number);
	write_request(&unknown, intern_text(unknown.device), unknown.depth, error, 0, 0);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *rq, __u8 error, unsigned int bytes)
{
	__u64 key = argument_word(ctx, 0), depth;
	struct block_request *request = bpf_map_lookup_elem(&block_requests, &key), ended;

	/* A request may be completed in parts. */
	if (!error && bytes < rq->__data_len)
		return 0;
	if (!request) {
		write_unknown(rq, error);
		return 0;
	}
	ended = *request;
	bpf_map_delete_elem(&block_requests, &key);
	depth = take_depth(ended.number);
	if (armed && ended.selected && within_limit(TYPE_BLOCK))
		write_request(&ended, intern_text(ended.device), depth, error, 0, 0);
	return 0;
}

static long write_open_request(struct bpf_map *map, __u64 *key, struct block_request *request, void *ctx)
{
	if (request->selected && request->inserted < closed_at)
		write_request(request, intern_text(request->device), depth_of(request->number), 0, bpf_get_smp_processor_id(), closed_at);
	return 0;
}

/* Writes the requests that are not complete at the close of the window. */
SEC("syscall")
int open_requests(void *ctx)
{
	bpf_for_each_map_elem(&block_requests, write_open_request, NULL, 0);
	return 0;
}

#endif
