/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Events of tracepoints that the user chose (-f tp=NAME): one program for all of them, whose cookie is the number of the tracepoint. It
 * copies the record that the kernel makes for perf, or the arguments of a raw tracepoint, and user space knows their fields.
 *
 * An event costs one copy, and for a tracepoint with strings one more read. The kernel's own part, which makes the record, is not in
 * the program's time.
 *
 * Cannot see: events while another program of a perf event or tracepoint runs on the CPU (counted since Linux 6.7), and the common_
 * fields, over which the kernel writes.
 */
#ifndef WPROF_TRACEPOINT_H
#define WPROF_TRACEPOINT_H

#define TRACEPOINT_BYTES 5120 /* of a record that are copied: a path of PATH_MAX, and other fields */
#define TRACEPOINT_STATIC 1024
#define RAW_STRINGS 4 /* of a raw tracepoint */
#define RAW_STRING 128

struct tracepoint {
	__u32 from;	/* first byte that is copied */
	__u32 to;	/* end of the fields that every event has */
	__u32 location; /* place of the location of the last field of variable length; 0: there is none */
	__u32 relative; /* that is relative to its own end */
	__u32 strings[RAW_STRINGS]; /* of a raw tracepoint: numbers, from 1, of the arguments that point to strings; then 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tracepoint);
} tracepoints SEC(".maps");

/* The tracepoint of an event that is to be recorded; NULL: it is not. */
static __always_inline struct tracepoint *wanted_tracepoint(__u32 number)
{
	if (!armed || !passes_filter(bpf_get_current_task_btf()) || !within_limit(TYPE_TRACEPOINT))
		return NULL;
	return bpf_map_lookup_elem(&tracepoints, &number);
}

static __always_inline struct rec_tracepoint *reserve_tracepoint(__u32 number, __u32 length, __u32 room)
{
	struct rec_tracepoint *rec = reserve_source(bpf_get_current_task_btf()->pid, TYPE_TRACEPOINT, sizeof(*rec) + room);

	if (!rec)
		return NULL;
	rec->start = 0;
	rec->type = TYPE_TRACEPOINT + number;
	rec->length = length;
	return rec;
}

/* The end of a record: that of its last field. The kernel puts fields of variable length one after the other behind the others. */
static __always_inline __u32 record_end(__u64 record, const struct tracepoint *t)
{
	__u32 place = t->location & (TRACEPOINT_STATIC - 1), location = 0, end;

	if (!t->location)
		return t->to;
	bpf_probe_read_kernel(&location, sizeof(location), (void *)(record + place));
	end = (location & 0xffff) + (location >> 16);
	if (t->relative)
		end += place + sizeof(location);
	return end < t->to ? t->to : end;
}

/* The result 1 lets other users of the tracepoint, such as perf, have the event too. */
SEC("tracepoint")
int tracepoint_event(void *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx), length;
	struct tracepoint *t = wanted_tracepoint(number);
	struct rec_tracepoint *rec;

	if (!t)
		return 1;
	length = record_end((__u64)ctx, t) - t->from;
	if (length > TRACEPOINT_BYTES)
		length = TRACEPOINT_BYTES;
	rec = reserve_tracepoint(number, length, length);
	if (!rec)
		return 1;
	barrier_var(length);
	if (length > TRACEPOINT_BYTES)
		length = TRACEPOINT_BYTES;
	bpf_probe_read_kernel(rec->bytes, length, (void *)((__u64)ctx + (t->from & 15)));
	submit(rec, sizeof(*rec) + length);
	return 1;
}

/* Without cookies for raw tracepoints, before Linux 6.10, there is a copy of the program for each, with its number instead of the call. */
SEC("raw_tracepoint")
int raw_tracepoint_event(__u64 *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx), room, at;
	struct tracepoint *t = wanted_tracepoint(number);
	struct rec_tracepoint *rec;

	if (!t)
		return 0;
	at = t->to & 127;
	room = at;
#pragma unroll
	for (int i = 0; i < RAW_STRINGS; i++)
		room += t->strings[i] ? RAW_STRING : 0;
	rec = reserve_tracepoint(number, room, room);
	if (!rec)
		return 0;
	bpf_probe_read_kernel(rec->bytes, at, ctx);
#pragma unroll
	for (int i = 0; i < RAW_STRINGS; i++) {
		__u64 string = 0;

		if (!t->strings[i])
			break;
		bpf_probe_read_kernel(&string, sizeof(string), (void *)((__u64)ctx + ((t->strings[i] - 1) & 15) * sizeof(string)));
		if (bpf_probe_read_kernel_str(rec->bytes + at + i * RAW_STRING, RAW_STRING, (void *)string) < 0)
			rec->bytes[at + i * RAW_STRING] = 0;
	}
	submit(rec, sizeof(*rec) + room);
	return 0;
}

#endif
