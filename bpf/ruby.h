/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walks the frames of Ruby's virtual machine, after the user stack of a thread that has code of it. The words of frames and the definitions are as
 * those of Python, and so is what user space does with them: see python.h. Here the word of a frame has its line, and the id of a definition is even.
 *
 * The thread's execution context is a thread-local variable of the shared library, so that no list of threads is searched: the C library has an array of
 * where each module's variables are, and the interpreter's file says where the module's number and the variable's offset are.
 *
 * Frames lie in one array, the innermost first. A frame that a call of the loop began with has a flag. Functions in C have frames, too, which are left
 * out: they stand in the native stack.
 */
#ifndef WPROF_RUBY_H
#define WPROF_RUBY_H

#if defined(__TARGET_ARCH_x86)

#define RUBY_MODULES (1 << 20) /* bounds the number of a module */
#define RUBY_VM_WORDS (1 << 27) /* and the words of the virtual machine's stack */
#define RUBY_FINISHES 0x20 /* flags of a frame: the call of the loop began with it */
#define RUBY_IN_C 0x80
#define RUBY_KIND 0x7fff0001
#define RUBY_DUMMY 0x79990001 /* the outermost frame of a thread */
#define RUBY_TYPE 0x1f /* in the flags of an object */
#define RUBY_STRING 5
#define RUBY_ARRAY 7
#define RUBY_FLAG (1 << 13) /* of a string: its bytes are elsewhere; of an array: its elements are here */
#define RUBY_LONG_STRINGS 2 /* the first release whose strings have their length before their bytes */
#define RUBY_NEAR 54 /* instructions in the first part of an index of lines, 9 for each word */
#define RUBY_NEAR_BYTES 48
#define RUBY_BLOCK 512 /* in each block of the other part */
#define RUBY_BLOCK_BYTES 80

const volatile __u32 ruby_pid; /* as python_pid and so on */
const volatile bool ruby_named;
const volatile char ruby_name[GLOB_LEN];

__noinline bool ruby_name_matches(__u64 lo, __u64 hi)
{
	return python_enabled && match_glob(ruby_name, lo, hi);
}

static __always_inline bool is_ruby_selected(struct task_struct *task)
{
	__u64 name[2] = {};

	if (ruby_pid && (__u32)task->tgid != ruby_pid)
		return false;
	if (!ruby_named)
		return true;
	bpf_probe_read_kernel(name, sizeof(name), task->group_leader->comm);
	return ruby_name_matches(name[0], name[1]);
}

/* A word of the process's memory; 0: it is not there. */
static __always_inline __u64 ruby_word_at(__u64 at)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)at);
	return word;
}

/* Finds the frames of the running thread: from st->frame to st->thread. */
static __always_inline void start_ruby(struct python_stack *st)
{
	__u64 module = ruby_word_at(st->runtime), context, begin, words;

	st->frame = st->thread = 0;
	st->several = 0;
	if (!module || module >= RUBY_MODULES)
		return;
	context = ruby_word_at(ruby_word_at(st->self + sizeof(__u64)) + module * 2 * sizeof(__u64));
	context = ruby_word_at(context + ruby_word_at(st->runtime + sizeof(__u64)));
	if (!context)
		return;
	begin = ruby_word_at(context);
	words = ruby_word_at(context + sizeof(__u64));
	if (!begin || words > RUBY_VM_WORDS)
		return;
	st->thread = begin + words * sizeof(__u64);
	st->frame = ruby_word_at(context + 2 * sizeof(__u64));
	if (st->frame < begin)
		st->frame = 0;
}

/* Copies a string behind what is there. Returns its length, less than limit. */
static __always_inline __u32 copy_ruby_text(struct python_context *ctx, const struct python *p, __u64 object, __u32 at, const __u32 limit)
{
	struct python_text *t = &ctx->st->part;
	__u64 flags = ruby_word_at(object), length;

	t->bytes = 0;
	if ((flags & RUBY_TYPE) == RUBY_ARRAY) {
		object = ruby_word_at(flags & RUBY_FLAG ? object + 16 : ruby_word_at(object + 32));
		flags = ruby_word_at(object);
	}
	if ((flags & RUBY_TYPE) != RUBY_STRING)
		return 0;
	if (p->minor >= RUBY_LONG_STRINGS) {
		length = ruby_word_at(object + 16);
		t->at = object + 24;
	} else {
		length = flags & RUBY_FLAG ? ruby_word_at(object + 16) : flags >> 14 & 0x1f;
		t->at = object + 16;
	}
	if (flags & RUBY_FLAG)
		t->at = ruby_word_at(object + 24);
	t->bytes = length < limit ? length : limit - 1;
	return copy_python_text(ctx, false, at, limit);
}

/* Writes the definition of the code whose body is in st->code. False: no room. */
__noinline bool write_ruby_code(struct python_stack *st)
{
	struct python_context ctx = {.st = st};
	const struct python *p;
	struct rec_code *def;
	__u64 line;
	__u32 at;

	if (!python_enabled || !st)
		return false;
	p = python_of(st);
	if (!p)
		return false;
	def = (struct rec_code *)st->def;
	line = code_word(st, p->first_line);
	def->pid = st->pid;
	def->minor = p->minor;
	def->first_line = p->minor >= RUBY_LONG_STRINGS ? line : line >> 1;
	def->name_kind = def->file_kind = 0;
	at = copy_ruby_text(&ctx, p, code_word(st, p->qualname), 0, PYTHON_NAME);
	def->name_bytes = at;
	def->file_bytes = copy_ruby_text(&ctx, p, code_word(st, p->filename), at, PYTHON_FILE);
	return submit_python_code(st, sizeof(*def) + at + bounded(*(volatile __u16 *)&def->file_bytes, PYTHON_FILE));
}

