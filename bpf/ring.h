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

#define LOST_KINDS 16

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

/* One a CPU; user space maps it and takes what is left at the end by the same protocol. */
struct losses {
	__u32 untold; /* there may be something to tell */
	__u32 pad;
	__u64 from;   /* time of the first loss that is not told yet; 0: none */
	__u32 counts[LOST_KINDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} losses SEC(".maps");

/*
 * from is set on both sides of the count: a lost record that is written in between has taken either from without
 * the count, and then the second one sets it again, or both. A from that is left without a count is dropped with the
 * empty record that untold leads to.
 */
static __always_inline void count_loss(struct losses *l, __u32 kind)
{
	__u64 now = bpf_ktime_get_ns();

	__sync_val_compare_and_swap(&l->from, 0, now);
	__sync_fetch_and_add(&l->counts[kind], 1);
	__sync_val_compare_and_swap(&l->from, 0, now);
	*(volatile __u32 *)&l->untold = 1;
}

static __noinline void tell_losses(void *ring, struct losses *l)
{
	struct rec_lost *rec;
	__u32 sum = 0;

	rec = bpf_ringbuf_reserve(ring, sizeof(*rec), 0);
	if (!rec)
		return;
	*(volatile __u32 *)&l->untold = 0;
	rec->hdr.ts = bpf_ktime_get_ns();
	rec->hdr.kind = REC_LOST;
	rec->hdr.flags = 0;
	rec->hdr.cpu = bpf_get_smp_processor_id();
	rec->hdr.tid = 0;
	rec->from = __sync_lock_test_and_set(&l->from, 0);
	for (int i = 0; i < LOST_KINDS; i++) {
		rec->counts[i] = __sync_lock_test_and_set(&l->counts[i], 0);
		sum += rec->counts[i];
	}
	if (sum)
		bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
}

static __always_inline void *ring_of(__u32 cpu)
{
	__u32 slot = rings_shared ? cpu % ring_count : cpu;

	return bpf_map_lookup_elem(&rings, &slot);
}

/* Room for a record of the kind in this CPU's ring, with its header filled in; NULL: counted as lost. */
static __always_inline void *reserve(__u32 kind, __u8 flags, __u32 tid, __u64 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct losses *l = bpf_map_lookup_elem(&losses, &cpu);
	void *ring = ring_of(cpu);
	struct rec_hdr *hdr;

	if (!ring || !l)
		return NULL;
	if (*(volatile __u32 *)&l->untold)
		tell_losses(ring, l);
	__u64 early = bpf_ktime_get_ns();
	hdr = bpf_ringbuf_reserve(ring, size, 0);
	if (!hdr) {
		count_loss(l, kind);
		return NULL;
	}
	/* Only now: see records.h on the order of reserving and reading the clock. */
	hdr->ts = early;
	*(__u64 *)&hdr->kind = kind | (__u64)flags << 8 | (__u64)cpu << 16 | (__u64)tid << 32;
	return hdr;
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

static __always_inline void submit(void *rec)
{
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

#endif
