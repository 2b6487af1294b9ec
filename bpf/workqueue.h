/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Work items of workqueues, as spans of the worker threads that execute them.
 *
 * A worker executes one item at a time, and may sleep or move to another CPU meanwhile. The item may be freed while it is executed, or
 * queued again.
 */
#ifndef WPROF_WORKQUEUE_H
#define WPROF_WORKQUEUE_H

struct work_span {
	__u64 start;
	__u64 end; /* set outside of the window only */
	__u64 function;
	__u64 delay;
	__u64 work;
};

/* One for each worker that has executed an item since the programs were attached. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct work_span);
} work_spans SEC(".maps");

SEC("tp_btf/workqueue_queue_work")
int workqueue_queue_work(unsigned long long *ctx)
{
	note_queued(argument_word(ctx, 2));
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(workqueue_execute_start, struct work_struct *work)
{
	struct queued queued = take_queued(argument_word(ctx, 0));
	struct task_struct *task = bpf_get_current_task_btf();
	struct work_span *span;

	if (!passes_filter_noinline(task))
		return 0;
	span = bpf_task_storage_get(&work_spans, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!span)
		return 0;
	span->start = bpf_ktime_get_ns();
	span->function = (__u64)work->func;
	span->work = (__u64)work;
	span->delay = queued_for(&queued, span->start);
	begin_work_counts(task);
	return 0;
}

#define WORK_VALUES 3

/* counts may be NULL. */
static __always_inline void write_work(struct task_struct *task, const struct work_span *span, const struct counts *counts, __u64 at)
{
	__u64 function = intern_symbol(span->function);
	__u64 *values = reserve_typed_of(task->pid, TYPE_WORK, span->start, WORK_VALUES + counts_words(counts));

	if (!values)
		return;
	values[0] = function;
	values[1] = span->delay;
	values[2] = span->work;
	if (at)
		leave_open(values, task->thread_info.cpu, at);
	submit_counted(values, WORK_VALUES, counts);
}

SEC("tp_btf/workqueue_execute_end")
int workqueue_execute_end(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct work_span *span = bpf_task_storage_get(&work_spans, task, NULL, 0);

	if (!span || !span->start)
		return 0;
	if (!armed) {
		span->end = bpf_ktime_get_ns();
		return 0;
	}
	if (within_limit(TYPE_WORK))
		write_work(task, span, end_work_counts(task), 0);
	span->start = 0;
	return 0;
}

/* Writes the items that are executed at the close of the window. */
SEC("iter/task")
int open_work(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct work_span *span;

	if (!task)
		return 0;
	span = bpf_task_storage_get(&work_spans, task, NULL, 0);
	if (span && is_open(span->start, span->end))
		write_work(task, span, NULL, closed_at);
	return 0;
}

#endif
