// SPDX-License-Identifier: Apache-2.0
//go:build ignore

/*
 * The code that the recorder puts into a process of Python to trace the calls of its functions. It is one piece of position-independent code
 * without libraries and relocations: what it calls of the interpreter and where fields of its structures are stands in config, which the
 * recorder fills in while the process is stopped.
 *
 * Everything runs with the interpreter's global lock held, and nothing here lets go of it while a hook works, so there are no locks.
 *
 * A call costs two readings of a counter, a look-up of its thread and of its code object, and 32 bytes.
 */

#include "common.h"
#include "shared.h"
#include "filter.h"

#define METH_FASTCALL 0x80
#define TRACE_CALL 0
#define TRACE_RETURN 3
#define LEFT_OUT 0xffffffff /* for an id: calls of this code are not recorded */
#define LOOK_EVERY 4096 /* calls while the window is closed between two looks at the clock */

enum { IDLE, ACTIVE, RETIRING };

struct method {
	const char *name;
	void *function;
	int flags;
	const char *doc;
};

struct known {
	u64 code;
	u32 id;
	u32 pad;
};

#define EVENTS 6

__attribute__((section(".config,\"aw\",@nobits#"))) struct config config;

static int state;
static u64 last_thread; /* the id of the thread that called last, and its place */
static struct thread *last;
static u64 head_thread, head_id; /* the newest thread that has the hook */
static u32 closed_calls;
static u32 known_count;  /* definitions */
static u32 known_places; /* taken in known */
static struct method methods[4];
static void *callbacks[4];
static u64 disable; /* sys.monitoring.DISABLE */
static int has_disabled;
static int tool;
static struct known known[KNOWN_SIZE];

static u64 now(void)
{
	return monotonic(config.clock_gettime);
}

static inline u64 ticks(void)
{
	return config.has_tsc ? tsc() : now();
}

static inline struct control *shared(void)
{
	return (struct control *)config.shared;
}

/* A child of fork(2) has the mapping too, and must not write to it: the page of alive reads as zeros there. */
static inline int is_alive(void)
{
	return *(volatile u64 *)config.alive;
}

static void copy(u8 *to, u64 from, u64 n)
{
	for (u64 i = 0; i < n; i++)
		to[i] = ((u8 *)from)[i];
}

/* The characters of a str, cut at a limit; of kind 0: it is none that is known. */
static struct part characters(u64 str)
{
	struct part p = {0, 0, 0, 0, 0};
	u64 n;
	u32 bits, kind;

	if (!str)
		return p;
	bits = *(u32 *)(str + config.text_state) >> config.text_kind;
	kind = bits & 7;
	if (!(bits & 8) || (kind != 1 && kind != 2 && kind != 4)) /* not compact */
		return p;
	n = word(str + config.text_length);
	p.characters = (u8 *)(str + (bits & 16 ? config.text_ascii : config.text_compact));
	p.kind = kind;
	p.to = n < TEXT_BYTES / kind ? n : TEXT_BYTES / kind;
	return p;
}

/* Appends a str to a definition. */
static u32 add_text(struct text *text, u8 *to, u64 str)
{
	struct part p = characters(str);

	text->kind = p.kind;
	text->bytes = p.to * p.kind;
	copy(to, (u64)p.characters, text->bytes);
	return text->bytes;
}

static int is_left_out(u64 code)
{
	struct part p;

	if (!*config.globs)
		return 0;
	p = characters(word(code + config.code_file));
	cut_to_module(&p);
	return !is_wanted(config.globs, &p);
}

/* Defines a code object; 0: there is no room for its definition. */
static u32 define(u64 code)
{
	struct control *c = shared();
	u64 at = c->definition_bytes;
	struct definition *d;
	u32 n;

	if (known_count >= MAX_KNOWN || at + sizeof(*d) + 2 * TEXT_BYTES + 8 > DEFINITION_BYTES)
		return 0;
	d = (struct definition *)((u8 *)c + DEFINITIONS_AT + at);
	d->line = *(u32 *)(code + config.code_line);
	n = add_text(&d->name, d->characters, word(code + config.code_name));
	n += add_text(&d->file, d->characters + n, word(code + config.code_file));
	__atomic_store_n(&c->definition_bytes, at + ((sizeof(*d) + n + 7) & ~7ul), __ATOMIC_RELEASE);
	return ++known_count;
}

