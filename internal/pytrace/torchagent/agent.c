// SPDX-License-Identifier: Apache-2.0
//go:build ignore

/*
 * The code that the recorder puts into a process to record PyTorch's operators: a pair of global callbacks of at::RecordFunction. As the agent
 * for calls of Python, it is one piece without libraries and relocations, and knows addresses and offsets from config.
 *
 * Callbacks run in any thread, with and without the interpreter's lock. Each thread has a place of its own in the shared memory, which it takes
 * once, and is the only one that writes there. The registration and its end are pending calls of the interpreter, which run with its lock
 * held: so os.fork() never copies PyTorch's list of callbacks, or the lock of that, in the middle of a change.
 *
 * PyTorch may call the end of an operator long after the callbacks were removed, because an operator that has begun keeps them. So this
 * code stays mapped for ever, with the page own. The shared memory is unmapped when no thread is in a callback: those that come
 * later find another state before they look at it.
 *
 * A child of fork(2) has no shared memory. Its copy of the callbacks does nothing, but stays: at the moment of a fork by C code another thread may have
 * had PyTorch's lock, which nobody in the child would release.
 */

#include "../agent/common.h"
#include "shared.h"

#define LOOK_EVERY 4096 /* operators while the window is closed between two looks at the clock */
#define SEARCH_EVERY 8 /* operators without a place between two searches for one */
#define YIELDS 1000
#define ALWAYS 0x3ff0000000000000ul /* the double 1.0 */
#define SCOPES 10
#define SCOPE_BACKWARD 1
#define TAG_TENSOR 1
#define MAX_INPUTS 16
#define INLINE_DIMENSIONS 5

enum agent_state { IDLE, ACTIVE, RETIRING };

/* at::RecordFunctionCallback, which is passed on the stack. */
struct callback {
	void *start, *end;
	u64 probability;
	u8 scopes[SCOPES];
	u8 needs_inputs, needs_outputs, needs_ids;
};

/* c10::IValue. */
struct value {
	u64 payload;
	u32 tag;
	u32 pad;
};

_Static_assert(sizeof(struct callback) == 40, "a callback is not as PyTorch takes it");

__attribute__((section(".config,\"aw\",@nobits#"))) struct config config;

static u64 handle; /* of the registered callbacks; 0: there are none */
static u32 closed_operators, without_place;

static u64 now(void)
{
	return monotonic(config.clock_gettime);
}

static inline struct control *shared(void)
{
	return (struct control *)config.shared;
}

static inline struct own *own(void)
{
	return (struct own *)config.own;
}

static inline int is_alive(void)
{
	return __atomic_load_n(&own()->alive, __ATOMIC_RELAXED) != 0;
}

static void leave(void)
{
	__atomic_fetch_sub(&own()->inside, 1, __ATOMIC_SEQ_CST);
}

/* From here to leave the shared memory stays. False: there is none. */
static int enter(void)
{
	__atomic_fetch_add(&own()->inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&config.state, __ATOMIC_SEQ_CST) == ACTIVE && is_alive())
		return 1;
	leave();
	return 0;
}

static struct thread *place(u64 i)
{
	return (struct thread *)((u8 *)shared() + THREADS_AT + i % config.places * THREAD_BYTES);
}

