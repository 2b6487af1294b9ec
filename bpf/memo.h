/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A cache of kernel stacks, so that most of the threads that come back to the CPU need no unwinder.
 *
 * A thread mostly blocks where it or another one has blocked in the same system call. A memo has the return addresses of
 * one stack and their offsets from the stack pointer that the switch saved, which stays in the thread until it switches again.
 * If a thread that comes back has the same words at the same offsets, its stack is the same: the unwinder would start at a
 * known word, in __schedule(), and find each next return address by the one before.
 *
 * The outermost frame's offset is counted from the other end, the registers of the entry into the kernel, because system calls
 * move the stack by a random distance between them (add_random_kstack_offset()).
 *
 * A stack is not remembered where its offsets do not follow from the return addresses, or are ambiguous:
 *  - it has registers of an interrupt in the kernel, behind which the stack was aligned;
 *  - a return address occurs more than once, because earlier calls left copies of it;
 *  - it has more than MEMO_FRAMES frames from __schedule() on, or they take more than MEMO_WORDS words.
 *
 * Each CPU has its own memos (56 KiB), and one program at a time uses them. At worst no memo ever matches: that costs a
 * comparison of one word for each of MEMO_WAYS, and a search of MEMO_WORDS words for every MEMO_PAUSE-th stack of a set.
 */
#ifndef WPROF_MEMO_H
#define WPROF_MEMO_H

#if defined(__TARGET_ARCH_x86)

#define MEMO_SETS 64 /* a power of two */
#define MEMO_WAYS 4
#define MEMO_FRAMES 16
#define MEMO_WORDS 512
#define MEMO_PAUSE 64

struct memo {
	__u64 key; /* 0: none */
	__u64 id;
	__u32 count;
	__u32 outermost;	      /* offset of the last frame, in bytes below the registers */
	__u32 offsets[MEMO_FRAMES];   /* of the others, in bytes above the saved stack pointer */
	__u64 addrs[MEMO_FRAMES];
};

struct memo_set {
	struct memo ways[MEMO_WAYS];
	__u32 next;  /* way that is replaced next */
	__u32 pause; /* how many stacks to skip before the next search */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MEMO_SETS + 1); /* a new memo is built in the last one, so that a failed search replaces none */
	__type(key, __u32);
	__type(value, struct memo_set);
} memos SEC(".maps");

/* Offset of ret_addr in struct inactive_task_frame; below it are the registers that __switch_to_asm() saved. */
#define SWITCH_RETURN 48

/* The part of a stack between the switch and the entry into the kernel. */
struct extent {
	__u64 sp;    /* saved by the switch */
	__u32 depth; /* bytes up to the registers of the entry */
};

static __always_inline struct extent extent_of(struct task_struct *task)
{
	__u32 end;

	/* The verifier allows arithmetic with the lower half of a pointer only. */
	asm volatile("%0 = %1" : "=w"(end) : "w"((__u32)bpf_task_pt_regs(task)));
	return (struct extent){task->thread.sp, end - (__u32)task->thread.sp};
}

/* A guess at which stacks are equal, to find memos by: those of one system call, or of one kernel thread. */
static __always_inline __u64 memo_key(struct task_struct *task)
{
	if (!has_user_stack(task))
		return task->pid;
	return 1ULL << 32 | (__u32)REGS_SYSCALL((struct pt_regs *)bpf_task_pt_regs(task));
}

static __always_inline struct memo_set *memo_set(__u64 key)
{
	__u32 set = mix_fast(key) & (MEMO_SETS - 1);

	return bpf_map_lookup_elem(&memos, &set);
}

static __always_inline struct memo *new_memo(void)
{
	__u32 spare = MEMO_SETS;
	struct memo_set *set = bpf_map_lookup_elem(&memos, &spare);

	return set ? &set->ways[0] : NULL;
}

/*
 * Compares the words, innermost first, and reads nothing outside the stack. barrier_var() keeps the comparison of i with a
 * constant, which the compiler would find needless: without it the verifier of Linux 6.1 does not see that the loop ends.
 */
static __always_inline bool memo_matches(const struct memo *m, __u64 sp, __u32 depth)
{
	__u32 last = bounded(m->count - 1, MEMO_FRAMES);

	barrier_var(last);
	if (m->offsets[bounded(last - 1, MEMO_FRAMES)] >= depth || m->outermost > depth)
		return false;
	for (__u32 i = 0; i < MEMO_FRAMES && i < last; i++)
		if (read_kernel_word(sp + m->offsets[i]) != m->addrs[i])
			return false;
	return read_kernel_word(sp + depth - m->outermost) == m->addrs[bounded(last, MEMO_FRAMES)];
}

/* Returns the index of the memo that matches; MEMO_WAYS: none. */
__noinline __u32 find_memo(__u64 key, __u64 sp, __u32 depth)
{
	struct memo_set *set = memo_set(key);

	if (!set)
		return MEMO_WAYS;
	for (__u32 i = 0; i < MEMO_WAYS; i++)
		if (set->ways[i].key == key && memo_matches(&set->ways[i], sp, depth))
			return i;
	return MEMO_WAYS;
}

struct search {
	struct memo *memo;
	__u64 sp;
	__u32 found;
	bool failed;
};

#define KERNEL_CODE -(2ULL << 30) /* kernel, modules and programs are above (Documentation/arch/x86/x86_64/mm.rst) */
#define KERNEL_CS 0x10
#define CS_TO_SP 16
#define SP_DISTANCE 192 /* struct pt_regs, what FRED pushes behind it, and the alignment */

