/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Counts of performance counters (--pmu): between two switches of a CPU, which is what the thread caused that leaves it; from the switch before to
 * a sample; and within interrupts and work items.
 *
 * A switch of which the filters drop both sides reads none, because no interval of a selected thread begins or ends there. A thread that they
 * select while it is on its CPU, as by a new name, has no counts of that time: those since the last switch are others', too.
 */
#ifndef WPROF_COUNTERS_H
#define WPROF_COUNTERS_H

#define COUNTERS 8 /* bpf/counters.go has it too */

const volatile __u32 counter_count; /* at most COUNTERS */

/* include/uapi/linux/bpf.h */
struct bpf_perf_event_value {
	__u64 counter, enabled, running;
};

/* The counters of a CPU begin at its number times COUNTERS. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u32);
} counters SEC(".maps");

/* What a CPU's counters were at a time. */
struct counter_readings {
	struct bpf_perf_event_value of[COUNTERS];
	__u8 known; /* by counter */
};

/* What they have counted: struct rec_counts_part, with room for all. */
struct counts {
	__u8 unknown; /* by counter: there is no value */
	__u8 scaled;  /* by counter: it counted for a part of the time, because counters share registers of the CPU */
	__u8 pad[6];
	__u64 values[COUNTERS];
};

_Static_assert(__builtin_offsetof(struct counts, values) == sizeof(struct rec_counts_part), "counts are written as they are");

struct counter_states {
	struct counter_readings last; /* at the last switch */
	struct counts counts;	      /* between the last two switches */
	__u32 tid;		      /* selected thread that came to the CPU at the last switch; 0: none */
	__u32 switches;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counter_states);
} counter_states SEC(".maps");

/* Of the sample that is being taken: no other one interrupts the program of a sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} sample_counts SEC(".maps");

enum counted_span {
	COUNTED_HARDIRQ,
	COUNTED_VECTOR,
	COUNTED_SOFTIRQ,
	COUNTED_CALL,
	COUNTED_SPANS,
};

/* Of what a CPU is doing, see irq.h. */
struct span_counts {
	struct counter_readings begin;
	struct counts counts;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTED_SPANS);
	__type(key, __u32);
	__type(value, struct span_counts);
} span_counts SEC(".maps");

/* A function of its own, so that tests can replace it. */
static __noinline long read_counter(__u32 index, struct bpf_perf_event_value *now)
{
	return bpf_perf_event_read_value(&counters, index, now, sizeof(*now));
}

/* What a counter has counted since a reading; keep: the next count begins here. */
static __noinline int count_one(struct counter_readings *since, struct counts *to, __u32 cpu, __u32 number, bool keep)
{
	struct bpf_perf_event_value now = {}, *then;
	__u64 enabled, running, delta;
	bool was_known, backwards;
	__u8 bit, shift;

	if (!since || !to || number >= COUNTERS)
		return 0;
	then = &since->of[number];
	bit = 1 << number;
	was_known = since->known & bit;
	if (read_counter(cpu * COUNTERS + number, &now)) {
		to->unknown |= bit;
		if (keep)
			since->known &= ~bit;
		return 0;
	}
	delta = now.counter - then->counter;
	enabled = now.enabled - then->enabled;
	running = now.running - then->running;
	backwards = now.enabled < then->enabled;
	if (keep) {
		*then = now;
		since->known |= bit;
	}
	/* A counter that the kernel has removed with its CPU stands still, and the one that follows it began at 0. */
	if (!was_known || !running || backwards)
		to->unknown |= bit;
	if (running && running < enabled && !backwards) {
		to->scaled |= bit;
		/* The product of two times of more than 4 s has more than 64 bits. */
		shift = enabled >> 32 ? 16 : 0;
		delta = delta / running * enabled + (delta % running * (enabled >> shift) / running << shift);
	}
	to->values[number] = delta;
	return 0;
}

static __always_inline void count_all(struct counter_readings *since, struct counts *to, __u32 cpu, bool keep)
{
	to->unknown = 0;
	to->scaled = 0;
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++)
		count_one(since, to, cpu, i, keep);
}

static __always_inline struct counter_states *this_counter_states(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&counter_states, &only);
}

/*
 * Reads the counters of a CPU at a switch; comes: the selected thread that comes to it, 0: none. NULL: what they have counted is not what the
 * thread caused that leaves.
 */
static __always_inline const struct counts *count_interval(__u32 cpu, __u32 leaves, __u32 comes)
{
	struct counter_states *s = this_counter_states();
	__u32 tid;

	if (!s)
		return NULL;
	tid = s->tid;
	s->tid = comes;
	s->switches++;
	count_all(&s->last, &s->counts, cpu, true);
	return tid && tid == leaves ? &s->counts : NULL;
}

/* What the counters have counted since the switch to the running thread, if that was seen. */
static __always_inline void count_since_switch(struct counts *to, __u32 tid)
{
	struct counter_states *s = this_counter_states();

	if (s && s->tid == tid) {
		count_all(&s->last, to, bpf_get_smp_processor_id(), false);
		return;
	}
	to->unknown = -1;
	to->scaled = 0;
}

/* The same of a sample; NULL: nothing is counted. Before its stack is taken, which counts as the thread's as well. */
static __always_inline const struct counts *count_sample(__u32 tid)
{
	__u32 only = 0;
	struct counts *to;

	if (!counter_count)
		return NULL;
	to = bpf_map_lookup_elem(&sample_counts, &only);
	if (to)
		count_since_switch(to, tid);
	return to;
}

/* Outside of the window nothing is read: what begins there has no counts. */
static __always_inline void begin_counts(__u32 span)
{
	struct span_counts *s;
	__u32 cpu;

	if (!counter_count)
		return;
	s = bpf_map_lookup_elem(&span_counts, &span);
	if (!s)
		return;
	s->begin.known = 0;
	if (!armed)
		return;
	cpu = bpf_get_smp_processor_id();
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++) {
		if (!read_counter(cpu * COUNTERS + i, &s->begin.of[i]))
			s->begin.known |= 1 << i;
	}
}

/* What the counters have counted since begin_counts; NULL: nothing is counted. */
static __always_inline const struct counts *end_counts(__u32 span)
{
	struct span_counts *s;

	if (!counter_count)
		return NULL;
	s = bpf_map_lookup_elem(&span_counts, &span);
	if (!s)
		return NULL;
	count_all(&s->begin, &s->counts, bpf_get_smp_processor_id(), false);
	return &s->counts;
}

/* The words that counts take, 0 without any. */
static __always_inline __u32 counts_words(const struct counts *c)
{
	return c ? sizeof(struct rec_counts_part) / sizeof(__u64) + counter_count : 0;
}

static __always_inline __u32 counts_size(void)
{
	return sizeof(struct rec_counts_part) + counter_count * sizeof(__u64);
}

static __always_inline void write_counts(struct rec_counts_part *to, const struct counts *c)
{
	to->unknown = c->unknown;
	to->scaled = c->scaled;
	__builtin_memset(to->pad, 0, sizeof(to->pad));
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++)
		to->values[i] = c->values[i];
}

/* Counts as the only part of a record; counts may be NULL. */
static __always_inline __u32 trailing_counts_size(const struct counts *c)
{
	return c ? counts_size() + sizeof(struct rec_parts) : 0;
}

/* Returns the flag for the record's header. */
static __always_inline __u32 write_trailing_counts(void *to, const struct counts *c)
{
	if (!c)
		return 0;
	write_counts(to, c);
	*(__u64 *)(to + counts_size()) = PART_COUNTS | (counts_size() / 8) << 16;
	return RECORD_PARTS;
}

#endif
