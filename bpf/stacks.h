/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stacks, written once a generation and named by id after that.
 *
 * A program takes a scratch buffer, has the kernel's and the user's stack told from it, gives it back and then
 * reserves its own record: so whoever reads the ids has what they stand for. Any program may do so, whatever it
 * interrupts: a buffer belongs to a CPU and is taken with an exchange, so programs need not give buffers back in the
 * order in which they took them, as they do not where a kernel lets one preempt another.
 *
 * What was told is remembered by marks in an array that all CPUs share, at the place that the id's low bits say. Two
 * stacks of one place drive each other out: in the worst case each use tells its stack again, with up to 1,048 bytes.
 */
#ifndef WPROF_STACKS_H
#define WPROF_STACKS_H

#define NESTING_LEVELS 4 /* task, softirq, hardirq, NMI */
#define TOLD_STACKS 65536 /* 512 KiB */

const volatile __u32 stack_depth = STACK_FRAMES; /* the kernel's limit, if that is lower */

struct scratch {
	__u64 taken;
	/* From here on as struct rec_stack. */
	struct rec_hdr hdr;
	__u64 id;
	__u32 pid;
	__u32 count;
	__u64 addrs[STACK_FRAMES + 1]; /* they are hashed by twos */
};

_Static_assert(__builtin_offsetof(struct scratch, addrs) - __builtin_offsetof(struct scratch, hdr) == sizeof(struct rec_stack),
	       "a scratch buffer holds a record");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NESTING_LEVELS);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* The id of the stack that was told last at this place, mixed with the generation in which it was. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TOLD_STACKS);
	__type(key, __u32);
	__type(value, __u64);
} told_stacks SEC(".maps");

/* NULL: all are taken, and a record of the kind is counted as lost for that. */
static __always_inline struct scratch *take_scratch(__u32 kind)
{
#pragma unroll
	for (__u32 level = 0; level < NESTING_LEVELS; level++) {
		__u32 key = level;
		struct scratch *s = bpf_map_lookup_elem(&scratch, &key);

		if (s && !__sync_lock_test_and_set(&s->taken, 1))
			return s;
	}
	count_refusal(bpf_get_smp_processor_id(), kind);
	return NULL;
}

static __always_inline void give_scratch(struct scratch *s)
{
	barrier();
	*(volatile __u64 *)&s->taken = 0;
}

/* From memory, so that the verifier forgets what it knew of the count: else it walks on from each loop's every exit. */
static __always_inline __u32 frames(struct scratch *s)
{
	return *(volatile __u32 *)&s->count;
}

#define MIX_A 0x9e3779b97f4a7c15ULL
#define MIX_B 0xbf58476d1ce4e5b9ULL
#define MIX_C 0x94d049bb133111ebULL

static __always_inline __u64 scrambled(__u64 x)
{
	x *= MIX_A;
	return x ^ x >> 32;
}

/* The finaliser of splitmix64: each bit of the result depends on all of x. */
static __always_inline __u64 mixed(__u64 x)
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

	s->addrs[bounded(frames(s), STACK_FRAMES + 1)] = 0;
	for (__u32 i = 0; i < STACK_FRAMES && i < count; i += 2) {
		even = (even ^ scrambled(s->addrs[i])) * MIX_B;
		odd = (odd ^ scrambled(s->addrs[i + 1])) * MIX_C;
	}
	return mixed(even ^ (odd << 32 | odd >> 32)) | 1;
}

/* The room is reserved before the clock is read, as for any record. */
static __noinline bool write_stack(struct scratch *s, __u32 tid)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 size = sizeof(struct rec_stack) + bounded(s->count, STACK_FRAMES + 1) * sizeof(__u64);
	struct rec_stack *rec = claim_here(cpu, size);

	if (!rec) {
		count_loss(cpu, REC_STACK);
		return false;
	}
	s->hdr.ts = bpf_ktime_get_ns();
	s->hdr.kind = REC_STACK;
	s->hdr.cpu = cpu;
	s->hdr.tid = tid;
	bpf_probe_read_kernel(rec, size, &s->hdr);
	submit(rec, size);
	return true;
}

