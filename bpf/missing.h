/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Records of sources that are missing: those that did not fit into the part of a ring that sources may fill, and those that a limit
 * left out. Each CPU counts them by type and cause, apart from the losses of the scheduler's events, which would otherwise be
 * reported once for each of those while a source floods.
 *
 * A limit is a number of events for each window of time, at most a tenth of a second unless the number is 1. What it left out is reported
 * when the next window begins, by the sampling timer, or by user space at the end.
 */
#ifndef WPROF_MISSING_H
#define WPROF_MISSING_H

#define MISSING_CAUSES 3

/* One a CPU and cause, at cpu * MISSING_CAUSES + cause; user space takes what is left at the end, as of struct losses. */
struct missing {
	__u64 from; /* time of the first one that is not reported yet; 0: none */
	__u32 counts[MISSING_TYPES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct missing);
} missing SEC(".maps");

/* There may be something to report, by cause and CPU. */
volatile __u8 unreported_full[CPUS_MAX], unreported_limit[CPUS_MAX]; /* of MISSING_TABLE in the second */

static __always_inline volatile __u8 *unreported_of(__u32 cpu, __u32 cause)
{
	cpu &= CPUS_MAX - 1;
	return cause == MISSING_FULL ? &unreported_full[cpu] : &unreported_limit[cpu];
}

static __always_inline struct missing *missing_of(__u32 cpu, __u32 cause)
{
	__u32 at = cpu * MISSING_CAUSES + cause;

	return bpf_map_lookup_elem(&missing, &at);
}

static __always_inline __u32 missing_slot(__u32 type)
{
	if (type > MISSING_TRACEPOINT)
		type = MISSING_TRACEPOINT;
	/* Else the compiler may compare another copy of it than the one that is used, and the verifier of 6.1 sees no bounds. */
	if (!__builtin_constant_p(type))
		barrier_var(type);
	return type & (MISSING_TYPES - 1);
}

/* from is set as in add_loss(). */
static __noinline int count_missing(__u32 cause, __u32 type)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct missing *m = missing_of(cpu, cause);
	__u64 now = bpf_ktime_get_ns();

	if (!m)
		return 0;
	__sync_val_compare_and_swap(&m->from, 0, now);
	__sync_fetch_and_add(&m->counts[missing_slot(type)], 1);
	__sync_val_compare_and_swap(&m->from, 0, now);
	*unreported_of(cpu, cause) = 1;
	return 0;
}

/* Reports what is missing on this CPU, unless the ring has no room for sources. */
static __noinline int report_missing(__u32 cause)
{
	__u32 cpu = bpf_get_smp_processor_id(), sum = 0;
	struct missing *m = missing_of(cpu, cause);
	struct rec_missing *rec;

	if (!m)
		return 0;
	rec = claim_part_here(cpu, sizeof(*rec), SOURCES_LEAVE);
	if (!rec)
		return 0;
	*unreported_of(cpu, cause) = 0;
	fill_header(&rec->hdr, REC_MISSING, 0, cpu, 0);
	rec->from = __sync_lock_test_and_set(&m->from, 0);
	rec->cause = cause;
	rec->pad = 0;
	for (int i = 0; i < MISSING_TYPES; i++) {
		rec->counts[i] = __sync_lock_test_and_set(&m->counts[i], 0);
		sum |= rec->counts[i];
	}
	if (sum)
		submit(rec, sizeof(*rec));
	else
		discard(rec, sizeof(*rec));
	return 0;
}

const volatile bool sources_enabled; /* any; else the verifier leaves out what reports their losses */

/* Reports both causes. */
static __always_inline void report_all_missing(void)
{
	__u32 cpu = bpf_get_smp_processor_id() & (CPUS_MAX - 1);

	if (!sources_enabled)
		return;
	if (unreported_full[cpu])
		report_missing(MISSING_FULL);
	if (unreported_limit[cpu]) {
		report_missing(MISSING_LIMIT);
		report_missing(MISSING_TABLE);
	}
}

/* Room for a record of a source, with its rec_hdr filled in; NULL: there is none. */
static __always_inline void *try_reserve_source(__u32 kind, __u32 tid, __u64 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct rec_hdr *hdr;

	if (unreported_full[cpu & (CPUS_MAX - 1)])
		report_missing(MISSING_FULL);
	hdr = claim_part_here(cpu, size, SOURCES_LEAVE);
	if (hdr)
		fill_header(hdr, kind, REC_SUBJECT, cpu, tid);
	return hdr;
}

/* The same of an event of a type; the loss is counted. */
static __always_inline void *reserve_source(__u32 tid, __u32 type, __u64 size)
{
	void *rec = try_reserve_source(REC_TYPED, tid, size);

	if (!rec)
		count_missing(MISSING_FULL, type);
	return rec;
}

/* Whether a ring has room for a record of a source, as far as several CPUs do not find this at the same time. */
static __always_inline bool has_source_room(void)
{
	struct ring *ring = ring_of(bpf_get_smp_processor_id());

	return ring && (__s64)(*(volatile __u64 *)&ring->head - *(volatile __u64 *)&ring->tail) < (__s64)(ring_bytes - SOURCES_LEAVE);
}

/* Whether a definition that only an event of a source refers to may be written; definitions of the scheduler take what sources leave. */
static __always_inline bool may_define(void)
{
	if (has_source_room())
		return true;
	count_missing(MISSING_FULL, LOST_DEFINITION);
	return false;
}

/* Events of each type that pass in a window of time, and its length, ns; 0: no limit. */
const volatile __u32 limit_events[MISSING_TYPES];
const volatile __u64 limit_window[MISSING_TYPES];

struct limit_state {
	__u64 began; /* the window */
	__u64 passed; /* events in it */
};

/* A CPU's states, by type. */
struct limit_states {
	struct limit_state of[MISSING_TYPES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct limit_states);
} limits SEC(".maps");

/* Programs that interrupt each other may let one more event pass; each event is either written or counted. */
static __noinline bool passes_limit(__u32 slot)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct limit_states *states = bpf_map_lookup_elem(&limits, &cpu);
	struct limit_state *state;
	__u64 now;

	if (!states || slot >= MISSING_TYPES)
		return true;
	state = &states->of[slot];
	now = bpf_ktime_get_ns();
	if (now - state->began >= limit_window[slot]) {
		state->began = now;
		state->passed = 0;
		if (unreported_limit[cpu & (CPUS_MAX - 1)])
			report_missing(MISSING_LIMIT);
	}
	if (state->passed < limit_events[slot]) {
		state->passed++;
		return true;
	}
	count_missing(MISSING_LIMIT, slot);
	return false;
}

/* Whether an event of a type is to be recorded, as far as limits go: after the filters, before what costs time. */
static __always_inline bool within_limit(__u32 type)
{
	__u32 slot = missing_slot(type);

	return !limit_events[slot] || passes_limit(slot);
}

#endif