static int take(struct thread *t, u64 owner, u64 id)
{
	if (!__atomic_compare_exchange_n(&t->id, &owner, id, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	t->depth = t->dropped = 0;
	/* The recorder reads the tid when it finds a record of it. */
	t->tid = syscall3(SYS_gettid, 0, 0, 0);
	return 1;
}

/* A place is free again when its thread has ended and the recorder has read what it wrote. */
static int is_free(struct thread *t, long pid)
{
	return __atomic_load_n(&t->head, __ATOMIC_ACQUIRE) == __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) &&
	       syscall3(SYS_tgkill, pid, t->tid, 0) == -ESRCH;
}

static struct thread *take_left(u64 id)
{
	long pid = syscall3(SYS_getpid, 0, 0, 0);

	for (u64 i = 0; i < config.places; i++) {
		u64 owner = __atomic_load_n(&place(i)->id, __ATOMIC_ACQUIRE);

		if (is_free(place(i), pid) && take(place(i), owner, id))
			return place(i);
	}
	return 0;
}

static struct thread *thread(void)
{
	u64 id = ((u64 (*)(void))config.thread_id)();
	struct thread *t;

	for (u64 i = 0; i < config.places; i++) {
		u64 owner;

		t = place(id + i);
		owner = __atomic_load_n(&t->id, __ATOMIC_ACQUIRE);
		if (owner == id || (!owner && take(t, 0, id)))
			return t;
	}
	t = __atomic_fetch_add(&without_place, 1, __ATOMIC_RELAXED) % SEARCH_EVERY ? 0 : take_left(id);
	if (!t)
		__atomic_fetch_add(&shared()->lost, 1, __ATOMIC_RELAXED);
	return t;
}

static void copy_words(u64 *to, const u64 *from, u32 bytes)
{
	for (u32 i = 0; i < (bytes + 7) / 8; i++)
		to[i] = from[i];
}

static void copy_record(struct record *to, const struct record *from)
{
	copy_words((u64 *)to, (const u64 *)from, (u64)&from->name - (u64)from);
	copy_words((u64 *)to->name, (const u64 *)from->name, from->name_bytes);
	copy_words((u64 *)to->shapes, (const u64 *)from->shapes, 4 * from->shape_words);
}

static void set_name(struct record *r, u64 function)
{
	const char *name = ((const char *(*)(u64))config.name)(function);
	u8 n = 0;

	for (; name && n < NAME_BYTES && name[n]; n++)
		r->name[n] = name[n];
	r->name_bytes = n;
}

/* Adds the sizes of a tensor that has plain ones. Those of others are made by virtual functions, which may call Python. */
static int add_shape(struct record *r, u64 tensor)
{
	u64 at = tensor + config.sizes, n = word(at), dimensions = at + 8;

	if (*(u16 *)(tensor + config.size_policy) & config.policy_mask)
		return 1;
	if (n + 1 > (u64)SHAPE_WORDS - r->shape_words)
		return 0;
	if (n > INLINE_DIMENSIONS)
		dimensions = word(dimensions);
	r->shapes[r->shape_words++] = n;
	for (u64 i = 0; i < n; i++) {
		u64 size = word(dimensions + 8 * i);

		r->shapes[r->shape_words++] = size < ~0u ? size : ~0u;
	}
	return 1;
}

static void set_shapes(struct record *r, u64 function)
{
	struct value *v = (struct value *)word(function + config.inputs);
	u64 n = word(function + config.inputs + 8);

	if (!v)
		return;
	for (u64 i = 0; i < n && i < MAX_INPUTS; i++) {
		if (v[i].tag == TAG_TENSOR && v[i].payload && !add_shape(r, v[i].payload))
			return;
	}
}

static void set_record(struct record *r, u64 function, u64 at)
{
	r->start = at;
	r->sequence = word(function + config.sequence);
	r->forward = word(function + config.forward);
	r->scope = *(u8 *)(function + config.scope);
	r->shape_words = 0;
	set_name(r, function);
	if (config.shapes)
		set_shapes(r, function);
}

static int retire(void *unused);

/* Has the interpreter retire this code. Where its queue is full, another operator will try. */
static void ask_to_retire(void)
{
	u64 was = ACTIVE;

	if (!__atomic_compare_exchange_n(&config.state, &was, RETIRING, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	if (((int (*)(void *, void *))config.add_pending)(retire, 0))
		__atomic_store_n(&config.state, ACTIVE, __ATOMIC_SEQ_CST);
}

/* Whether operators are recorded now. */
static int is_open(u64 *at)
{
	struct control *c = shared();

	switch (__atomic_load_n(&c->command, __ATOMIC_ACQUIRE)) {
	case COMMAND_OPEN:
		break;
	case COMMAND_RETIRE:
		ask_to_retire();
		return 0;
	default:
		if (__atomic_fetch_add(&closed_operators, 1, __ATOMIC_RELAXED) % LOOK_EVERY)
			return 0;
	}
	*at = now();
	if ((s64)(*at - __atomic_load_n(&c->heartbeat, __ATOMIC_RELAXED)) > ORPHANED_NS) {
		ask_to_retire();
		return 0;
	}
	return __atomic_load_n(&c->command, __ATOMIC_RELAXED) == COMMAND_OPEN;
}

static void begin(u64 function)
{
	struct thread *t;
	struct call *call;
	u64 at;

	if (!is_open(&at))
		return;
	t = thread();
	if (!t)
		return;
	/* Operators that end in other threads stay until one below them ends. */
	if (t->depth >= MAX_DEPTH) {
		t->lost += t->depth;
		t->dropped += t->depth;
		t->depth = 0;
	}
	call = &t->calls[t->depth];
	call->function = function;
	call->below = 0;
	set_record(&call->record, function, at);
	__atomic_store_n(&t->depth, t->depth + 1, __ATOMIC_RELEASE);
}

/*
 * What PyTorch says of a forward function is the number that the next node of the graph will have. Only those that made it
 * have a backward function.
 */
static void check_sequence(struct record *r)
{
	if (r->scope != SCOPE_BACKWARD && r->sequence >= 0 && r->sequence >= (s64)((u64 (*)(void))config.peek)())
		r->sequence = -1;
}

static void write_record(struct thread *t, const struct record *from, u64 end, u64 self)
{
	struct record *r = &t->records[t->head % RECORDS];

	if (t->head - __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) >= RECORDS) {
		t->lost++;
		return;
	}
	copy_record(r, from);
	r->end = end;
	r->self = self;
	r->cpu = cpu();
	check_sequence(r);
	__atomic_store_n(&t->head, t->head + 1, __ATOMIC_RELEASE);
}

/* Drops operators that have not ended in this thread, above a given one. False: it did not begin here in the window. */
static int find_call(struct thread *t, u64 function)
{
	u32 depth = t->depth;

	while (depth && t->calls[depth - 1].function != function)
		depth--;
	if (!depth)
		return 0;
	t->lost += t->depth - depth;
	t->depth = depth;
	return 1;
}

/* Of an operator whose beginning was not recorded: the window was closed then, unless it is one that was dropped. */
static void finish_unknown(struct thread *t, u64 function, u64 at)
{
	struct record r;

	if (((u8 (*)(u64))config.is_async)(function))
		return;
	if (t->dropped) {
		t->dropped--;
		return;
	}
	set_record(&r, function, 0);
	write_record(t, &r, at, 0);
}

static void finish(u64 function)
{
	struct thread *t;
	struct call *call;
	u64 at, lasted;

	if (!is_open(&at))
		return;
	t = thread();
	if (!t)
		return;
	if (!find_call(t, function)) {
		finish_unknown(t, function, at);
		return;
	}
	call = &t->calls[t->depth - 1];
	lasted = at - call->record.start;
	if (t->depth > 1)
		t->calls[t->depth - 2].below += lasted;
	write_record(t, &call->record, at, lasted > call->below ? lasted - call->below : 0);
	__atomic_store_n(&t->depth, t->depth - 1, __ATOMIC_RELEASE);
}

/* Returns an empty std::unique_ptr, whose place the caller passes. */
static void **begin_callback(void **context, u64 function)
{
	*context = 0;
	if (enter()) {
		begin(function);
		leave();
	}
	return context;
}

static void end_callback(u64 function, void *context)
{
	if (enter()) {
		finish(function);
		leave();
	}
}

static void register_callbacks(void)
{
	struct callback c = {begin_callback, end_callback, ALWAYS, {0}, config.shapes != 0, 0, 0};

	for (int i = 0; i < SCOPES; i++)
		c.scopes[i] = 1;
	handle = ((u64 (*)(struct callback))config.add_callback)(c);
}

/* Another recorder may configure this code from here on, and write other addresses. */
static void end_use(void)
{
	__atomic_store_n(&config.state, IDLE, __ATOMIC_SEQ_CST);
	__atomic_store_n(&config.in_use, 0, __ATOMIC_RELEASE);
}

static void end_recording(int unmap)
{
	struct control *c = shared();
	u64 bytes = config.shared_bytes;

	end_use();
	__atomic_store_n(&c->state, STATE_RETIRED, __ATOMIC_RELEASE);
	if (unmap)
		syscall3(SYS_munmap, (long)c, bytes, 0);
}

static int is_inside(void)
{
	return __atomic_load_n(&own()->inside, __ATOMIC_SEQ_CST) != 0;
}

/* A pending call. Callbacks neither block nor wait for the interpreter's lock, so a thread that is in one is out again soon. */
static int retire(void *unused)
{
	if (config.state != RETIRING)
		return 0;
	if (!is_alive()) { /* a child of fork(2) */
		end_use();
		return 0;
	}
	if (handle)
		((void (*)(u64))config.remove_callback)(handle);
	handle = 0;
	for (int i = 0; is_inside() && i < YIELDS; i++)
		syscall3(SYS_sched_yield, 0, 0, 0);
	/* What a thread may still use stays mapped, if the queue is full, too. */
	if (!is_inside() || ((int (*)(void *, void *))config.add_pending)(retire, 0))
		end_recording(!is_inside());
	return 0;
}

/* The pending call that begins. It never fails: what Python makes of a failed one is an exception in the program. */
__attribute__((section(".start"))) int start(void *unused)
{
	if (config.state != IDLE || !config.in_use)
		return 0;
	if (!is_alive()) {
		end_use();
		return 0;
	}
	if (now() > config.deadline) {
		end_recording(1);
		return 0;
	}
	__atomic_store_n(&config.state, ACTIVE, __ATOMIC_SEQ_CST);
	if (!handle)
		register_callbacks();
	__atomic_store_n(&shared()->state, STATE_ACTIVE, __ATOMIC_RELEASE);
	return 0;
}
