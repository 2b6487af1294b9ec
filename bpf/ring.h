/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Rings, and the count of what did not fit into them.
 *
 * A ring is memory shared with user space: CPUs take room at its head, and user space clears what it has read and releases
 * the room at its tail. Each record has a header of 8 bytes, which is 0 while the record is being written, and is stored
 * last.
 *
 * Programs interrupt each other on a CPU: a hard interrupt's waking between any two instructions of a switch. So room
 * is taken and losses are counted by atomic instructions. A lost record takes the counts; losses counted meanwhile are
 * in it or in the next one, never in both.
 *
 * Positions count bytes since the ring was made. The memory is in chunks, because Linux 6.1 limits the size of an array's
 * values. Each chunk is followed by slack: a record that crosses the end of its chunk continues there, and the next
 * record begins as many bytes after the start of the next chunk. So each record is contiguous.
 */
#ifndef WPROF_RING_H
#define WPROF_RING_H

const volatile __u32 ring_count = 1;
const volatile __u64 ring_bytes = 4096;	 /* powers of two */
const volatile __u32 ring_chunks = 1;	 /* of each ring */
const volatile __u32 chunk_shift = 12;	 /* log2 of a chunk's bytes */
const volatile bool rings_shared;	 /* there are more CPUs than rings */

#define CHUNK_SLACK 8192 /* more than the largest record; with Python's frames user space makes it larger: bpf/ring.go */

/* Two cache lines: one that the programs write, and one that user space writes. */
struct ring {
	__u64 head; /* position up to which room is taken */
	struct packing {
		__u64 base; /* time of the last whole switch or waking */
		__u32 running; /* thread that runs on the CPU after the records so far */
		__u32 generation;
	} packing;
	__u64 pad[5];
	__u64 tail; /* position up to which room was released */
	__u64 pad2[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 4096 + CHUNK_SLACK);
} chunks SEC(".maps");

/* Ring buffers without records. wakeups wakes the reader of the rings; unwind_wakeups wakes the thread that opens files for unwind tables. */
struct wakeups_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct wakeups_map wakeups SEC(".maps"), unwind_wakeups SEC(".maps");

static __always_inline void wake_user_space(struct wakeups_map *by)
{
	void *none = bpf_ringbuf_reserve(by, sizeof(__u64), 0);

	if (none)
		bpf_ringbuf_discard(none, BPF_RB_FORCE_WAKEUP);
}

#define CPUS_MAX 8192

/* There may be losses to report: read for every record, so it is not in the map. */
volatile __u8 unreported[CPUS_MAX];

