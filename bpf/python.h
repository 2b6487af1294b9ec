/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walks the frames of CPython's interpreter, after the user stack of a thread that has code of the interpreter in it.
 *
 * User space knows interpreters by their files, as unwind tables are known: where a file has its runtime and the loop that executes
 * bytecode, and what is where in the structures of its version (internal/python). So processes that are new, and forks, need nothing.
 *
 * A thread's state is found in the lists that start at the runtime, and remembered. The next search waits for 200 times as long as one takes,
 * so that threads without a state cost little; for 10 times as long if the thread is in the loop, and so must have one.
 *
 * A frame is a word with a hash of its code object: of the object's address and of what it points to, so that another object at the same
 * address has another hash. The object is written once a generation, before the stack, and read here: its process may have ended when user
 * space would read it.
 *
 * All of this is memory of the process, and may be anything: everything that is read is bounded.
 *
 * Global functions ask python_enabled themselves: before Linux 6.8 each is verified even if nothing calls it.
 */
#ifndef WPROF_PYTHON_H
#define WPROF_PYTHON_H

#define PYTHON_FILES 64
#define PYTHON_LOOPS 4 /* internal/python: MaxLoops */
#define PYTHON_THREADS 4096
#define PYTHON_PROCESSES 4096
#define PYTHON_SEARCH 1024 /* interpreters and threads that are looked at */
#define PYTHON_STEPS (PYTHON_FRAMES + 2048) /* over frames, and over what awaits them */
#define PYTHON_PATIENCE 20000 /* ns for each of them, of which one takes about 100 */
#define PYTHON_PATIENCE_IN_LOOP 1000

/* internal/python: Ends. */
enum python_ends { PYTHON_ENDS_ALWAYS, PYTHON_ENDS_AT_ENTRY, PYTHON_ENDS_BEFORE_SHIM };

#define PYTHON_OWNED_BY_C 3 /* internal/python: OwnedByCStack */

/* An interpreter's file: bpf/python.go. */
struct python {
	__u64 runtime;
	__u64 loops_begin[PYTHON_LOOPS], loops_end[PYTHON_LOOPS];
	__u32 interpreters, next_interpreter, threads, next_thread, thread_id, frame;
	__s32 current; /* negative: the frame is in the thread's state */
	__u32 instructions;
	__u16 code, previous, instruction, owner;
	__u16 filename, qualname, first_line, lines;
	__u16 text_length, text_state, ascii, compact;
	__u16 bytes_length, bytes;
	__u16 frame_bytes, code_bytes;
	/* The global lock: its state is in the runtime, or each interpreter has a pointer to one. See gil.h. */
	__u32 gil;
	__u16 gil_bytes, gil_locked, gil_holder;
	__u16 native_id; /* in a thread: its tid; 0: it is not there */
	__u8 ends, minor;
	__u16 copy, copies; /* 0: there are none */
	__u8 text_kind;
	__u8 gil_in_interpreter;
	__u8 by_shim; /* each instruction is a function: see callpython.h */
	/* What awaits a task: see taskpython.h. */
	__u8 suspended, suspended_states; /* the first state of a coroutine that awaits, and how many there are */
	__u8 awaited; /* bytes before the end of its values: what it awaits */
	__u16 type; /* in an object */
	__u16 stack_top; /* in a frame */
	__u16 coroutine_frame, coroutine_state;
	__u16 set_used, set_entries, set_mask;
	/* In a thread, and in a task, as the file with the module _asyncio says. */
	__u16 task_coroutine, task_name, awaited_by, is_task, is_set;
	__u32 running_task;
	__u8 is_ruby; /* ruby.h has other structures, and the members of the same names */
	__u8 pad[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python);
} pythons SEC(".maps");

/* What the last search for a thread's state has found. Programs on other CPUs may write it at the same time: the state is checked. */
struct python_thread {
	__u64 process; /* seed of its stacks */
	__u64 newest;  /* interpreter of the process */
	__u64 state;   /* 0: it has none */
	__u64 searched; /* when */
	__u32 steps;	/* of that search */
	__u32 pad;
	__u32 tid;
	__u32 several; /* there is more than one interpreter: the thread may have a state in each */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* Where the runtime of a process is, by the lowest bits of its pid. Programs on other CPUs may write it at the same time: check shows that. */
struct python_process {
	__u64 check; /* python_check() */
	__u64 runtime;
	__u32 file; /* number of the interpreter's file */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_process);
} python_processes SEC(".maps");

