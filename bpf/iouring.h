/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Requests of io_uring, as spans from submission to completion.
 *
 * The map has room for 65,536 requests; the oldest ones are dropped if there are more.
 *
 * Cannot see: requests that report no completion when they succeed (IOSQE_CQE_SKIP_SUCCESS), even if they fail, and those that are refused when they are
 * prepared.
 */
#ifndef WPROF_IOURING_H
#define WPROF_IOURING_H

#define RING_REQUESTS 65536

struct ring_request {
	__u64 submitted;
	__u64 user_data;
	__u32 tid;
	__u32 opcode;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RING_REQUESTS);
	__type(key, __u64);
	__type(value, struct ring_request);
} ring_requests SEC(".maps");

#define REQ_F_CQE_SKIP (1 << 6) /* IOSQE_CQE_SKIP_SUCCESS: the kernel reports no completion of success */

static __always_inline int submitted(struct io_kiocb *req, __u64 key)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ring_request request = {};

	if (req->flags & REQ_F_CQE_SKIP || !passes_filter_noinline(task))
		return 0;
	request.submitted = bpf_ktime_get_ns();
	request.tid = task->pid;
	request.opcode = req->opcode;
	request.user_data = req->cqe.user_data;
	bpf_map_update_elem(&ring_requests, &key, &request, BPF_ANY);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(io_uring_submit_req, struct io_kiocb *req)
{
	return submitted(req, argument_word(ctx, 0));
}

/* Its name up to 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(io_uring_submit_sqe, struct io_kiocb *req)
{
	return submitted(req, argument_word(ctx, 0));
}

static __always_inline void write_ring_request(const struct ring_request *request, __s32 result, __u32 cpu, __u64 at)
{
	__u64 *values = reserve_typed_of(request->tid, TYPE_IO_URING, request->submitted, 3);

	if (!values)
		return;
	values[0] = request->opcode;
	values[1] = (__s64)result;
	values[2] = request->user_data;
	if (at)
		leave_open(values, cpu, at);
	submit_typed(values, 3);
}

/* A request with several completions ends with the first one. */
SEC("tp_btf/io_uring_complete")
int io_uring_complete(unsigned long long *ctx)
{
	__u64 key = argument_word(ctx, 1);
	struct io_kiocb *req = (struct io_kiocb *)key;
	struct ring_request *request = bpf_map_lookup_elem(&ring_requests, &key), ended;

	if (!request)
		return 0;
	ended = *request;
	bpf_map_delete_elem(&ring_requests, &key);
	if (armed && within_limit(TYPE_IO_URING))
		write_ring_request(&ended, BPF_CORE_READ(req, cqe.res), 0, 0);
	return 0;
}

static long write_open_ring_request(struct bpf_map *map, __u64 *key, struct ring_request *request, void *ctx)
{
	if (request->submitted < closed_at)
		write_ring_request(request, 0, bpf_get_smp_processor_id(), closed_at);
	return 0;
}

SEC("syscall")
int open_ring_requests(void *ctx)
{
	bpf_for_each_map_elem(&ring_requests, write_open_ring_request, NULL, 0);
	return 0;
}

#endif