/* The id of the code whose body is in st->code, of the iseq of a frame, under which it is defined; 0: it is not. */
static __always_inline __u64 ruby_code(struct python_stack *st, const struct python *p, __u64 iseq)
{
	struct stack_mark mark;
	__u64 id = mix64(st->seed ^ mix_fast(iseq) ^ code_word(st, p->filename));

	id = mix64(id ^ code_word(st, p->qualname));
	id = mix64(id ^ code_word(st, p->first_line)) >> PYTHON_CODE_SHIFT & ~1ULL;
	if (!id)
		id = 2;
	mark = stack_mark_of(id << 1);
	if (!mark.at)
		return 0;
	if (*mark.at == mark.value)
		return id;
	((struct rec_code *)st->def)->id = id;
	if (!write_ruby_code(st))
		return 0;
	*mark.at = mark.value;
	return id;
}

static __always_inline __u32 count_bits(__u64 v)
{
	v -= v >> 1 & 0x5555555555555555;
	v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
	return ((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}

/* How many entries of a table of lines are of instructions up to one. */
static __always_inline __u32 ruby_rank(__u64 index, __u32 at)
{
	__u64 block, bits, ranks;
	__u32 rank, part;

	if (at < RUBY_NEAR)
		return ruby_word_at(index + at / 9 * sizeof(__u64)) >> at % 9 * 7 & 0x7f;
	at -= RUBY_NEAR;
	block = index + RUBY_NEAR_BYTES + at / RUBY_BLOCK * RUBY_BLOCK_BYTES;
	at %= RUBY_BLOCK;
	part = at / 64;
	rank = ruby_word_at(block);
	ranks = ruby_word_at(block + 8);
	if (part)
		rank += ranks >> (part - 1) * 9 & 0x1ff;
	bits = ruby_word_at(block + 16 + part * sizeof(__u64));
	return rank + count_bits(bits << (63 - at % 64));
}

/* The line of an instruction of the code whose body is in st->code; 0: it is not known. */
static __always_inline __u32 ruby_line(struct python_stack *st, const struct python *p, __u64 pc)
{
	__u64 entries = code_word(st, p->lines), at = (pc - code_word(st, 8)) >> 3;
	__u32 count = code_word(st, p->lines + 16), rank, size = code_word(st, 0) >> 32;

	if (at > size || !count)
		return 0;
	if (at)
		at--; /* it points to the next instruction */
	rank = count == 1 ? 1 : ruby_rank(code_word(st, p->lines + 24), at);
	if (!rank || rank > count)
		return 0;
	return ruby_word_at(entries + (rank - 1) * (__u64)p->bytes);
}

/* The word of the frame in st->bytes without PYTHON_ENDS. */
static __always_inline __u64 ruby_word(struct python_stack *st, const struct python *p)
{
	__u64 iseq = frame_word(st, 16), id = 0;
	__u32 line = 0;

	if (!bpf_probe_read_user(st->code, bounded(p->code_bytes, PYTHON_CODE_BYTES), (void *)ruby_word_at(iseq + 16))) {
		line = ruby_line(st, p, frame_word(st, 0));
		id = ruby_code(st, p, iseq);
	}
	if (!id)
		id = 2; /* of no definition */
	return id << PYTHON_CODE_SHIFT | PYTHON_FRAME | (line < PYTHON_FAR ? line : PYTHON_FAR);
}

static long ruby_step(__u32 i, struct python_context *ctx)
{
	struct python_stack *st = ctx->st;
	const struct python *p;
	__u64 flags;

	if (!st || *(volatile __u32 *)&st->count >= PYTHON_FRAMES)
		return 1;
	p = python_of(st);
	if (!p)
		return 1;
	st->ended = PYTHON_WHOLE;
	if (st->frame >= st->thread)
		return 1;
	st->ended = PYTHON_UNREADABLE;
	if (bpf_probe_read_user(st->bytes, bounded(p->frame_bytes, PYTHON_FRAME_BYTES), (void *)st->frame) ||
	    bpf_probe_read_user(&flags, sizeof(flags), (void *)frame_word(st, 32)))
		return 1;
	st->ended = PYTHON_DEEPER;
	st->frame += p->frame_bytes;
	if (flags & RUBY_IN_C || (flags & RUBY_KIND) == RUBY_DUMMY || !frame_word(st, 0) || !frame_word(st, 16))
		return 0;
	add_python(st, ruby_word(st, p) | (flags & RUBY_FINISHES ? PYTHON_ENDS : 0));
	return 0;
}

/* Takes Ruby's frames of the running thread, whose user stack is in the scratch buffer. */
__noinline int walk_ruby(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct python_context ctx = {};
	const struct python *p;
	__u64 begin = 0;
	__u32 file;

	if (!python_enabled || !s || !s->walk.python)
		return 0;
	file = s->walk.python - 1;
	p = bpf_map_lookup_elem(&pythons, &file);
	if (!p || !p->is_ruby || !is_ruby_selected(task))
		return 0;
	ctx.st = python_stack_at(s->level);
	if (!ctx.st)
		return 0;
	if (unwind_counted)
		begin = bpf_ktime_get_ns();
	if (!begin_python(ctx.st, &s->walk, task))
		return 0;
	start_ruby(ctx.st);
	if (ctx.st->frame)
		bpf_loop(2 * PYTHON_FRAMES, ruby_step, &ctx, 0);
	s->python = python_end(ctx.st);
	if (unwind_counted) {
		__sync_fetch_and_add(&python_counts.stacks, 1);
		__sync_fetch_and_add(&python_counts.frames, *(volatile __u32 *)&ctx.st->count);
		__sync_fetch_and_add(&python_counts.ns, bpf_ktime_get_ns() - begin);
	}
	return 0;
}

#endif
#endif