static __always_inline bool is_interrupt(__u64 at, __u64 word)
{
	return (__u16)word == KERNEL_CS && read_kernel_word(at + CS_TO_SP) - at < SP_DISTANCE;
}

/* Return addresses must come in order and once each: the search fails at any other occurrence. */
static long search_word(__u32 index, struct search *s)
{
	__u32 offset = SWITCH_RETURN + (index + 1) * sizeof(__u64), next = s->found;
	__u64 word = read_kernel_word(s->sp + offset);
	struct memo *m = s->memo;

	s->failed = is_interrupt(s->sp + offset, word);
	if (s->failed)
		return 1;
	if (word < KERNEL_CODE)
		return 0;
	for (__u32 i = 1; i < MEMO_FRAMES && i < m->count; i++) {
		if (word != m->addrs[i])
			continue;
		s->failed = i != next;
		if (s->failed)
			return 1;
		m->offsets[i] = offset;
		s->found++;
		return 0;
	}
	return 0;
}

/* Finds the offsets of a memo's frames. */
static __always_inline bool search_frames(struct memo *m, __u64 sp, __u32 depth)
{
	struct search search = {.memo = m, .sp = sp, .found = 1};
	__u32 words = (depth - SWITCH_RETURN) / sizeof(__u64) - 1;
	__u32 last = bounded(m->count - 1, MEMO_FRAMES);

	m->offsets[0] = SWITCH_RETURN;
	bpf_loop(words < MEMO_WORDS ? words : MEMO_WORDS, search_word, &search, 0);
	m->outermost = depth - m->offsets[last];
	return !search.failed && search.found == m->count;
}

/* The index of a return address in a walked stack; MEMO_FRAMES: it is not among the innermost. */
static __always_inline __u32 frame_of(struct scratch *s, __u64 addr)
{
	__u32 i = 0;

	while (i < MEMO_FRAMES && s->addrs[i] != addr)
		i++;
	return i;
}

/*
 * Copies the frames from __schedule() on: it called the switch, so the switch's return address is in it. Returns false if
 * the stack does not have that address, or there are too many frames or too few.
 */
static __always_inline bool copy_frames(struct memo *m, struct scratch *s, __u64 sp)
{
	__u32 first = frame_of(s, read_kernel_word(sp + SWITCH_RETURN));

	m->count = frames(s) - first;
	if (frames(s) <= first + 1 || m->count > MEMO_FRAMES)
		return false;
	for (__u32 i = 0; i < MEMO_FRAMES; i++)
		m->addrs[i] = s->addrs[bounded(first + i, STACK_FRAMES + 1)];
	return true;
}

/* Ignores the frames further in than __schedule(): they are those of tracers, and change whenever one is attached. */
static __always_inline bool has_same_frames(const struct memo *m, struct scratch *s)
{
	__u32 first = frame_of(s, m->addrs[0]);

	if (frames(s) - first != m->count)
		return false;
	for (__u32 i = 0; i < MEMO_FRAMES && i < m->count; i++)
		if (m->addrs[bounded(i, MEMO_FRAMES)] != s->addrs[bounded(first + i, STACK_FRAMES + 1)])
			return false;
	return true;
}

/*
 * Remembers the stack that was walked. After a search that failed, and after one whose memo replaced another, the set
 * pauses: otherwise each stack that cannot be remembered, or for which the set has no way left, would cost a search.
 */
__noinline int add_memo(struct scratch *s, __u64 key, __u64 sp, __u32 depth)
{
	struct memo_set *set = memo_set(key);
	struct memo *m = new_memo(), *old;

	if (!s || !set || !m || depth <= SWITCH_RETURN + sizeof(__u64))
		return 0;
	if (set->pause) {
		set->pause--;
		return 0;
	}
	set->pause = MEMO_PAUSE - 1;
	if (!copy_frames(m, s, sp) || !search_frames(m, sp, depth))
		return 0;
	m->id = s->id;
	m->key = key;
	old = &set->ways[set->next++ & (MEMO_WAYS - 1)];
	if (!old->key)
		set->pause = 0;
	*old = *m;
	return 0;
}

/* The kernel's part of the stack of a thread that has come back. */
static __always_inline struct stack_ref returned_kernel_stack(void *ctx, struct scratch *s, struct task_struct *task)
{
	struct extent e = extent_of(task);
	__u64 key = memo_key(task);
	__u32 way = find_memo(key, e.sp, e.depth);
	struct memo_set *set = memo_set(key);
	struct memo *m = NULL;
	struct stack_ref ref;

	if (set && way < MEMO_WAYS)
		m = &set->ways[bounded(way, MEMO_WAYS)];
	if (m && !stacks_checked && is_written(m->id))
		return (struct stack_ref){.id = m->id};
	ref = kernel_stack(ctx, s, task, REC_TRACER);
	/* Otherwise the compiler duplicates the call above, and the stack, which has its return address, gets two ids. */
	barrier_var(m);
	if (!ref.id)
		return ref;
	if (!m) {
		if (!(s->hdr.flags & REC_CUT))
			add_memo(s, key, e.sp, e.depth);
		return ref;
	}
	if (stacks_checked)
		count_check(&stack_checks.remembered, &stack_checks.remembered_wrong, has_same_frames(m, s));
	m->id = ref.id;
	return ref;
}

#else

static __always_inline struct stack_ref returned_kernel_stack(void *ctx, struct scratch *s, struct task_struct *task)
{
	return kernel_stack(ctx, s, task, REC_TRACER);
}

#endif
#endif
