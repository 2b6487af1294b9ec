/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Records of events whose types are in the table of internal/sources.
 */
#ifndef WPROF_TYPED_H
#define WPROF_TYPED_H

/* Room for the values of an event, which begins at start; NULL: there is none, and the loss is counted. */
static __always_inline __u64 *reserve_typed_of(__u32 tid, __u32 type, __u64 start, __u32 values)
{
	struct rec_typed *rec = reserve_source(tid, type, sizeof(*rec) + values * sizeof(__u64));

	if (!rec)
		return NULL;
	rec->start = start;
	rec->type = type;
	rec->pad = 0;
	return rec->values;
}

/* The same of the running thread. */
static __always_inline __u64 *reserve_typed(__u32 type, __u64 start, __u32 values)
{
	return reserve_typed_of(bpf_get_current_task_btf()->pid, type, start, values);
}

/* Makes an event one that is open at a time. Where the window goes on, that time has been drained already, and the record keeps its own. */
static __always_inline void set_open(struct rec_hdr *hdr, __u64 at)
{
	hdr->flags = REC_SUBJECT | REC_OPEN | (goes_on ? REC_LISTED : 0);
	if (!goes_on)
		hdr->ts = at;
}

/* Makes an event that of a span which is open at the close of the window, on a CPU. */
static __always_inline void leave_open(__u64 *values, __u32 cpu, __u64 at)
{
	struct rec_typed *rec = (struct rec_typed *)values - 1;

	set_open(&rec->hdr, at);
	rec->hdr.cpu = cpu;
}

static __always_inline void submit_typed(__u64 *values, __u32 count)
{
	submit((struct rec_typed *)values - 1, sizeof(struct rec_typed) + count * sizeof(__u64));
}

/* The same of an event with counts behind its values; NULL: it has none. */
static __always_inline void submit_counted(__u64 *values, __u32 count, const struct counts *counts)
{
	if (counts)
		write_counts((void *)(values + count), counts);
	submit_typed(values, count + counts_words(counts));
}

/* A text that is being written: once a generation, like a stack. */
struct new_text {
	struct rec_text *rec; /* NULL: it was written before, or there is no room for it */
	struct stack_mark mark;
	__u64 id; /* 0: there is no room for it */
};

static __always_inline struct new_text begin_text(__u64 key)
{
	struct new_text text = {.id = mix64(key) | 1};

	text.mark = stack_mark_of(text.id);
	if (text.mark.at && *text.mark.at == text.mark.value)
		return text;
	if (text.mark.at)
		text.rec = try_reserve_source(REC_TEXT, 0, sizeof(*text.rec));
	if (text.rec)
		text.rec->id = text.id;
	else {
		count_missing(MISSING_FULL, LOST_DEFINITION);
		text.id = 0;
	}
	return text;
}

/* result is what the function that wrote the text has returned: negative if it failed. */
static __always_inline __u64 end_text(struct new_text *text, long result)
{
	if (result < 0)
		text->rec->text[0] = 0;
	submit(text->rec, sizeof(*text->rec));
	*text->mark.at = text->mark.value;
	return text->id;
}

/* The id of a text of the kernel, which stays the same while key does; 0: there is no room for it. */
static __noinline __u64 intern_text_of(__u64 text, __u64 key)
{
	struct new_text new = begin_text(key);

	if (!new.rec)
		return new.id;
	return end_text(&new, bpf_probe_read_kernel_str(new.rec->text, sizeof(new.rec->text), (void *)text));
}

/* The same of a text that is where it is for longer than a generation. */
static __always_inline __u64 intern_text(__u64 text)
{
	return intern_text_of(text, text);
}

static const char symbol_format[] = "%ps";

/* The id of the name of a kernel function; 0: there is no room for it. */
static __noinline __u64 intern_symbol(__u64 address)
{
	struct new_text new = begin_text(~address);

	if (!new.rec)
		return new.id;
	return end_text(&new, bpf_snprintf(new.rec->text, sizeof(new.rec->text), symbol_format, &address, sizeof(address)));
}

const volatile bool source_kernel, source_user; /* stacks */

/* Both parts of the running thread's stack, as far as they are recorded. */
static __always_inline void take_source_stacks(void *ctx, struct task_struct *task, struct rec_stacks *to)
{
	if ((source_kernel || source_user) && may_define())
		take_stacks(ctx, task, source_user, source_kernel, to);
}

#define QUEUED 4096 /* a power of two; 96 KiB */

/* When and where something was queued that runs later, by its address. Where two have the same slot, the earlier one's time is not known. */
struct queued {
	__u64 key;
	__u64 at; /* 0: not known */
	__u64 cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUED);
	__type(key, __u32);
	__type(value, struct queued);
} queued SEC(".maps");

static __always_inline struct queued *queued_slot(__u64 key)
{
	__u32 slot = mix64(key) & (QUEUED - 1);

	return bpf_map_lookup_elem(&queued, &slot);
}

static __always_inline void note_queued(__u64 key)
{
	struct queued *q = queued_slot(key);

	if (!q)
		return;
	q->key = key;
	q->cpu = bpf_get_smp_processor_id();
	q->at = bpf_ktime_get_ns();
}

static __always_inline struct queued take_queued(__u64 key)
{
	struct queued *q = queued_slot(key), taken = {};

	if (q && q->key == key) {
		taken = *q;
		q->at = 0;
	}
	return taken;
}

/* How long it was queued until a time; 0: not known. */
static __always_inline __u64 queued_for(const struct queued *q, __u64 until)
{
	return q->at && q->at < until ? until - q->at : 0;
}

#endif