const volatile __u32 python_pid; /* the only process whose frames are taken; 0: of all */
const volatile bool python_named; /* only of processes whose name matches python_name */
const volatile char python_name[GLOB_LEN];

struct {
	__u64 stacks, frames, searches, codes;
	__u64 ns;
} python_counts;

#if defined(__TARGET_ARCH_x86)

/*
 * Notes that the walk is at a frame, and in the code of an interpreter. Returns the mark of an address in its loop. Without a branch, for the verifier.
 */
static __always_inline __u64 note_python(struct unwind_walk *w, __u64 address, __u32 index)
{
	const struct unwind_mapping *m = mapping_of(w);
	__u32 number = m->table.python - 1;
	__u64 offset = address + m->to_offset, inside = 0;
	const struct python *p;

	w->sps[bounded(index, TABLE_FRAMES + 1)] = w->sp;
	w->python_tasks |= m->table.python_tasks;
	if (!m->table.python)
		return 0;
	p = bpf_map_lookup_elem(&pythons, &number);
	if (!p)
		return 0;
	w->python = m->table.python;
	w->python_from = -m->to_offset;
	w->depends_on_more = 1;
#pragma unroll
	for (int i = 0; i < PYTHON_LOOPS; i++)
		inside |= (offset - p->loops_end[i]) & ~(offset - p->loops_begin[i]);
	w->in_python_loop |= inside >> 63;
	return inside >> 63 << PYTHON_LOOP_SHIFT;
}

__noinline bool python_name_matches(__u64 lo, __u64 hi)
{
	return python_enabled && match_glob(python_name, lo, hi);
}

static __always_inline bool is_python_selected(struct task_struct *task)
{
	__u64 name[2] = {};

	if (python_pid && (__u32)task->tgid != python_pid)
		return false;
	if (!python_named)
		return true;
	bpf_probe_read_kernel(name, sizeof(name), task->group_leader->comm);
	return python_name_matches(name[0], name[1]);
}

/* bpf_loop() only takes a pointer to the program's stack. What changes is in the map, so that the verifier does not follow it. */
struct python_context {
	struct python_stack *st;
};

static __always_inline const struct python *python_of(struct python_stack *st)
{
	__u32 file = st->file;

	return bpf_map_lookup_elem(&pythons, &file);
}

/* blockedpython.h */
static __always_inline bool read_listed_python(struct python_context *ctx, void *to, __u32 size, const __u32 limit, __u64 at);
static __always_inline bool list_python_code(struct python_context *ctx, const struct python *p, __u64 id);

/*
 * is_other is a constant: only sleepable programs may read the memory of another thread. So is limit, a power of two that a size that is no
 * constant is less than, or else 0: the verifier forgets what it knew of the size before.
 */
static __always_inline bool read_python(struct python_context *ctx, const bool is_other, void *to, __u32 size, const __u32 limit, __u64 at)
{
	if (is_other)
		return read_listed_python(ctx, to, size, limit, at);
	return !bpf_probe_read_user(to, size, (void *)at);
}

static __always_inline bool read_python_word(struct python_context *ctx, const bool is_other, __u64 *to, __u64 at)
{
	return read_python(ctx, is_other, to, sizeof(*to), 0, at);
}

/* The innermost frame of the thread's state; 0: none. */
static __always_inline __u64 python_innermost(struct python_context *ctx, const bool is_other, const struct python *p, __u64 thread)
{
	__u64 at = 0, frame = 0;

	if (!read_python_word(ctx, is_other, &at, thread + p->frame))
		return 0;
	ctx->st->thread = thread;
	if (p->current < 0 || !at)
		return at;
	return read_python_word(ctx, is_other, &frame, at + (__u64)p->current) ? frame : 0;
}