/* Keeps what a code object is. Its address must not become another one's. */
static u32 know(struct known *k, u64 code)
{
	u32 id = is_left_out(code) ? LEFT_OUT : 0;

	if (known_places >= MAX_KNOWN)
		return id;
	if (!id)
		id = define(code);
	if (id) {
		((void (*)(u64))config.incref)(code);
		known_places++;
		k->id = id;
		k->code = code;
	}
	return id;
}

static u32 id_of(u64 code)
{
	u64 i = (code >> 4) * 0x9e3779b97f4a7c15ul >> (64 - KNOWN_SHIFT);

	for (u32 tries = 0; tries < 64; tries++, i = (i + 1) & (KNOWN_SIZE - 1)) {
		if (known[i].code == code)
			return known[i].id;
		if (!known[i].code)
			return know(&known[i], code);
	}
	return is_left_out(code) ? LEFT_OUT : 0;
}

static struct thread *place(u32 i)
{
	return (struct thread *)((u8 *)shared() + THREADS_AT + (u64)i * THREAD_BYTES);
}

/* A place is free again when its thread has ended and the recorder has read what it wrote. */
static int is_free(struct thread *t, long pid)
{
	return t->head == __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) && syscall3(SYS_tgkill, pid, t->tid, 0) == -ESRCH;
}

static struct thread *take_place(u64 id)
{
	struct control *c = shared();
	struct thread *t = 0;
	u32 i = c->threads, places = __atomic_load_n(&c->places, __ATOMIC_ACQUIRE);

	if (i < places) {
		t = place(i);
	} else {
		long pid = syscall3(SYS_getpid, 0, 0, 0);

		for (i = 0; i < places && !is_free(place(i), pid); i++)
			;
		if (i == places)
			return 0;
		t = place(i);
	}
	t->id = id;
	t->depth = 0;
	t->dropped = c->lost != 0; /* it may be in calls for which it had no place */
	/* The recorder reads the tid when it finds a record of it. */
	t->tid = syscall3(SYS_gettid, 0, 0, 0);
	if (i == c->threads)
		__atomic_store_n(&c->threads, i + 1, __ATOMIC_RELEASE);
	return t;
}

static struct thread *thread(void)
{
	u64 id = word(((u64 (*)(void))config.thread_get)() + config.thread_id);
	struct control *c = shared();
	u32 n = c->threads;

	if (id == last_thread && last)
		return last;
	last_thread = id;
	for (u32 i = 0; i < n; i++) {
		if (place(i)->id == id)
			return last = place(i);
	}
	last = take_place(id);
	if (!last)
		c->lost++;
	return last;
}

static void write_record(struct thread *t, u64 start, u64 end, u64 self, u32 code)
{
	struct record *r;

	if (t->head - __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) >= RECORDS) {
		t->lost++;
		return;
	}
	r = &t->records[t->head % RECORDS];
	r->start = start;
	r->end = end;
	r->self = self;
	r->code = code;
	r->cpu = config.has_rdpid ? cpu_by_rdpid() : cpu();
	__atomic_store_n(&t->head, t->head + 1, __ATOMIC_RELEASE);
}

/* False: calls of this code are left out. */
static inline int enter(u64 code, u64 at)
{
	u32 id = id_of(code);
	struct thread *t;
	struct call *call;

	if (id == LEFT_OUT)
		return 0;
	t = thread();
	if (!t)
		return 1;
	if (t->depth < MAX_DEPTH) {
		call = &t->calls[t->depth];
		call->object = code;
		call->code = id;
		call->start = at;
		call->below = 0;
	}
	t->depth++;
	return 1;
}