/*
 * Sees to it that the stack in the scratch buffer is told in this generation. The mark is set only when the record is
 * in the ring for good: another CPU that sees the mark names the id in a record that is younger. False: no room.
 */
static __always_inline bool tell_stack(struct scratch *s, __u32 tid)
{
	__u64 mark = s->id ^ generation * MIX_A;
	__u32 place = s->id >> 1 & (TOLD_STACKS - 1);
	volatile __u64 *told = bpf_map_lookup_elem(&told_stacks, &place);

	if (!told)
		return false;
	if (*told == mark)
		return true;
	if (!write_stack(s, tid))
		return false;
	*told = mark;
	return true;
}

/* What of a stack a record names. */
struct stack_ref {
	__u64 id;  /* 0: none */
	bool lost; /* there is one, but no room to tell it */
};

/* With the frames there. */
static __always_inline struct stack_ref refer_to_stack(struct scratch *s, __u64 seed, __u32 pid, __u32 tid, __u8 flags)
{
	struct stack_ref ref = {};

	s->id = hash_stack(s, seed);
	s->pid = pid;
	s->hdr.flags = flags | (frames(s) >= stack_depth ? REC_CUT : 0);
	if (tell_stack(s, tid))
		ref.id = s->id;
	else
		ref.lost = true;
	return ref;
}

/* The kernel's part of the stack of the running thread. ctx is the program's own; flags are REC_TRACER or 0. */
static __always_inline struct stack_ref kernel_stack(void *ctx, struct scratch *s, struct task_struct *task, __u8 flags)
{
	long bytes = bpf_get_stack(ctx, s->addrs, STACK_FRAMES * sizeof(__u64), 0);

	if (bytes <= 0)
		return (struct stack_ref){};
	s->count = bytes / sizeof(__u64);
	return refer_to_stack(s, 0, 0, task->pid, flags);
}

/* Where a frame pointer is none the walk may read anything; it ends with the first value that is no user address. */
static __always_inline __u32 user_frames(struct scratch *s, __u32 count)
{
	__u32 i;

	for (i = 0; i < STACK_FRAMES && i < count; i++)
		if ((s->addrs[i] - 1) >> 56)
			break;
	return i;
}

/* A process id may be reused within a generation, so the start of the process goes into its stacks' ids too. */
static __always_inline __u64 user_seed(struct task_struct *task)
{
	return mixed((__u64)task->tgid << 32 ^ task->self_exec_id ^ scrambled(task->group_leader->start_time));
}

/*
 * During an exec the memory and the number of execs are those of the new program, but the registers still those of the
 * old one, whose calls cannot be walked any more: the one frame would be taken for new code.
 */
static __always_inline bool outlived_its_program(struct scratch *s, struct task_struct *task)
{
	return frames(s) == 1 && bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve);
}

/* The user's part of the stack of the running thread. */
static __always_inline struct stack_ref user_stack(void *ctx, struct scratch *s, struct task_struct *task)
{
	long bytes;

	/* The registers that these threads entered the kernel with are not theirs. */
	if (task->flags & (PF_KTHREAD | worker_flags()))
		return (struct stack_ref){};
	bytes = bpf_get_stack(ctx, s->addrs, STACK_FRAMES * sizeof(__u64), BPF_F_USER_STACK);
	if (bytes <= 0)
		return (struct stack_ref){};
	s->count = user_frames(s, bytes / sizeof(__u64));
	if (!frames(s) || outlived_its_program(s, task))
		return (struct stack_ref){};
	return refer_to_stack(s, user_seed(task), task->tgid, task->pid, 0);
}

/* Both parts of the stack of the running thread, where a tracepoint or a probe has called the program. */
static __always_inline bool take_stacks(void *ctx, struct task_struct *task, bool user, bool kernel, struct rec_stacks *to)
{
	struct scratch *s = take_scratch(REC_STACK);

	to->user = to->kernel = 0;
	if (!s)
		return false;
	if (user)
		to->user = user_stack(ctx, s, task).id;
	if (kernel)
		to->kernel = kernel_stack(ctx, s, task, REC_TRACER).id;
	give_scratch(s);
	return true;
}

#endif