/* The innermost frame of a state that may be the thread's; 0: it is not, or has none. */
static __always_inline __u64 frame_of_state(struct python_context *ctx, const bool is_other, const struct python *p, __u64 state)
{
	__u64 id = 0;

	if (!state || !read_python_word(ctx, is_other, &id, state + p->thread_id) || id != ctx->st->self)
		return 0;
	return python_innermost(ctx, is_other, p, state);
}

/* Interpreters are listed the newest first, so that of several states with frames the first one is the running one. */
static __always_inline long next_python_thread(__u32 i, struct python_context *ctx, const bool is_other)
{
	struct python_stack *st = ctx->st;
	const struct python *p;
	__u64 at, id = 0;

	if (!st)
		return 1;
	st->steps = i + 1;
	p = python_of(st);
	if (!p)
		return 1;
	if (!st->thread) {
		at = st->interpreter;
		if (!at || !read_python_word(ctx, is_other, &st->thread, at + p->threads) ||
		    !read_python_word(ctx, is_other, &st->interpreter, at + p->next_interpreter))
			return 1;
		st->several |= st->interpreter != 0;
		return 0;
	}
	if (!read_python_word(ctx, is_other, &id, st->thread + p->thread_id))
		return 1;
	st->frame = id == st->self ? python_innermost(ctx, is_other, p, st->thread) : 0;
	if (st->frame)
		return 1;
	return !read_python_word(ctx, is_other, &st->thread, st->thread + p->next_thread);
}

static long python_next_thread(__u32 i, struct python_context *ctx)
{
	return next_python_thread(i, ctx, false);
}

static __always_inline void search_thread(struct python_context *ctx, struct python_thread *known)
{
	struct python_stack *st = ctx->st;
	__u64 newest = st->interpreter;

	st->thread = st->frame = 0;
	st->steps = 0;
	if (st->interpreter)
		bpf_loop(PYTHON_SEARCH, python_next_thread, ctx, 0);
	known->process = st->seed;
	known->tid = st->tid;
	known->newest = newest;
	known->state = st->frame ? st->thread : 0;
	known->several = st->several;
	known->searched = bpf_ktime_get_ns();
	known->steps = st->steps;
	if (unwind_counted)
		__sync_fetch_and_add(&python_counts.searches, 1);
}

static __always_inline bool is_same_thread(const struct python_thread *known, const struct python_stack *st)
{
	return known->tid == st->tid && known->process == st->seed && known->newest == st->interpreter;
}

/* Finds the innermost frame of the running thread. */
static __always_inline void start_python(struct python_context *ctx, const struct python *p, bool in_loop)
{
	struct python_stack *st = ctx->st;
	__u32 slot = st->tid & (PYTHON_THREADS - 1);
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &slot);

	st->frame = 0;
	st->several = 0;
	if (!known || !read_python_word(ctx, false, &st->interpreter, st->runtime + p->interpreters))
		return;
	if (!is_same_thread(known, st) || (known->several && known->state)) {
		search_thread(ctx, known);
		return;
	}
	st->frame = frame_of_state(ctx, false, p, known->state);
	if (!st->frame && bpf_ktime_get_ns() - known->searched >= (__u64)known->steps * (in_loop ? PYTHON_PATIENCE_IN_LOOP : PYTHON_PATIENCE))
		search_thread(ctx, known);
}

/* Finds what is to be copied of a str, less than limit bytes. */
static __always_inline void find_python_text(struct python_context *ctx, const bool is_other, const struct python *p, __u64 str, __u32 limit)
{
	struct python_text *t = &ctx->st->part;
	__u64 length = 0, bytes;
	__u32 state = 0;

	t->bytes = 0;
	t->kind = 0;
	if (!str || !read_python_word(ctx, is_other, &length, str + p->text_length) ||
	    !read_python(ctx, is_other, &state, sizeof(state), 0, str + p->text_state))
		return;
	state >>= p->text_kind & 31;
	t->kind = (state & 7) | (state >> 1 & 8); /* enum rec_code_text */
	if (!(state & 1 << 3) || length > 1 << 20)
		return;
	bytes = length * (t->kind & 7);
	t->bytes = bytes < limit ? bytes : limit - 1;
	t->at = str + (t->kind & CODE_ASCII ? p->ascii : p->compact);
}