/* Drops calls whose ends the hook has not seen, above that of a function. False: there is none of it. */
static int find_call(struct thread *t, u64 object)
{
	u32 depth = t->depth;

	while (depth && t->calls[depth - 1].object != object)
		depth--;
	if (!depth)
		return 0;
	t->lost += t->depth - depth;
	t->dropped += t->depth - depth;
	t->depth = depth;
	return 1;
}

/* Ends the innermost call. */
static inline void end_call(struct thread *t, u64 at)
{
	struct call *call = &t->calls[--t->depth];
	u64 lasted = at - call->start;

	if (lasted < config.min) {
		t->left_out++;
		return;
	}
	if (t->depth)
		t->calls[t->depth - 1].below += lasted;
	write_record(t, call->start, at, lasted > call->below ? lasted - call->below : 0, call->code);
}

/* Ends a call that is not the innermost one, or is too deep. False: calls of this code are left out. */
static __attribute__((noinline)) int leave_other(struct thread *t, u64 code, u64 at)
{
	u32 id = id_of(code);

	if (id == LEFT_OUT)
		return 0;
	if (t->depth > MAX_DEPTH) {
		t->depth--;
		t->lost++;
	} else if (find_call(t, code)) {
		end_call(t, at);
	} else if (!t->dropped) { /* it began before the tracing; else its call was dropped, and is counted */
		write_record(t, 0, at, 0, id);
	}
	return 1;
}

/* False: calls of this code are left out. */
static inline int leave(u64 code, u64 at)
{
	struct thread *t = thread();

	if (!t)
		return 1;
	if (!t->depth || t->depth > MAX_DEPTH || t->calls[t->depth - 1].object != code)
		return leave_other(t, code, at);
	end_call(t, at);
	return 1;
}

static void drop_codes(void)
{
	for (u32 i = 0; i < KNOWN_SIZE; i++) {
		u64 code = known[i].code;

		known[i].code = 0;
		if (code)
			((void (*)(u64))config.decref)(code);
	}
	known_count = known_places = 0;
}

static u64 main_threads(void)
{
	return word(config.interpreter + config.threads);
}

/* Sets the thread's flag that a hook is there, as PyEval_SetProfile() does. */
static void set_tracing(u64 t, int is)
{
	u64 flags = config.minor < 10 ? t : word(t + config.cframe);

	if (!flags) /* it is being made */
		return;
	if (config.minor == 11)
		*(u8 *)(flags + config.use_tracing) = is && !*(u32 *)(t + config.tracing) ? 255 : 0;
	else
		*(u32 *)(flags + config.use_tracing) = is && !*(u32 *)(t + config.tracing);
}

static int hook(u64 object, u64 frame, int what, u64 value);

static void set_hooks(void)
{
	for (u64 t = main_threads(); t; t = word(t + config.next_thread)) {
		if (word(t + config.profile))
			continue;
		*(u64 *)(t + config.profile) = (u64)hook;
		set_tracing(t, 1);
	}
	head_thread = main_threads();
	head_id = word(head_thread + config.thread_id);
}

static void clear_hooks(void)
{
	for (u64 t = main_threads(); t; t = word(t + config.next_thread)) {
		if (word(t + config.profile) != (u64)hook)
			continue;
		*(u64 *)(t + config.profile) = 0;
		set_tracing(t, word(t + config.trace) != 0);
	}
}

static int has_profiler(void)
{
	for (u64 t = main_threads(); t; t = word(t + config.next_thread)) {
		if (word(t + config.profile) && word(t + config.profile) != (u64)hook)
			return 1;
	}
	return 0;
}

/* What follows calls Python's sys.monitoring: functions in C that run no code of Python. */

static u64 attribute(u64 object, const char *name)
{
	return object ? ((u64 (*)(u64, const char *))config.get_attribute)(object, name) : 0;
}

static void release(u64 object)
{
	if (object)
		((void (*)(u64))config.decref)(object);
}

