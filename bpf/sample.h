/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Samples of CPUs by a timer: perf's software clock, whose handler is a hard interrupt. It does not see code that
 * runs with interrupts off, but the code that enables them again; and no idle thread, which the event excludes.
 */
#ifndef WPROF_SAMPLE_H
#define WPROF_SAMPLE_H

#define SOURCE_TIMER 1 /* format.Source */

const volatile bool sample_kernel, sample_user; /* stacks */

SEC("perf_event")
int sample(void *ctx)
{
	struct stack_ref kernel = {}, user = {};
	const struct counts *counts;
	struct task_struct *task;
	struct rec_sample *rec;
	struct scratch *s;
	__u32 size;

	if (!armed)
		return 0;
	wake_reader();
	report_all_missing();
	task = bpf_get_current_task_btf();
	if (!task->pid || !passes_filter(task))
		return 0;
	counts = count_sample(task->pid);
	if (sample_kernel || sample_user) {
		s = get_scratch(REC_SAMPLE);
		if (!s)
			return 0;
		if (sample_user)
			user = user_stack(ctx, s, task, false);
		if (sample_kernel)
			kernel = kernel_stack(ctx, s, task, 0);
		put_scratch(s);
	}
	size = sizeof(*rec) + trailing_counts_size(counts);
	rec = reserve(REC_SAMPLE, REC_SUBJECT | (user.lost || kernel.lost ? REC_CUT : 0), task->pid, size);
	if (!rec)
		return 0;
	rec->user = user.id;
	rec->kernel = kernel.id;
	rec->pid = task->tgid;
	rec->source = SOURCE_TIMER;
	submit(rec, size | write_trailing_counts(rec + 1, counts));
	return 0;
}

#endif