/* A word of the code object. */
static __always_inline __u64 code_word(struct python_stack *st, __u16 at)
{
	return *(volatile __u64 *)&st->code[bounded(at, PYTHON_CODE_BYTES) & ~7];
}

/*
 * Copies the text that was found behind what is there. Returns its length, less than limit, a power of two. What was found is read again, so that
 * the verifier does not follow it.
 */
static __always_inline __u32 copy_python_text(struct python_context *ctx, const bool is_other, __u32 at, const __u32 limit)
{
	struct python_text *t = &ctx->st->part;
	__u32 length = bounded(*(volatile __u32 *)&t->bytes, limit);

	if (!read_python(ctx, is_other, ctx->st->text + at, length, limit, *(volatile __u64 *)&t->at))
		t->bytes = 0;
	return bounded(*(volatile __u32 *)&t->bytes, limit);
}

/* Makes the definition of the name of a task. */
static __always_inline __u32 define_task_name(struct python_stack *st)
{
	struct rec_code *def = (struct rec_code *)st->def;

	def->first_line = 0;
	def->name_kind = st->part.kind;
	def->name_bytes = bounded(*(volatile __u32 *)&st->part.bytes, PYTHON_TASK_NAME);
	def->file_kind = def->file_bytes = 0;
	return bounded(def->name_bytes, PYTHON_TASK_NAME);
}

/* Makes the definition of the code object in st->code. Returns its bytes of text. */
static __always_inline __u32 define_python_code(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	struct rec_code *def = (struct rec_code *)st->def;
	struct python_text *t = &st->part;
	__u64 count = 0;
	__u32 at;

	def->pid = st->pid;
	def->minor = p->minor;
	if (st->is_name)
		return define_task_name(st);
	def->first_line = code_word(st, p->first_line) >> (p->first_line & 4) * 8;

	find_python_text(ctx, is_other, p, code_word(st, p->qualname), PYTHON_NAME);
	def->name_kind = t->kind;
	at = copy_python_text(ctx, is_other, 0, PYTHON_NAME);
	def->name_bytes = at;

	find_python_text(ctx, is_other, p, code_word(st, p->filename), PYTHON_FILE);
	def->file_kind = t->kind;
	def->file_bytes = copy_python_text(ctx, is_other, at, PYTHON_FILE);
	at += bounded(def->file_bytes, PYTHON_FILE);

	t->at = code_word(st, p->lines);
	read_python_word(ctx, is_other, &count, t->at + p->bytes_length);
	t->bytes = count < PYTHON_LINES ? count : PYTHON_LINES - 1;
	t->at += p->bytes;
	return at + copy_python_text(ctx, is_other, at, PYTHON_LINES);
}

/* Writes the definition in st->def and the text behind it. False: no room. */
static __always_inline bool submit_python_code(struct python_stack *st, __u32 size)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct rec_code *rec = claim_here(cpu, size), *def;

	if (!rec) {
		count_loss(cpu, REC_CODE);
		return false;
	}
	def = (struct rec_code *)st->def;
	fill_header(&def->hdr, REC_CODE, 0, cpu, st->tid);
	bpf_probe_read_kernel(rec, size, def);
	submit(rec, size);
	if (unwind_counted)
		__sync_fetch_and_add(&python_counts.codes, 1);
	return true;
}

/* Writes the definition of the code object in st->code. False: no room. A global function is verified once. */
__noinline bool write_python_code(struct python_stack *st)
{
	struct python_context ctx = {.st = st};
	const struct python *p;

	if (!python_enabled || !st)
		return false;
	p = python_of(st);
	return p && submit_python_code(st, sizeof(struct rec_code) + define_python_code(&ctx, false, p));
}