/* Calls a function of sys.monitoring; false: it has raised an exception, which is dropped. */
static int monitoring(const char *name, const char *format, long a, long b, void *c)
{
	u64 function = attribute(((u64 (*)(const char *))config.sys_get)("monitoring"), name), result = 0;

	if (function)
		result = ((u64 (*)(u64, const char *, ...))config.call)(function, format, a, b, c);
	release(function);
	if (!result)
		((void (*)(void))config.clear_error)();
	release(result);
	return result != 0;
}

static long event_bit(const char *name)
{
	u64 events = attribute(((u64 (*)(const char *))config.sys_get)("monitoring"), "events"), number = attribute(events, name);
	long bit = number ? ((long (*)(u64))config.as_long)(number) : 0;

	if (!number)
		((void (*)(void))config.clear_error)();
	release(number);
	release(events);
	return bit;
}

static u64 begin_callback(u64 self, u64 *args, long n);
static u64 throw_callback(u64 self, u64 *args, long n);
static u64 end_callback(u64 self, u64 *args, long n);
static u64 unwind_callback(u64 self, u64 *args, long n);

/* The callbacks are made once: one that is being called must stay after its tool has let go of it. */
static int make_callbacks(void)
{
	void *functions[] = {begin_callback, throw_callback, end_callback, unwind_callback};

	for (u32 i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		methods[i].name = "call";
		methods[i].function = functions[i];
		methods[i].flags = METH_FASTCALL;
		if (!callbacks[i])
			callbacks[i] = ((void *(*)(void *, u64, u64))config.new_function)(&methods[i], 0, 0);
		if (!callbacks[i]) {
			((void (*)(void))config.clear_error)();
			return 0;
		}
	}
	return 1;
}

/* For each of these events: its bit, and which callback takes it. A loop over an array of pointers would need relocations. */
static int each_event(int (*does)(const char *name, int callback))
{
	return does("PY_START", 0) && does("PY_RESUME", 0) && does("PY_THROW", 1) && does("PY_RETURN", 2) && does("PY_YIELD", 2) && does("PY_UNWIND", 3);
}

static long event_mask;

static int register_event(const char *name, int callback)
{
	long bit = event_bit(name);

	event_mask |= bit;
	return bit && monitoring("register_callback", "llO", tool, bit, callbacks[callback]);
}

static int unregister_event(const char *name, int callback)
{
	monitoring("register_callback", "llO", tool, event_bit(name), (void *)config.none);
	return 1;
}

static void clear_monitoring(void)
{
	monitoring("set_events", "ll", tool, 0, 0);
	each_event(unregister_event);
	if (has_disabled) /* else a later recording would lack what this one has left out */
		monitoring("restart_events", "", 0, 0, 0);
	has_disabled = 0;
	monitoring("free_tool_id", "l", tool, 0, 0);
}

/* Tools 3 and 4 have no meaning of their own: debuggers, profilers and coverage have others. */
static int set_monitoring(void)
{
	if (!make_callbacks())
		return 0;
	for (tool = 4; tool >= 3; tool--) {
		if (monitoring("use_tool_id", "ls", tool, (long)"wprof", 0))
			break;
	}
	if (tool < 3)
		return 0;
	if (!disable)
		disable = attribute(((u64 (*)(const char *))config.sys_get)("monitoring"), "DISABLE");
	if (!disable)
		((void (*)(void))config.clear_error)();
	event_mask = 0;
	if (each_event(register_event) && monitoring("set_events", "ll", tool, event_mask, 0))
		return 1;
	clear_monitoring();
	return 0;
}

/*
 * Removes everything but this code. Whatever runs meanwhile finds that there is nothing to do. Once it says so, another recorder may configure
 * the agent anew, also before this thread has unmapped the old memory.
 */
static void retire(void)
{
	u64 memory = config.shared, alive = config.alive, bytes = config.shared_bytes;
	int is_child = !is_alive(), was = state;

	state = RETIRING;
	if (was == ACTIVE && config.minor >= 12)
		clear_monitoring();
	else if (was == ACTIVE)
		clear_hooks();
	drop_codes();
	last = 0;
	last_thread = 0;
	config.shared = config.alive = 0;
	state = IDLE;
	__atomic_store_n(&config.in_use, 0, __ATOMIC_RELEASE);
	if (!is_child) { /* which does not have it, and may have something else there */
		__atomic_store_n(&((struct control *)memory)->state, STATE_RETIRED, __ATOMIC_RELEASE);
		syscall3(SYS_munmap, memory, bytes, 0);
	}
	syscall3(SYS_munmap, alive, PAGE, 0);
}

