/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Python's frames of threads that are blocked when the window closes: the walk of python.h over the memory of a thread that does not run.
 *
 * The definitions of code objects are put into a map, and user space takes them when all threads are listed: those of one deep stack may be
 * more than an iterator can write at once.
 *
 * A read takes about 1 us. A process may have thousands of threads and lists without an end, so that all reads of a listing are counted.
 */
#ifndef WPROF_BLOCKEDPYTHON_H
#define WPROF_BLOCKEDPYTHON_H

#define LISTED_CODES 4096	     /* a power of two */
#define LISTED_BYTES (2 << 20)	     /* a power of two */
#define LISTED_SLACK 8192	     /* more than a definition has */
#define LISTED_READS (512 << 10)
#define WINDOW_IS_OPEN (-1ULL >> 1) /* closed_at, when stacks are only walked for the tables that they need */

struct python_listing {
	__u8 codes[LISTED_BYTES + LISTED_SLACK]; /* rec_code, each with its bytes in hdr.tid */
	__u64 marks[LISTED_CODES];		 /* as those of written_stacks, of this listing */
	__u64 process, newest, state;		 /* where the last search has found a thread */
	struct python_stack st;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_listing);
} python_listings SEC(".maps");

__u32 python_listed; /* bytes of codes */
static __u32 python_listing_reads;
static __u64 python_listing_number;

static __always_inline struct python_listing *python_listing(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&python_listings, &zero);
}

static __always_inline void begin_python_listing(void)
{
	python_listed = python_listing_reads = 0;
	python_listing_number++;
}

#if defined(__TARGET_ARCH_x86)

/* Other walks have no room on the stack for the thread. */
struct listed_python {
	struct python_context context;
	struct other_thread other;
};

static __always_inline bool read_listed_python(struct python_context *ctx, void *to, __u32 size, const __u32 limit, __u64 at)
{
	struct listed_python *listed = (struct listed_python *)ctx;

	if (python_listing_reads >= LISTED_READS)
		return false;
	python_listing_reads++;
	return !read_other_part(&listed->other, to, size, limit, at);
}

/* Without room the definition is missing, unless a stack of the window has it. */
static __always_inline bool list_python_code(struct python_context *ctx, const struct python *p, __u64 id)
{
	struct rec_code *def = (struct rec_code *)ctx->st->def;
	__u64 mark = id ^ python_listing_number * MIX_A;
	struct python_listing *l = python_listing();
	__u32 at = python_listed, size;

	if (!l)
		return false;
	if (l->marks[bounded(id, LISTED_CODES)] == mark || at >= LISTED_BYTES)
		return true;
	size = sizeof(*def) + define_python_code(ctx, true, p);
	def->hdr.ts = 0;
	def->hdr.kind = REC_CODE;
	def->hdr.flags = 0;
	def->hdr.cpu = 0;
	def->hdr.tid = size;
	bpf_probe_read_kernel(&l->codes[bounded(at, LISTED_BYTES)], size, def);
	python_listed = at + size;
	l->marks[bounded(id, LISTED_CODES)] = mark;
	return true;
}

static __always_inline void find_listed_task(struct python_context *ctx)
{
	const struct python *p = python_of(ctx->st);

	if (p)
		find_task(ctx, true, p);
}

/*
 * Looks at one more state of the lists until the thread's is found, then at one more frame. A stack that was called from another interpreter has
 * its callers there, in the next state of the thread. One function for both: the verifier follows each bpf_loop() on its own.
 */
static long next_listed_python(__u32 i, struct listed_python *listed)
{
	struct python_context *ctx = &listed->context;
	struct python_stack *st = ctx->st;
	const struct python *p;

	if (!st)
		return 1;
	if (!st->frame && !st->is_walked) {
		if (st->steps >= PYTHON_SEARCH)
			return 1;
		if (next_python_thread(st->steps, ctx, true) && !st->frame)
			return 1;
		if (st->frame && !st->is_last)
			find_listed_task(ctx);
		return 0;
	}
	if (!step_python(ctx, true)) {
		st->is_walked = 1;
		return 0;
	}
	p = python_of(st);
	if (!p || !st->several || !st->thread || st->is_last)
		return 1;
	st->is_last = 1;
	st->task_frame = 0;
	st->is_walked = st->steps = 0;
	st->frame = 0;
	return !read_python_word(ctx, true, &st->thread, st->thread + p->next_thread);
}

/*
 * Finds the innermost frame of a blocked thread. Threads are listed by their ids, and the interpreter puts new ones before older ones: so the
 * state before that of the last thread is tried before the search, in which each thread would meet all newer ones.
 */
static __always_inline void start_listed_python(struct python_context *ctx, const struct python_listing *l, const struct python *p)
{
	struct python_stack *st = ctx->st;
	__u32 slot = st->tid & (PYTHON_THREADS - 1);
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &slot);

	st->interpreter = st->frame = st->thread = 0;
	st->several = st->is_walked = st->is_last = 0;
	st->steps = 0;
	if (!known || !read_python_word(ctx, true, &st->interpreter, st->runtime + p->interpreters))
		return;
	if (is_same_thread(known, st) && !known->several)
		st->thread = known->state;
	else if (l->process == st->seed && l->newest == st->interpreter)
		read_python_word(ctx, true, &st->thread, l->state + p->next_thread - sizeof(st->thread)); /* prev is before next */
	st->frame = frame_of_state(ctx, true, p, st->thread);
	if (st->frame)
		find_task(ctx, true, p);
	else
		st->thread = 0;
}

/* Takes Python's frames of a blocked thread, whose user stack was walked, and notes in its record how many there are. */
static __always_inline void walk_listed_python(struct task_struct *task, struct unwind_walk *w, struct rec_blocked *rec)
{
	struct listed_python listed = {.other.task = task};
	struct python_context *ctx = &listed.context;
	struct python_listing *l = python_listing();
	const struct python *p;
	__u64 newest;

	recall_python(w, task);
	if (!w->python || closed_at == WINDOW_IS_OPEN || !l || !is_python_selected(task))
		return;
	ctx->st = &l->st;
	p = begin_python(ctx->st, w, task);
	if (!p || p->is_ruby)
		return;
	start_listed_python(ctx, l, p);
	newest = ctx->st->interpreter;
	bpf_loop(2 * (PYTHON_SEARCH + PYTHON_STEPS), next_listed_python, &listed, 0);
	if (ctx->st->is_walked && !ctx->st->several) {
		l->process = ctx->st->seed;
		l->newest = newest;
		l->state = ctx->st->thread;
	}
	rec->python_count = *(volatile __u32 *)&ctx->st->count;
	if (python_end(ctx->st) == PYTHON_WHOLE)
		rec->cut |= BLOCKED_PYTHON_WHOLE;
}

#endif

static __always_inline void write_listed_python(struct seq_file *seq, __u32 count)
{
	struct python_listing *l = python_listing();

	if (l && count <= PYTHON_FRAMES)
		bpf_seq_write(seq, l->st.words, count * sizeof(__u64));
}

#endif