/* Whether the code object in st->code has its definition, under an id. */
static __always_inline bool is_python_defined(struct python_context *ctx, const bool is_other, const struct python *p, __u64 id)
{
	struct stack_mark mark;

	((struct rec_code *)ctx->st->def)->id = id;
	if (is_other)
		return list_python_code(ctx, p, id);
	mark = stack_mark_of(id << 1);
	if (!mark.at)
		return false;
	if (*mark.at == mark.value)
		return true;
	if (!write_python_code(ctx->st))
		return false;
	*mark.at = mark.value;
	return true;
}

/* Where the instructions of the code object in st->code are that a frame executes: its own, or a copy of them that its thread has. */
static __always_inline __u64 python_instructions(struct python_context *ctx, const bool is_other, const struct python *p, __u64 code, __u64 copy)
{
	__u64 copies, at;

	if (!copy)
		return code + p->instructions;
	copies = code_word(ctx->st, p->copies) + sizeof(__u64); /* after their number */
	return read_python_word(ctx, is_other, &at, copies + copy * sizeof(__u64)) ? at : 0;
}

#define PYTHON_SHIM -1ULL

/*
 * The id of a code object: its hash, under which it is defined if it was not in this generation. 0: it has none. PYTHON_SHIM: it is code that the
 * interpreter has made for itself, which has one string for all names (_Py_MakeShimCode() in CPython).
 */
static __always_inline __u64 read_python_code(struct python_context *ctx, const bool is_other, const struct python *p, __u64 code)
{
	struct python_stack *st = ctx->st;
	__u64 id, filename, qualname;

	if (!code || !read_python(ctx, is_other, st->code, bounded(p->code_bytes, PYTHON_CODE_BYTES), PYTHON_CODE_BYTES, code))
		return 0;
	filename = code_word(st, p->filename);
	qualname = code_word(st, p->qualname);
	if (filename == qualname)
		return PYTHON_SHIM;
	st->is_name = 0;
	id = mix64(st->seed ^ mix_fast(code) ^ filename);
	id = mix64(id ^ qualname);
	id = mix64(id ^ code_word(st, p->lines));
	id = mix64(id ^ code_word(st, p->first_line)) >> PYTHON_CODE_SHIFT | 1;
	return is_python_defined(ctx, is_other, p, id) ? id : 0;
}

/*
 * What a frame in st->bytes has is read again where it is needed: on Linux 6.1 the stack of the program has no room for it beside that of its
 * callers.
 */
static __always_inline __u64 frame_word(struct python_stack *st, __u16 at)
{
	return *(volatile __u64 *)&st->bytes[bounded(at, PYTHON_FRAME_BYTES) & ~7];
}

static __always_inline __u8 frame_owner(struct python_stack *st, const struct python *p)
{
	return *(volatile __u8 *)&st->bytes[bounded(p->owner, PYTHON_FRAME_BYTES)];
}

/* Since 3.14 the lowest bits say who owns the reference. */
static __always_inline __u64 frame_code(struct python_stack *st, const struct python *p)
{
	return frame_word(st, p->code) & ~7ULL;
}

/* The number of the copy of its code that the frame executes; 0: none. */
static __always_inline __u32 frame_copy(struct python_stack *st, const struct python *p)
{
	return p->copies ? frame_word(st, p->copy) >> (p->copy & 4) * 8 : 0;
}

static __always_inline struct python_known *known_python(struct python_stack *st, __u64 code)
{
	return &st->known[bounded(code >> 4 ^ code >> 10, PYTHON_KNOWN)];
}

/* The same for the frame in st->bytes, from what the walk has met, unless the object itself is needed. */
static __always_inline __u64 python_code(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	struct python_known *known;
	__u64 code = frame_code(st, p), id;

	if (is_other) { /* the stack of the program has no room for more */
		id = read_python_code(ctx, is_other, p, code);
		barrier_var(id);
		return id;
	}
	known = known_python(st, code);
	if (frame_copy(st, p) || known->key != (code ^ st->walks * MIX_A)) {
		id = read_python_code(ctx, is_other, p, code);
		code = frame_code(st, p);
		known = known_python(st, code);
		*(volatile __u64 *)&known->id = id;
		known->key = code ^ st->walks * MIX_A;
	}
	return *(volatile __u64 *)&known->id; /* the verifier does not follow it */
}

