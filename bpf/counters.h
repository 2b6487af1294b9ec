/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Counts of performance counters (--pmu) between two switches of a CPU: what the thread caused that leaves it. A switch of which the
 * filters drop both sides reads none, because no interval of a selected thread begins or ends there. A thread that they select while it is
 * on its CPU, as by a new name, has no counts of that time: those since the last switch are others', too.
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

struct counter {
	__u64 value, enabled, running; /* at the last switch */
	__u64 delta;		       /* between the last two switches */
};

struct counter_states {
	struct counter of[COUNTERS];
	__u32 tid;    /* selected thread that came to the CPU at the last switch; 0: none */
	__u8 stale;   /* by counter: it could not be read at the last switch */
	__u8 unknown; /* by counter: there is no delta */
	__u8 scaled;  /* by counter: it counted for a part of the time, because counters share registers of the CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counter_states);
} counter_states SEC(".maps");

/* A function of its own, so that tests can replace it. */
static __noinline long read_counter(__u32 index, struct bpf_perf_event_value *now)
{
	return bpf_perf_event_read_value(&counters, index, now, sizeof(*now));
}

static __noinline int count_one(struct counter_states *s, __u32 cpu, __u32 number)
{
	struct bpf_perf_event_value now = {};
	__u64 enabled, running, delta;
	struct counter *c;
	__u8 bit, shift;
	bool backwards;

	if (!s || number >= COUNTERS)
		return 0;
	c = &s->of[number];
	bit = 1 << number;
	if (read_counter(cpu * COUNTERS + number, &now)) {
		s->stale |= bit;
		s->unknown |= bit;
		return 0;
	}
	delta = now.counter - c->value;
	enabled = now.enabled - c->enabled;
	running = now.running - c->running;
	backwards = now.enabled < c->enabled;
	c->value = now.counter;
	c->enabled = now.enabled;
	c->running = now.running;
	/* A counter that the kernel has removed with its CPU stands still, and the one that follows it began at 0. */
	if (s->stale & bit || !running || backwards)
		s->unknown |= bit;
	s->stale &= ~bit;
	if (running && running < enabled && !backwards) {
		s->scaled |= bit;
		/* The product of two times of more than 4 s has more than 64 bits. */
		shift = enabled >> 32 ? 16 : 0;
		delta = delta / running * enabled + (delta % running * (enabled >> shift) / running << shift);
	}
	c->delta = delta;
	return 0;
}

/*
 * Reads the counters of a CPU at a switch; comes: the selected thread that comes to it, 0: none. NULL: what they have counted is not what the
 * thread caused that leaves.
 */
static __always_inline struct counter_states *count_interval(__u32 cpu, __u32 leaves, __u32 comes)
{
	__u32 only = 0;
	struct counter_states *s = bpf_map_lookup_elem(&counter_states, &only);
	__u32 tid;

	if (!s)
		return NULL;
	tid = s->tid;
	s->tid = comes;
	s->unknown = 0;
	s->scaled = 0;
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++)
		count_one(s, cpu, i);
	return tid && tid == leaves ? s : NULL;
}

static __always_inline __u32 counts_size(void)
{
	return sizeof(struct rec_counts_part) + counter_count * sizeof(__u64);
}

static __always_inline void write_counts(struct rec_counts_part *to, const struct counter_states *s)
{
	to->unknown = s->unknown;
	to->scaled = s->scaled;
	__builtin_memset(to->pad, 0, sizeof(to->pad));
	for (__u32 i = 0; i < COUNTERS && i < counter_count; i++)
		to->values[i] = s->of[i].delta;
}

#endif
