/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A cache of user stacks that were unwound by tables. A step takes 0.1 us, and threads mostly wait in few places.
 *
 * What a walk finds depends on the mappings and tables of its process, on the program counter and the stack pointer, on the frame
 * pointer if a step uses it before a frame has saved it, and on the words that it reads. A memo has all of them, and the stack's id: if a
 * thread comes back with the same ones, its stack is the same.
 *
 * The first walk from a place only notes it, the second one is remembered. A walk is not remembered if it depends on anything else (other
 * registers, instructions, uretprobes), if it reads USER_MEMO_WORDS words or more, or if the kernel does not count changes of mappings.
 *
 * Each CPU has its own memos (104 KiB), and one program at a time uses them. At worst no memo ever matches: that costs a comparison of the
 * place, and each second walk the copying of its words.
 */
#ifndef WPROF_USERMEMO_H
#define WPROF_USERMEMO_H

#if defined(__TARGET_ARCH_x86)

#define USER_MEMOS 128 /* a power of two */

struct user_memo {
	__u64 version, pc, sp;
	__u64 fp; /* if needs_fp is set */
	__u64 id; /* 0: the place is only noted */
	__u32 count;
	__u32 needs_fp;
	struct walk_words words;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, USER_MEMOS);
	__type(key, __u32);
	__type(value, struct user_memo);
} user_memos SEC(".maps");

static __always_inline struct user_memo *user_memo_of(const struct unwind_walk *w)
{
	__u32 index = mix_fast(w->version ^ w->pc ^ w->sp) & (USER_MEMOS - 1);

	return bpf_map_lookup_elem(&user_memos, &index);
}

static __always_inline bool is_at_place(const struct user_memo *m, const struct unwind_walk *w)
{
	return m->version == w->version && m->pc == w->pc && m->sp == w->sp;
}

/* Whether the walk, which has not begun, would read the same. */
__noinline bool reads_same(struct unwind_walk *w)
{
	struct user_memo *m;
	__u32 count;
	__u64 word;

	if (!w)
		return false;
	m = user_memo_of(w);
	if (!m || (m->needs_fp && m->fp != w->fp))
		return false;
	count = m->count;
	for (__u32 i = 0; i < USER_MEMO_WORDS && i < count; i++)
		if (!read_word(w, &word, w->sp + m->words.offsets[i]) || word != m->words.values[i])
			return false;
	return true;
}

/* Keeps what the walk has read since begin_walk(). */
static __always_inline void remember_walk(struct user_memo *m, struct unwind_walk *w, __u64 id)
{
	m->count = USER_MEMO_WORDS - w->room;
	m->needs_fp = w->uses_fp;
	m->fp = w->first_fp;
	m->id = id;
	bpf_probe_read_kernel(&m->words, sizeof(m->words), &w->words);
}

static __always_inline bool is_repeatable(const struct unwind_walk *w)
{
	return w->room && !w->depends_on_more && w->ended != END_UNREADABLE;
}

/* The user's part of the stack of a thread that has come back. */
static __always_inline struct stack_ref returned_user_stack(void *ctx, struct scratch *s, struct task_struct *task)
{
	struct unwind_walk *w = &s->walk;
	struct user_memo *m;
	struct stack_ref ref;
	__u64 known = 0;

	if (python_enabled)
		s->python = PYTHON_NONE;
	if (!unwind_tables || !has_user_stack(task) || !begin_walk(s))
		return user_stack(ctx, s, task, true);
	m = has_version() ? user_memo_of(w) : NULL;
	if (!m)
		return walked_user_stack(s, task);
	if (!is_at_place(m, w)) {
		m->version = w->version;
		m->pc = w->pc;
		m->sp = w->sp;
		m->id = 0;
	} else if (m->id && reads_same(w)) {
		if (!stacks_checked && is_written(m->id))
			return (struct stack_ref){.id = m->id};
		known = m->id;
	} else if (m->id) {
		m->id = 0;
	} else {
		w->room = USER_MEMO_WORDS;
	}
	ref = walked_user_stack(s, task);
	if (known && ref.id)
		count_check(&stack_checks.user_remembered, &stack_checks.user_remembered_wrong, ref.id == known);
	if (ref.id && is_repeatable(w))
		remember_walk(m, w, ref.id);
	return ref;
}

#else

static __always_inline struct stack_ref returned_user_stack(void *ctx, struct scratch *s, struct task_struct *task)
{
	return user_stack(ctx, s, task, true);
}

#endif
#endif