/* The word of the frame in st->bytes without PYTHON_ENDS; 0: it is none of Python's. */
static __always_inline __u64 python_word(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	__u64 id, at;

	id = python_code(ctx, is_other, p);
	if (!id)
		return PYTHON_FRAME;
	if (id == PYTHON_SHIM)
		return 0;
	at = frame_word(st, p->instruction);
	if (p->instructions)
		at = (__s64)(at - python_instructions(ctx, is_other, p, frame_code(st, p), frame_copy(st, p))) >> 1;
	else
		at = (__s64)(__s32)at;
	if ((__s64)at < 0)
		at = PYTHON_BEFORE;
	else if (at >= PYTHON_FAR)
		at = PYTHON_FAR;
	return id << PYTHON_CODE_SHIFT | PYTHON_FRAME | at;
}

static __always_inline void add_python(struct python_stack *st, __u64 word)
{
	__u32 count = *(volatile __u32 *)&st->count;

	st->words[bounded(count, PYTHON_WORDS)] = word;
	st->hash = (st->hash ^ mix_fast(word)) * MIX_B;
	*(volatile __u32 *)&st->count = count + 1;
}

/* The frame before was the outermost that its call of the loop executes; without one the call has none. */
static __always_inline void end_python_run(struct python_stack *st)
{
	__u32 last = *(volatile __u32 *)&st->count - 1;
	__u64 *word = &st->words[bounded(last, PYTHON_WORDS)];

	if (last >= PYTHON_FRAMES || *word & PYTHON_ENDS) {
		add_python(st, PYTHON_ENDS);
		return;
	}
	*word |= PYTHON_ENDS;
	st->hash = (st->hash ^ MIX_A) * MIX_B; /* no other word has this hash */
}

/* The frame may be the one that ends a call of the loop. */
static __always_inline void note_frame(struct python_stack *st)
{
	st->shims[bounded(*(volatile __u32 *)&st->calls, PYTHON_CALLS)] = st->frame;
}

/* The last one was. */
static __always_inline void note_shim(struct python_stack *st)
{
	__u32 call = *(volatile __u32 *)&st->calls;

	*(volatile __u32 *)&st->calls = call + (call < PYTHON_CALLS - 1);
}

#include "taskpython.h"

static __always_inline long step_python(struct python_context *ctx, const bool is_other)
{
	struct python_stack *st = ctx->st;
	const struct python *p;
	__u64 word;

	if (!st || *(volatile __u32 *)&st->count >= PYTHON_FRAMES)
		return 1;
	p = python_of(st);
	if (!p)
		return 1;
	if (st->awaits) {
		step_task(ctx, is_other, p);
		return 0;
	}
	st->ended = PYTHON_WHOLE;
	if (!st->frame)
		return 1;
	st->ended = PYTHON_UNREADABLE;
	if (!read_python(ctx, is_other, st->bytes, bounded(p->frame_bytes, PYTHON_FRAME_BYTES), PYTHON_FRAME_BYTES, st->frame))
		return 1;
	st->ended = PYTHON_DEEPER;
	note_frame(st);
	st->awaits = st->frame == st->task_frame;
	st->frame = frame_word(st, p->previous);
	if (p->ends == PYTHON_ENDS_BEFORE_SHIM && frame_owner(st, p) >= PYTHON_OWNED_BY_C) {
		end_python_run(st);
		if (p->by_shim)
			note_shim(st);
		return 0;
	}
	word = python_word(ctx, is_other, p);
	if (p->ends == PYTHON_ENDS_ALWAYS || (p->ends == PYTHON_ENDS_AT_ENTRY && frame_owner(st, p)))
		word |= PYTHON_ENDS;
	if (word)
		add_python(st, word);
	return 0;
}

static long python_step(__u32 i, struct python_context *ctx)
{
	return step_python(ctx, false);
}