/* When the TSC says that there was no heartbeat for long, the clock decides: while the machine is suspended, only one of them goes on. */
static __attribute__((noinline)) int is_orphaned(u64 *at)
{
	int is = (s64)(now() - shared()->heartbeat) > ORPHANED_NS;

	*at = ticks();
	return is;
}

/* Whether calls are recorded now. It retires where there is nobody to record them for. */
static inline int is_open(u64 *at)
{
	struct control *c;

	if (state != ACTIVE)
		return 0;
	if (!is_alive()) {
		retire();
		return 0;
	}
	c = shared();
	switch (__atomic_load_n(&c->command, __ATOMIC_ACQUIRE)) {
	case COMMAND_OPEN:
		break;
	case COMMAND_RETIRE:
		retire();
		return 0;
	default:
		if (++closed_calls % LOOK_EVERY)
			return 0;
	}
	*at = ticks();
	if (*at - c->beat + config.orphaned > 2 * config.orphaned && is_orphaned(at)) {
		retire();
		return 0;
	}
	return c->command == COMMAND_OPEN;
}

static int hook(u64 object, u64 frame, int what, u64 value)
{
	u64 at, newest, code;

	if (what != TRACE_CALL && what != TRACE_RETURN)
		return 0;
	if (!is_open(&at))
		return 0;
	newest = main_threads();
	if (newest != head_thread || word(newest + config.thread_id) != head_id)
		set_hooks();
	code = word((config.minor == 11 ? word(frame + config.frame) : frame) + config.frame_code);
	if (what == TRACE_CALL)
		enter(code, at);
	else
		leave(code, at);
	return 0;
}

/* Where calls of this code are left out, the interpreter need not call here again at this instruction. */
static __attribute__((noinline)) u64 disabled(void)
{
	if (!disable)
		return config.none;
	has_disabled = 1;
	((void (*)(u64))config.incref)(disable);
	return disable;
}

static u64 begin_callback(u64 self, u64 *args, long n)
{
	u64 at;

	return n <= 0 || !is_open(&at) || enter(args[0], at) ? config.none : disabled();
}

/* Exceptions that are thrown into a generator, and those that leave a function, are no instructions. */
static u64 throw_callback(u64 self, u64 *args, long n)
{
	u64 at;

	if (n > 0 && is_open(&at))
		enter(args[0], at);
	return config.none;
}

static u64 end_callback(u64 self, u64 *args, long n)
{
	u64 at;

	return n <= 0 || !is_open(&at) || leave(args[0], at) ? config.none : disabled();
}

static u64 unwind_callback(u64 self, u64 *args, long n)
{
	u64 at;

	if (n > 0 && is_open(&at))
		leave(args[0], at);
	return config.none;
}

/*
 * The pending call. It never fails: what Python makes of a failed one is an exception in the program. If the recorder has given up on it, or has
 * ended, it has expired.
 */
__attribute__((section(".start"))) int start(void *unused)
{
	int can;

	if (state == ACTIVE && !is_alive()) /* in a child of fork(2) that is traced by an agent of its own */
		retire();
	if (state != IDLE || !config.shared)
		return 0;
	if (!is_alive() || now() > config.deadline) {
		retire();
		return 0;
	}
	if (config.minor >= 12) {
		can = set_monitoring();
	} else {
		can = !has_profiler();
		if (can)
			set_hooks();
	}
	if (!can) {
		shared()->refused = config.minor >= 12 ? REFUSED_BY_MONITORING : REFUSED_BY_PROFILER;
		retire();
		return 0;
	}
	state = ACTIVE;
	__atomic_store_n(&shared()->state, STATE_ACTIVE, __ATOMIC_RELEASE);
	return 0;
}
