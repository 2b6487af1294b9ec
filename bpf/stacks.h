/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stacks, written once a generation and referred to by id.
 *
 * A program takes a scratch buffer, writes the kernel's and the user's stack from it, gives it back and then
 * reserves its own record: so the stacks come before the record with their ids. Any program may do so, whatever it
 * interrupts: a buffer belongs to a CPU and is taken with an atomic exchange. Buffers may be given back in any order,
 * because some kernels let one program preempt another.
 *
 * An array that all CPUs share has a mark for each stack that was written, at the index in the id's low bits. Two stacks
 * of one index replace each other's mark: in the worst case each use writes its stack again, with up to 1,048 bytes.
 */
#ifndef WPROF_STACKS_H
#define WPROF_STACKS_H

#define NESTING_LEVELS 4 /* task, softirq, hardirq, NMI */
#define WRITTEN_STACKS 65536 /* 512 KiB */

/* Frames that are taken, at most: of the kernel's part, of the user's part by frame pointers, and by tables. */
const volatile __u32 stack_depth = STACK_FRAMES, user_depth = STACK_FRAMES, table_depth = TABLE_FRAMES;

/* Tests: let the kernel walk each stack as well, and compare. */
const volatile bool stacks_checked;
struct {
	__u64 remembered, remembered_wrong; /* kernel stacks: see memo.h */
	__u64 shallow, shallow_wrong;	    /* user stacks: see walk_shallow() */
	__u64 user_remembered, user_remembered_wrong; /* see usermemo.h */
} stack_checks;

static __always_inline void count_check(__u64 *checked, __u64 *wrong, bool same)
{
	__sync_fetch_and_add(checked, 1);
	if (!same)
		__sync_fetch_and_add(wrong, 1);
}

struct scratch {
	__u64 taken;
	__u32 level;  /* its number */
	__u32 pad2;
	/* From here on as struct rec_stack. */
	struct rec_hdr hdr;
	__u64 id;
	__u32 pid;
	__u16 count;
	__u8 ended;
	__u8 python;
	__u64 addrs[TABLE_FRAMES + 1]; /* hashed in pairs */
	struct unwind_walk walk;
};

_Static_assert(__builtin_offsetof(struct scratch, addrs) - __builtin_offsetof(struct scratch, hdr) == sizeof(struct rec_stack),
	       "a scratch buffer holds a record");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NESTING_LEVELS);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* The id of the stack that was last written with this index, mixed with the generation in which it was written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WRITTEN_STACKS);
	__type(key, __u32);
	__type(value, __u64);
} written_stacks SEC(".maps");

/* NULL: all are taken, and a record of the kind is counted as lost. */
static __always_inline struct scratch *get_scratch(__u32 kind)
{
#pragma unroll
	for (__u32 level = 0; level < NESTING_LEVELS; level++) {
		__u32 key = level;
		struct scratch *s = bpf_map_lookup_elem(&scratch, &key);

		if (!s || __sync_lock_test_and_set(&s->taken, 1))
			continue;
		if (python_enabled)
			s->level = level;
		return s;
	}
	count_nesting_loss(bpf_get_smp_processor_id(), kind);
	return NULL;
}

static __always_inline void put_scratch(struct scratch *s)
{
	barrier();
	*(volatile __u64 *)&s->taken = 0;
}

/* Volatile, so that the verifier does not track the value: else it verifies what follows once for each exit of a loop. */
static __always_inline __u32 frames(struct scratch *s)
{
	return *(volatile __u16 *)&s->count;
}

#define MIX_A 0x9e3779b97f4a7c15ULL
#define MIX_B 0xbf58476d1ce4e5b9ULL
#define MIX_C 0x94d049bb133111ebULL

static __always_inline __u64 mix_fast(__u64 x)
{
	x *= MIX_A;
	return x ^ x >> 32;
}

/* The finaliser of splitmix64: each bit of the result depends on all of x. */
static __always_inline __u64 mix64(__u64 x)
{
	x = (x ^ x >> 30) * MIX_B;
	x = (x ^ x >> 27) * MIX_C;
	return x ^ x >> 31;
}

/*
 * Each step of a lane is a bijection, so that stacks that differ in one address never collide. Two lanes keep the
 * multiplier busy. Never 0.
 */
static __always_inline __u64 hash_stack(struct scratch *s, __u64 seed)
{
	__u64 even = seed, odd = ~seed;
	__u32 count = frames(s);

	s->addrs[bounded(frames(s), TABLE_FRAMES + 1)] = 0;
	for (__u32 i = 0; i < TABLE_FRAMES && i < count; i += 2) {
		even = (even ^ mix_fast(s->addrs[i])) * MIX_B;
		odd = (odd ^ mix_fast(s->addrs[i + 1])) * MIX_C;
	}
	return mix64(even ^ (odd << 32 | odd >> 32)) | 1;
}

