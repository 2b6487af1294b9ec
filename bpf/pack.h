/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Packed records: switches, wakings and returns in 16 to 24 bytes of a ring instead of 32 to 40, headers included.
 *
 * A packed record leaves out what follows from the records before it: the CPU, because only the CPU whose number is the
 * ring's packs; the running thread, which the last switch put on the CPU; and the upper half of the time. Whole switches
 * and wakings of that CPU set the thread and the time for the packed records after them. All of them are written with
 * interrupts off, or by a thread that stays on its CPU meanwhile, so the ring has them in the order in which they
 * happened.
 *
 * A record is written whole where the running thread is another one (the filter dropped a switch, or there was no room
 * for it), where a value is too large, at the beginning of a generation, because earlier generations may be missing, and
 * when the last whole one is PACKED_WITHIN_NS old: no more than that is lost after damaged bytes.
 */
#ifndef WPROF_PACK_H
#define WPROF_PACK_H

#define PACKED_WITHIN_NS (1ULL << 26)

/*
 * Room for a packed record of a thread; NULL: there is none, or the record has to be whole. The base time is read before
 * the room is taken, so that its whole record comes before this one; the clock is read after that, as for any record.
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

/* Sets what later records are packed against, from a whole switch or waking. */
static __always_inline void set_pack_base(struct ring *ring, const struct rec_hdr *hdr, __u32 running)
{
	if (ring_number(hdr->cpu) != hdr->cpu)
		return;
	ring->packing.base = hdr->ts;
	ring->packing.running = running;
	ring->packing.generation = generation;
}

#endif
