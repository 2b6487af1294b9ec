/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Follows the tasks of asyncio that await the one that a thread runs (CPython 3.14 and later).
 *
 * The file with the module _asyncio says where the running task is in a thread's state, and what is where in a task: the interpreter's own, or an
 * extension, which is known as an interpreter is. A task runs in calls of that file, so that stacks without a frame in it cost nothing.
 *
 * When the walk over frames has met the outermost one of the running task, each further step looks at one coroutine, or goes to the next task, until
 * a task has no other one that awaits it; then the walk goes on with those that run. So a task that lies does not make the program's stack longer.
 */
#ifndef WPROF_TASKPYTHON_H
#define WPROF_TASKPYTHON_H

#define PYTHON_TASKS 64
#define PYTHON_COROUTINES 512
#define PYTHON_SET_ENTRIES 1024
#define PYTHON_TAGS 7ULL /* bits of a reference that say who owns it */

/* Reads a word, or a byte, of the process into got; 0: it is not there. */
static __always_inline __u64 task_word(struct python_context *ctx, const bool is_other, __u64 at)
{
	return read_python_word(ctx, is_other, &ctx->st->got, at) ? *(volatile __u64 *)&ctx->st->got : 0;
}

static __always_inline __u8 task_byte(struct python_context *ctx, const bool is_other, __u64 at)
{
	return read_python(ctx, is_other, &ctx->st->got, 1, 0, at) ? *(volatile __u8 *)&ctx->st->got : 0;
}

/* What the file says that has the module. */
static __always_inline const struct python *python_tasks_of(struct python_stack *st)
{
	__u32 file = st->tasks_of - 1;

	return bpf_map_lookup_elem(&pythons, &file);
}

/* Finds the task that the thread runs. What the walk over frames meets shows whether it is one whose coroutine is known. */
static __always_inline void find_task(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	const struct python *t;

	st->task_frame = 0;
	st->awaits = 0;
	if (!st->tasks_of)
		return;
	t = python_tasks_of(st);
	if (!t || !p->coroutine_frame || !read_python_word(ctx, is_other, &st->running, st->thread + t->running_task) || !st->running ||
	    !read_python_word(ctx, is_other, &st->coroutine, st->running + t->task_coroutine) ||
	    !read_python_word(ctx, is_other, &st->coroutine_type, st->coroutine + p->type))
		return;
	st->task = st->marked = st->running;
	st->task_frame = st->coroutine + p->coroutine_frame;
	st->coroutine = st->entries = st->str = 0;
	st->tasks = st->coroutines = 0;
}

/* The coroutine's frame was read. Finds the coroutine that it awaits, which is among the last values on its stack. */
static __always_inline void find_awaited(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;

	if ((__u8)(task_byte(ctx, is_other, st->suspended + p->coroutine_state) - p->suspended) >= p->suspended_states)
		return;
	st->coroutine = task_word(ctx, is_other, st->suspended + p->coroutine_frame + p->stack_top);
	st->coroutine = task_word(ctx, is_other, st->coroutine - p->awaited) & ~PYTHON_TAGS;
}

/* Whether an object is a str: its type is that of the qualified name of the function whose frame was read. */
static __always_inline bool is_str(struct python_context *ctx, const bool is_other, const struct python *p, __u64 at)
{
	struct python_stack *st = ctx->st;

	if (!st->str) {
		st->str = task_word(ctx, is_other, frame_code(st, p) + p->qualname);
		st->str = task_word(ctx, is_other, st->str + p->type);
	}
	return at && st->str && task_word(ctx, is_other, at + p->type) == st->str;
}

#define TEXT_WORD(st, i) (((volatile __u64 *)(st)->text)[i])
#define NAMED_BY_ASYNCIO 0x2d6b736154ULL /* Task- */

/*
 * The id of the task's name; 0: it has none. asyncio itself names tasks by their number, as an int until the program wants the name: such a name
 * says nothing, but would make as many stacks as there are tasks.
 */