/* Python's part of the stack in the scratch buffer; NULL: there is none. */
static __always_inline struct python_stack *python_part(struct scratch *s)
{
	return python_enabled && s->python ? python_stack_at(s->level) : NULL;
}

/* The room is reserved before the clock is read, as for any record. */
static __noinline bool write_stack(struct scratch *s, __u32 tid)
{
	__u32 cpu = bpf_get_smp_processor_id(), more = 0;
	__u32 size = sizeof(struct rec_stack) + bounded(s->count, TABLE_FRAMES + 1) * sizeof(__u64);
	struct python_stack *python = python_part(s);
	struct rec_stack *rec;

	if (python)
		more = bounded(python->count, PYTHON_WORDS) * sizeof(__u64);
	if (more > PYTHON_FRAMES * sizeof(__u64))
		more = PYTHON_FRAMES * sizeof(__u64);
	rec = claim_here(cpu, size + more);
	if (!rec) {
		count_loss(cpu, REC_STACK);
		return false;
	}
	s->hdr.ts = bpf_ktime_get_ns();
	s->hdr.kind = REC_STACK;
	s->hdr.cpu = cpu;
	s->hdr.tid = tid;
	bpf_probe_read_kernel(rec, size, &s->hdr);
	if (python)
		bpf_probe_read_kernel((char *)rec + size, more, python->words);
	submit(rec, size + more);
	return true;
}

struct stack_mark {
	volatile __u64 *at;
	__u64 value; /* if the stack was written in this generation */
};

static __always_inline struct stack_mark stack_mark_of(__u64 id)
{
	__u32 index = id >> 1 & (WRITTEN_STACKS - 1);

	return (struct stack_mark){bpf_map_lookup_elem(&written_stacks, &index), id ^ generation * MIX_A};
}

static __always_inline bool is_written(__u64 id)
{
	struct stack_mark mark = stack_mark_of(id);

	return mark.at && *mark.at == mark.value;
}

#define STACK_END_SHIFT 8 /* of enum stack_end in the flags of intern_stack() */

/*
 * Writes the stack in the scratch buffer unless that was done in this generation. Returns its id; 0: no room. The mark is
 * set only after the record is committed: another CPU that sees the mark uses the id in a later record. A global
 * function is verified once, not at each of its calls.
 */
__noinline __u64 intern_stack(struct scratch *s, __u64 seed, __u32 pid, __u32 tid, __u32 flags)
{
	struct python_stack *python;
	struct stack_mark mark;

	if (!s)
		return 0;
	if (python_enabled) {
		if (!pid)
			s->python = PYTHON_NONE;
		python = python_part(s);
		if (python)
			seed ^= python->hash;
	}
	s->id = hash_stack(s, seed ^ flags >> STACK_END_SHIFT);
	s->pid = pid;
	s->ended = flags >> STACK_END_SHIFT;
	s->hdr.flags = flags;
	mark = stack_mark_of(s->id);
	if (!mark.at)
		return 0;
	if (*mark.at == mark.value)
		return s->id;
	if (!write_stack(s, tid))
		return 0;
	*mark.at = mark.value;
	return s->id;
}

/* The reference of a record to a stack. */
struct stack_ref {
	__u64 id;  /* 0: none */
	bool lost; /* there is one, but no room to write it */
};

/* Interns the stack in the scratch buffer. */
static __always_inline struct stack_ref refer_to_stack(struct scratch *s, __u64 seed, __u32 pid, __u32 tid, __u32 flags)
{
	__u64 id = intern_stack(s, seed, pid, tid, flags);

	return (struct stack_ref){id, !id};
}

/* The flag of a stack that the kernel has walked, of at most limit frames. */
static __always_inline __u32 cut_if_deep(struct scratch *s, __u32 limit)
{
	return frames(s) >= limit ? REC_CUT : 0;
}

/* The kernel's part of the stack of the running thread. ctx is the program's own; flags are REC_TRACER or 0. */
static __always_inline struct stack_ref kernel_stack(void *ctx, struct scratch *s, struct task_struct *task, __u8 flags)
{
	long bytes = bpf_get_stack(ctx, s->addrs, bounded(stack_depth, STACK_FRAMES + 1) * sizeof(__u64), 0);

	if (bytes <= 0)
		return (struct stack_ref){};
	s->count = bytes / sizeof(__u64);
	return refer_to_stack(s, 0, 0, task->pid, flags | cut_if_deep(s, stack_depth));
}

/* A process id may be reused within a generation, so the start of the process goes into its stacks' ids too. */
static __always_inline __u64 user_seed(struct task_struct *task)
{
	return mix64((__u64)task->tgid << 32 ^ task->self_exec_id ^ mix_fast(task->group_leader->start_time));
}

#endif