/* Prepares a walk over the frames of a thread, whose native stack was walked. */
static __always_inline const struct python *begin_python(struct python_stack *st, const struct unwind_walk *w, struct task_struct *task)
{
	const struct python *p;

	st->file = w->python - 1;
	p = python_of(st);
	if (!p)
		return NULL;
	st->count = 0;
	st->hash = 0;
	st->walks++;
	st->calls = 0;
	st->tasks_of = w->python_tasks;
	st->task_frame = 0;
	st->awaits = 0;
	st->seed = user_seed(task);
	st->pid = task->tgid;
	st->tid = task->pid;
	st->self = task->thread.fsbase;
	st->runtime = w->python_from + p->runtime;
	return p;
}

/* enum rec_python_end of the walk. */
static __always_inline __u8 python_end(const struct python_stack *st)
{
	if (!*(volatile __u32 *)&st->count)
		return PYTHON_NONE;
	return st->several ? PYTHON_DEEPER : st->ended;
}

static __always_inline __u64 python_check(__u64 seed, __u64 runtime, __u32 file)
{
	return mix64(seed ^ mix_fast(runtime) ^ file) | 1;
}

static __always_inline void remember_runtime(const struct python_stack *st)
{
	__u32 slot = st->pid & (PYTHON_PROCESSES - 1);
	__u64 check = python_check(st->seed, st->runtime, st->file);
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &slot);

	if (!process || process->check == check)
		return;
	process->runtime = st->runtime;
	process->file = st->file;
	process->check = check;
}

/* The interpreter of a process; NULL: none is known. */
static __always_inline const struct python *python_in(struct task_struct *task, __u64 *runtime, __u32 *file)
{
	__u32 slot = task->tgid & (PYTHON_PROCESSES - 1);
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &slot);

	if (!process)
		return NULL;
	*runtime = process->runtime;
	*file = process->file;
	if (process->check != python_check(user_seed(task), *runtime, *file))
		return NULL;
	return bpf_map_lookup_elem(&pythons, file);
}

/* A walk that has ended early may not have met the interpreter: it has the one that other walks in its process have met. */
static __always_inline void recall_python(struct unwind_walk *w, struct task_struct *task)
{
	const struct python *p;
	__u64 runtime = 0;
	__u32 file = 0;

	if (w->python || w->ended == END_ROOT)
		return;
	p = python_in(task, &runtime, &file);
	if (!p)
		return;
	w->python = file + 1;
	w->python_from = runtime - p->runtime;
	w->depends_on_more = 1;
}

#include "callpython.h"

/* Takes Python's frames of the running thread, whose user stack is in the scratch buffer. */
__noinline int walk_python(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct python_context ctx = {};
	const struct python *p;
	__u64 begin = 0;

	if (!python_enabled || !s)
		return 0;
	recall_python(&s->walk, task);
	if (!s->walk.python || !is_python_selected(task))
		return 0;
	ctx.st = python_stack_at(s->level);
	if (!ctx.st)
		return 0;
	if (unwind_counted)
		begin = bpf_ktime_get_ns();
	p = begin_python(ctx.st, &s->walk, task);
	if (!p || p->is_ruby)
		return 0;
	remember_runtime(ctx.st);
	start_python(&ctx, p, s->walk.in_python_loop);
	if (ctx.st->frame) {
		find_task(&ctx, false, p);
		bpf_loop(PYTHON_STEPS, python_step, &ctx, 0);
	}
	/* One that was called from another interpreter has its callers there. */
	if (ctx.st->several && ctx.st->thread) {
		read_python_word(&ctx, false, &ctx.st->thread, ctx.st->thread + p->next_thread);
		ctx.st->task_frame = 0;
		bpf_loop(PYTHON_SEARCH, python_next_thread, &ctx, 0);
		if (ctx.st->frame)
			bpf_loop(PYTHON_STEPS, python_step, &ctx, 0);
	}
	s->python = python_end(ctx.st);
	mark_calls(s, ctx.st);
	if (unwind_counted) {
		__sync_fetch_and_add(&python_counts.stacks, 1);
		__sync_fetch_and_add(&python_counts.frames, *(volatile __u32 *)&ctx.st->count);
		__sync_fetch_and_add(&python_counts.ns, bpf_ktime_get_ns() - begin);
	}
	return 0;
}

#endif
#endif