static __always_inline __u64 task_name(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	__u64 id;

	if (!is_str(ctx, is_other, p, st->name))
		return 0;
#pragma unroll
	for (int i = 0; i < PYTHON_TASK_NAME / 8; i++)
		TEXT_WORD(st, i) = 0;
	find_python_text(ctx, is_other, p, st->name, PYTHON_TASK_NAME);
	if (!copy_python_text(ctx, is_other, 0, PYTHON_TASK_NAME) ||
	    ((TEXT_WORD(st, 0) & 0xffffffffffULL) == NAMED_BY_ASYNCIO && (__u8)(st->text[5] - '0') < 10))
		return 0;
	id = st->seed;
#pragma unroll
	for (int i = 0; i < PYTHON_TASK_NAME / 8; i++)
		id = mix64(id ^ TEXT_WORD(st, i));
	id = mix64(id ^ st->part.kind) >> PYTHON_CODE_SHIFT | 1;
	st->is_name = 1;
	return is_python_defined(ctx, is_other, p, id) ? id : 0;
}

/* Adds a coroutine of a task that awaits. */
static __always_inline void step_coroutine(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	__u64 word;

	st->suspended = st->coroutine;
	st->coroutine = 0;
	if (st->coroutines++ >= PYTHON_COROUTINES) {
		st->awaits = 0;
		add_python(st, PYTHON_TASK_DEEPER);
		return;
	}
	if (task_word(ctx, is_other, st->suspended + p->type) != st->coroutine_type ||
	    !read_python(ctx, is_other, st->bytes, bounded(p->frame_bytes, PYTHON_FRAME_BYTES), PYTHON_FRAME_BYTES, st->suspended + p->coroutine_frame))
		return;
	if (st->is_new)
		add_python(st, task_name(ctx, is_other, p) << PYTHON_CODE_SHIFT | PYTHON_TASK);
	st->is_new = 0;
	word = python_word(ctx, is_other, p);
	if (word)
		add_python(st, word);
	find_awaited(ctx, is_other, p);
}

/* Goes on with what awaits the last task: a task, or a future. */
static __always_inline void use_awaiting(struct python_context *ctx, const bool is_other, const struct python *t, __u64 at)
{
	struct python_stack *st = ctx->st;

	st->entries = 0;
	if (at == st->running || at == st->marked) {
		st->awaits = 0;
		return;
	}
	if (!(st->tasks & (st->tasks - 1)))
		st->marked = at;
	st->task = at;
	if (!task_byte(ctx, is_other, at + t->is_task))
		return;
	st->is_new = 1;
	st->name = task_word(ctx, is_other, st->task + t->task_name);
	st->coroutine = task_word(ctx, is_other, st->task + t->task_coroutine);
}

/* The task is awaited by those of a set. */
static __always_inline void begin_set(struct python_context *ctx, const bool is_other, const struct python *p, __u64 set)
{
	struct python_stack *st = ctx->st;

	st->entry = task_word(ctx, is_other, set + p->set_entries);
	st->entries = task_word(ctx, is_other, set + p->set_mask) + 1;
	st->also = task_word(ctx, is_other, set + p->set_used);
	if (st->also == 1 && st->entries <= PYTHON_SET_ENTRIES)
		return;
	st->awaits = 0;
	if (st->also)
		add_python(st, st->also > 1 ? PYTHON_TASK_SEVERAL : PYTHON_TASK_DEEPER);
}

/* Looks at an entry of a set that has one: those that were removed have the hash -1. */
static __always_inline void step_set(struct python_context *ctx, const bool is_other, const struct python *t)
{
	struct python_stack *st = ctx->st;

	st->also = task_word(ctx, is_other, st->entry);
	if (st->also && task_word(ctx, is_other, st->entry + sizeof(__u64)) != -1ULL)
		use_awaiting(ctx, is_other, t, st->also);
	else if (!--st->entries)
		st->awaits = 0;
	st->entry += 2 * sizeof(__u64);
}

static __always_inline void step_task(struct python_context *ctx, const bool is_other, const struct python *p)
{
	struct python_stack *st = ctx->st;
	const struct python *t;
	__u64 by;

	if (st->coroutine) {
		step_coroutine(ctx, is_other, p);
		return;
	}
	t = python_tasks_of(st);
	if (t && st->entries) {
		step_set(ctx, is_other, t);
		return;
	}
	by = t ? task_word(ctx, is_other, st->task + t->awaited_by) : 0;
	if (!t || !by) {
		st->awaits = 0;
		return;
	}
	if (++st->tasks > PYTHON_TASKS) {
		st->awaits = 0;
		add_python(st, PYTHON_TASK_DEEPER);
	} else if (task_byte(ctx, is_other, st->task + t->is_set)) {
		begin_set(ctx, is_other, p, by);
	} else {
		use_awaiting(ctx, is_other, t, by);
	}
}

#endif
