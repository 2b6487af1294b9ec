/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Packed records: switches, wakings and returns in 16 to 24 bytes of a ring, where 40 and 48 would say the same.
 *
 * A packed record leaves out what is known: the CPU, because only the one that has the ring's number packs; the thread
 * that runs, because it took over by the switch before; and the upper half of the time. Whole switches and wakings of
 * that CPU set the thread and the time for the packed records that follow. All of them are written with interrupts off,
 * or by a thread that does not leave its CPU meanwhile, so they stand in the ring in the order in which they happened.
 *
 * A record is whole where the thread is another one (the filter kept a switch out, or there was no room for it), where
 * a value is too large, at the beginning of a generation, whose bytes can be all that is left of a recording, and when
 * the last whole one is PACKED_WITHIN_NS ago: after bytes that were damaged, that is the most that is missing.
 */
#ifndef WPROF_PACK_H
#define WPROF_PACK_H

#define PACKED_WITHIN_NS (1ULL << 26)

/*
 * Room for a packed record of a thread; NULL: there is none, or it has to be whole. The clock is read after the room is
 * taken, and the time that it counts from before that: so the whole record of that time stands before this one.
 */
static __always_inline void *pack(struct ring *ring, __u32 cpu, __u32 tid, __u64 size, __u64 *ts)
{
	__u64 base;
	void *rec;

	if (ring_number(cpu) != cpu || ring->packing.running != tid || ring->packing.generation != generation ||
	    unreported[cpu & (CPUS_MAX - 1)])
		return NULL;
	base = *(volatile __u64 *)&ring->packing.base;
	rec = claim(ring, cpu, size);
	if (!rec)
		return NULL;
	*ts = bpf_ktime_get_ns();
	if (*ts - base < PACKED_WITHIN_NS)
		return rec;
	discard(rec, size);
	return NULL;
}

static __always_inline void submit_packed(void *rec, __u32 size, __u32 kind, __u8 flags, __u64 ts)
{
	publish(rec, size | (__u32)flags << PACKED_FLAGS_SHIFT | kind << PACKED_KIND_SHIFT | RECORD_PACKED | ts << 32);
}

/* After a whole switch or waking. */
static __always_inline void pack_from(struct ring *ring, const struct rec_hdr *hdr, __u32 running)
{
	if (ring_number(hdr->cpu) != hdr->cpu)
		return;
	ring->packing.base = hdr->ts;
	ring->packing.running = running;
	ring->packing.generation = generation;
}

#endif