/* One a CPU; user space maps it and takes what is left at the end by the same protocol. */
struct losses {
	__u64 from; /* time of the first loss that is not reported yet; 0: none */
	__u32 counts[REC_EVENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} losses SEC(".maps");

/* The same for records that were not written because programs were nested too deep. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} nesting_losses SEC(".maps");

/*
 * from is set before and after the count is raised, because report_losses() may take both at any point in between. If it
 * took from alone, it is set again for the count. If it took both, a from without a count is left: unreported makes
 * report_losses() take that too, and discard its record.
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

/* Records for which no scratch buffer was left; only user space takes these counts. */
static __always_inline void count_nesting_loss(__u32 cpu, __u32 kind)
{
	struct losses *l = bpf_map_lookup_elem(&nesting_losses, &cpu);

	if (l)
		add_loss(l, kind);
}

static __always_inline __u32 ring_number(__u32 cpu)
{
	return rings_shared ? cpu % ring_count : cpu;
}

static __always_inline struct ring *ring_of(__u32 cpu)
{
	__u32 number = ring_number(cpu);

	return bpf_map_lookup_elem(&rings, &number);
}

/* Bytes of a record with its header. */
static __always_inline __u64 room_of(__u64 size)
{
	return (size + sizeof(__u64) + 7) & ~7ULL;
}

/*
 * Threads can be preempted in programs of tracepoints, since the kernel guards these by SRCU (include/linux/tracepoint.h). One that lost
 * its CPU between taking room and publishing would hold up the ring's reader until it runs again.
 */
const volatile bool preemptible;

extern void bpf_preempt_disable(void) __ksym __weak; /* since 6.10 */
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void hold_cpu(void)
{
	if (preemptible)
		bpf_preempt_disable();
}

static __always_inline void release_cpu(void)
{
	if (preemptible)
		bpf_preempt_enable();
}

/*
 * Room that sources leave free in a ring: a source that floods takes no room from events of the scheduler. Where rings of the default
 * size fill, switches need a quarter of one for as long as a reader that stands still for a second leaves it.
 */
#define SOURCES_LEAVE (ring_bytes / 4)

/* Returns false if another program took room at the same time: try again. leave is how many bytes are to stay free. */
static __always_inline bool take_room(struct ring *ring, __u64 bytes, __u64 leave, __u64 *at, bool *full)
{
	__u64 head = *(volatile __u64 *)&ring->head;

	/* Signed: another program may have moved the head since it was read, and the tail may be beyond this value. */
	*full = (__s64)(head + bytes - *(volatile __u64 *)&ring->tail) > (__s64)(ring_bytes - leave);
	if (*full)
		return true;
	*at = head;
	return __sync_val_compare_and_swap(&ring->head, head, head + bytes) == head;
}

struct room_request {
	struct ring *ring;
	__u64 bytes;
	__u64 leave;
	__u64 at;
	bool taken;
	bool full;
};

static long try_room(__u32 index, struct room_request *w)
{
	w->taken = take_room(w->ring, w->bytes, w->leave, &w->at, &w->full);
	return w->taken;
}

/*
 * On a CPU's own ring only programs that interrupt this one compete: a try fails only if an interrupt comes between two
 * instructions. On a ring of several CPUs a try fails only if another CPU's succeeds.
 */
#define TRIES_ALONE 4
#define TRIES_SHARED 4096

static __noinline long find_room_shared(__u32 number, __u64 bytes, __u64 leave)
{
	struct room_request w = {.bytes = bytes, .leave = leave};

	w.ring = bpf_map_lookup_elem(&rings, &number);
	if (!w.ring)
		return -1;
	bpf_loop(TRIES_SHARED, try_room, &w, 0);
	return w.taken && !w.full ? (long)w.at : -1;
}

/* The position of the room that was taken; negative: there is none. */
static __always_inline long find_room(struct ring *ring, __u32 number, __u64 bytes, __u64 leave)
{
	__u64 at;
	bool full;

#pragma unroll
	for (int i = 0; i < TRIES_ALONE; i++)
		if (take_room(ring, bytes, leave, &at, &full))
			return full ? -1 : (long)at;
	return rings_shared ? find_room_shared(number, bytes, leave) : -1;
}

/* Room for a record of size bytes, after its header, that leaves some bytes free; NULL: there is none. */
static __always_inline void *claim_part(struct ring *ring, __u32 number, __u64 size, __u64 leave)
{
	__u32 slot;
	char *chunk;
	long at;

	hold_cpu();
	at = find_room(ring, number, room_of(size), leave);
	if (at < 0) {
		release_cpu();
		return NULL;
	}
	slot = number * ring_chunks + ((__u64)at >> chunk_shift & (ring_chunks - 1));
	chunk = bpf_map_lookup_elem(&chunks, &slot);
	if (!chunk) {
		release_cpu();
		return NULL;
	}
	/* Else the compiler may put the sign, which it knows, into the mask, and the verifier of 6.1 sees no bounds. */
	barrier_var(at);
	return chunk + ((__u64)at & ((1ULL << chunk_shift) - 8)) + sizeof(__u64);
}

static __always_inline void *claim(struct ring *ring, __u32 number, __u64 size)
{
	return claim_part(ring, number, size, 0);
}

/* Stores the header, with release semantics: the record is complete when its header is seen. */
static __always_inline void publish(void *rec, __u64 header)
{
	__u64 *to = (__u64 *)rec - 1;

#if defined(__TARGET_ARCH_x86)
	barrier();
	*(volatile __u64 *)to = header;
#else
	__sync_lock_test_and_set(to, header);
#endif
	release_cpu();
}

static __always_inline void submit(void *rec, __u32 size)
{
	publish(rec, size);
}

static __always_inline void discard(void *rec, __u32 size)
{
	publish(rec, size | RECORD_DISCARDED);
}

/* Returns whether nothing is left to report. */
static __noinline bool report_losses(__u32 cpu)
{
	struct losses *l = bpf_map_lookup_elem(&losses, &cpu);
	struct ring *ring = ring_of(cpu);
	struct rec_lost *rec;
	__u32 sum = 0;

	if (!l || !ring)
		return true;
	rec = claim(ring, ring_number(cpu), sizeof(*rec));
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
		submit(rec, sizeof(*rec));
	else
		discard(rec, sizeof(*rec));
	return true;
}

/*
 * Room for a record in this CPU's ring. Losses are reported first: a record that fits where the longer rec_lost does not
 * must not come before it.
 */
static __always_inline void *claim_part_here(__u32 cpu, __u64 size, __u64 leave)
{
	struct ring *ring = ring_of(cpu);

	if (!ring || (unreported[cpu & (CPUS_MAX - 1)] && !report_losses(cpu)))
		return NULL;
	return claim_part(ring, ring_number(cpu), size, leave);
}

static __always_inline void *claim_here(__u32 cpu, __u64 size)
{
	return claim_part_here(cpu, size, 0);
}

/* Fills in a rec_hdr. Not before room was taken: see records.h on the order of reserving and reading the clock. */
static __always_inline void fill_header(struct rec_hdr *hdr, __u32 kind, __u8 flags, __u32 cpu, __u32 tid)
{
	hdr->ts = bpf_ktime_get_ns();
	*(__u64 *)&hdr->kind = kind | (__u64)flags << 8 | (__u64)cpu << 16 | (__u64)tid << 32;
}

/* The same with its rec_hdr filled in; NULL: there is none, and the caller counts the loss. */
static __always_inline void *try_reserve(__u32 kind, __u8 flags, __u32 tid, __u64 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct rec_hdr *hdr = claim_here(cpu, size);

	if (hdr)
		fill_header(hdr, kind, flags, cpu, tid);
	return hdr;
}

/* The same, but it counts the loss itself. */
static __always_inline void *reserve(__u32 kind, __u8 flags, __u32 tid, __u64 size)
{
	void *rec = try_reserve(kind, flags, tid, size);

	if (!rec)
		count_loss(bpf_get_smp_processor_id(), kind);
	return rec;
}

/* More room for a record that turned out to be longer than what was reserved for it; NULL: there is none. */
static __always_inline void *reserve_again(const struct rec_hdr *hdr, __u64 size)
{
	struct rec_hdr *again = claim_here(bpf_get_smp_processor_id(), size);

	if (!again)
		return NULL;
	*again = *hdr;
	again->ts = bpf_ktime_get_ns();
	return again;
}

const volatile __u64 wake_bytes; /* that a ring holds before its reader is woken; 0: it never is */

/*
 * Wakes the reader of this CPU's ring when that fills. Writing a record wakes no reader: only the sampling timer
 * calls this, which fires seldom enough.
 */
static __always_inline void wake_reader(void)
{
	struct ring *ring;

	if (!wake_bytes)
		return;
	ring = ring_of(bpf_get_smp_processor_id());
	if (!ring || *(volatile __u64 *)&ring->head - *(volatile __u64 *)&ring->tail < wake_bytes)
		return;
	wake_user_space(&wakeups);
}

#endif
