/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Records of events whose types are in the table of internal/sources.
 */
#ifndef WPROF_TYPED_H
#define WPROF_TYPED_H

/* Room for the values of an event of the running thread, which begins at start; NULL: there is none, and the loss is counted. */
static __always_inline __u64 *reserve_typed(__u32 type, __u64 start, __u32 values)
{
	struct rec_typed *rec = reserve(REC_TYPED, REC_SUBJECT, bpf_get_current_task_btf()->pid, sizeof(*rec) + values * sizeof(__u64));

	if (!rec)
		return NULL;
	rec->start = start;
	rec->type = type;
	rec->pad = 0;
	return rec->values;
}

static __always_inline void submit_typed(__u64 *values, __u32 count)
{
	submit((struct rec_typed *)values - 1, sizeof(struct rec_typed) + count * sizeof(__u64));
}

/*
 * The id of a text of the kernel that is where it is for longer than a generation; 0: there is no room for it. The text is written once
 * a generation, like a stack.
 */
static __noinline __u64 intern_text(__u64 text)
{
	__u64 id = mix64(text) | 1;
	struct stack_mark mark = stack_mark_of(id);
	struct rec_text *rec;

	if (!mark.at)
		return 0;
	if (*mark.at == mark.value)
		return id;
	rec = reserve(REC_TEXT, 0, 0, sizeof(*rec));
	if (!rec)
		return 0;
	rec->id = id;
	if (bpf_probe_read_kernel_str(rec->text, sizeof(rec->text), (void *)text) < 0)
		rec->text[0] = 0;
	submit(rec, sizeof(*rec));
	*mark.at = mark.value;
	return id;
}

#endif
