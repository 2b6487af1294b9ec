/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Rings, and the count of what did not fit into them.
 *
 * Programs interrupt each other on a CPU: a hard interrupt's waking between any two instructions of a switch. So the
 * counts are added and taken by atomic instructions. A lost record takes what it can tell; what is counted while it
 * does so is told by it or by the next one, never by both.
 */
#ifndef WPROF_RING_H
#define WPROF_RING_H

const volatile __u32 ring_count = 1;
const volatile bool rings_shared; /* there are more CPUs than rings */

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

#define CPUS_MAX 8192

/* There may be something to tell: read for every record, so it is not in the map. */
volatile __u8 unreported[CPUS_MAX];

/* One a CPU; user space maps it and takes what is left at the end by the same protocol. */
struct losses {
	__u64 from; /* time of the first loss that is not told yet; 0: none */
	__u32 counts[REC_EVENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} losses SEC(".maps");

/* The same for what was not written because programs were nested too deep. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} refusals SEC(".maps");

/*
 * from is set on both sides of the count: a lost record that is written in between has taken either from without
 * the count, and then the second one sets it again, or both. A from that is left without a count is dropped with the
 * empty record that unreported leads to.
 */
static __always_inline void add_loss(struct losses *l, __u32 kind)
{
	__u64 now = bpf_ktime_get_ns();

	__sync_val_compare_and_swap(&l->from, 0, now);
	__sync_fetch_and_add(&l->counts[kind < REC_EVENTS ? kind : LOST_DEFINITION], 1);
	__sync_val_compare_and_swap(&l->from, 0, now);
}

static __always_inline void count_loss(__u32 cpu, __u32 kind)
{
	struct losses *l = bpf_map_lookup_elem(&losses, &cpu);

	if (!l)
		return;
	add_loss(l, kind);
	unreported[cpu & (CPUS_MAX - 1)] = 1;
}

/* What no scratch buffer was left for; only user space takes it. */
static __always_inline void count_refusal(__u32 cpu, __u32 kind)
{
	struct losses *l = bpf_map_lookup_elem(&refusals, &cpu);

	if (l)
		add_loss(l, kind);
}

/* Returns whether nothing is left to tell. */
static __noinline bool tell_losses(void *ring, __u32 cpu)
{
	struct losses *l = bpf_map_lookup_elem(&losses, &cpu);
	struct rec_lost *rec;
	__u32 sum = 0;

	if (!l)
		return true;
	rec = bpf_ringbuf_reserve(ring, sizeof(*rec), 0);
	if (!rec)
		return false;
	unreported[cpu & (CPUS_MAX - 1)] = 0;
	rec->hdr.ts = bpf_ktime_get_ns();
	rec->hdr.kind = REC_LOST;
	rec->hdr.flags = 0;
	rec->hdr.cpu = cpu;
	rec->hdr.tid = 0;
	rec->from = __sync_lock_test_and_set(&l->from, 0);
	for (int i = 0; i < REC_EVENTS; i++) {
		rec->counts[i] = __sync_lock_test_and_set(&l->counts[i], 0);
		sum += rec->counts[i];
	}
	if (sum)
		bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline void *ring_of(__u32 cpu)
{
	__u32 slot = rings_shared ? cpu % ring_count : cpu;

	return bpf_map_lookup_elem(&rings, &slot);
}

/* Room for a record in this CPU's ring, with its header filled in; NULL: there is none, which the caller counts. */
static __always_inline void *try_reserve(__u32 kind, __u8 flags, __u32 tid, __u64 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = ring_of(cpu);
	struct rec_hdr *hdr;

	if (!ring)
		return NULL;
	/* What is shorter than a lost record may still fit, but would stand before the loss that it comes after. */
	if (unreported[cpu & (CPUS_MAX - 1)] && !tell_losses(ring, cpu))
		return NULL;
	hdr = bpf_ringbuf_reserve(ring, size, 0);
	if (!hdr)
		return NULL;
	/* Only now: see records.h on the order of reserving and reading the clock. */
	hdr->ts = bpf_ktime_get_ns();
	*(__u64 *)&hdr->kind = kind | (__u64)flags << 8 | (__u64)cpu << 16 | (__u64)tid << 32;
	return hdr;
}

/* The same; NULL: counted as lost. */
static __always_inline void *reserve(__u32 kind, __u8 flags, __u32 tid, __u64 size)
{
	void *rec = try_reserve(kind, flags, tid, size);

	if (!rec)
		count_loss(bpf_get_smp_processor_id(), kind);
	return rec;
}

/* More room for a record that turned out to be longer than what was reserved for it; NULL: make do with that. */
static __always_inline void *reserve_again(const struct rec_hdr *hdr, __u64 size)
{
	void *ring = ring_of(bpf_get_smp_processor_id());
	struct rec_hdr *again;

	if (!ring)
		return NULL;
	again = bpf_ringbuf_reserve(ring, size, 0);
	if (!again)
		return NULL;
	*again = *hdr;
	again->ts = bpf_ktime_get_ns();
	return again;
}

const volatile __u64 wake_bytes; /* that a ring holds before its reader is woken; 0: it never is */

/*
 * Wakes the reader of this CPU's ring when that fills. Records wake nobody: this is for the timer, which comes seldom
 * enough to ask.
 */
static __always_inline void wake_reader(void)
{
	void *ring, *none;

	if (!wake_bytes)
		return;
	ring = ring_of(bpf_get_smp_processor_id());
	if (!ring || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < wake_bytes)
		return;
	none = bpf_ringbuf_reserve(ring, sizeof(__u64), 0);
	if (none)
		bpf_ringbuf_discard(none, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void submit(void *rec)
{
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

#endif
