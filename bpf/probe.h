/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * User-defined probes (-U). The programs here are patterns: user space makes a copy of one for each place of a probe that reads its values
 * in its own way, puts numbers in the place of probe_number(), and code for what the probe reads in the place of probe_key() and
 * probe_read(): see probecode.go. None is loaded as it is.
 *
 * Values are collected in a scratch buffer, because their length is only known then, and copied to the ring. A span's values of its begin
 * wait for its end in a map. Worst case: 65,536 of them, or 64 MiB, beyond which spans are lost, and counted. User
 * space removes those of threads that have ended.
 */
#ifndef WPROF_PROBE_H
#define WPROF_PROBE_H

#define PROBE_STRING 256 /* bytes of a string, with its 0 */
#define PROBE_VALUES 4096 /* where the last string begins, at most; a power of two */
#define PROBE_COMPARED (PROBE_VALUES + PROBE_STRING) /* where a text is that is only compared, behind all values */

const volatile bool probe_kernel, probe_user; /* stacks */

/* What user space puts in place. */
enum probe_constant {
	PROBE_TYPE,	  /* number of the event type, above TYPE_TRACEPOINT */
	PROBE_ENTRY_TYPE, /* of a begin: that of its event; 0: it has none */
	PROBE_SLOT,	  /* the program's number, in probe_counts and probe_totals */
	PROBE_STATE,	  /* the definition's number, in probe_states */
	PROBE_ONE_OF,	  /* one event of this many is recorded */
	PROBE_PER_WINDOW, /* events in 100 ms on a CPU; 0: no limit */
	PROBE_MIN,	  /* duration of a span, ns */
	PROBE_TAKES_STACK,
	PROBE_COUNTS,	  /* events are counted, not written: enum probe_counts */
	PROBE_TOTAL,	  /* events are counted in probe_totals, and nothing is read of them */
	PROBE_BEGAN_BY,	  /* of a span: where the tid of the thread is that began it, from 1; 0: nowhere */
	PROBE_SHARED,	  /* both ends of a span may be hit at once, as two breakpoints at one variable are: each leaves alone what is the other's */
};

enum probe_counts {
	COUNTS_AMOUNT = 1,   /* and adds what probe_read() has put into the scratch buffer */
	COUNTS_DURATION = 2, /* and the duration of the span */
};

#define PROBE_CONSTANT 0x77505242c0000000ULL /* and the number of the constant */

#define probe_number(which)                                                                  \
	({                                                                                   \
		__u64 number;                                                                \
		asm volatile("%0 = %1 ll" : "=r"(number) : "i"(PROBE_CONSTANT | (which)));   \
		number;                                                                      \
	})

/* An event, and a span that has begun. */
struct probe_event {
	__u64 start;
	__u32 length; /* of values */
	__u32 tid;
	char values[PROBE_COMPARED + PROBE_STRING]; /* as rec_instant.bytes */
};

/* What the two ends of a span have in common. */
struct probe_key {
	__u64 who;   /* a thread, a process, or a goroutine */
	__u64 where; /* the stack pointer at entry, or a value */
	__u64 probe; /* type, PROBE_COUNTED_SPAN, and from bit 33 on the number of the function among those of a glob */
};

#define PROBE_COUNTED_SPAN (1ULL << 32) /* in the key of a span that is counted, not written */

/* What a breakpoint has found in the memory that it watches, and at the hit before. */
struct probe_watched {
	__u64 value;
	__u64 before;
	__u64 known; /* enum probe_known */
};

enum probe_known {
	KNOWN_VALUE = 1,
	KNOWN_BEFORE = 2,
};

struct probe_scratch {
	__u64 taken;
	struct probe_key key;
	__s64 amount; /* that is added up */
	struct probe_event event;
	struct probe_watched watched;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NESTING_LEVELS);
	__type(key, __u32);
	__type(value, struct probe_scratch);
} probe_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct probe_key);
	__uint(value_size, 16);
} probe_spans SEC(".maps");

struct probe_state {
	__u64 seen;
	__u64 began; /* the window of the limit */
	__u64 passed; /* events in it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_state);
} probe_states SEC(".maps");

#define PROBE_BUCKETS 64

/* What was counted of a key; powers of two of the amounts. */
struct probe_count {
	__u64 events;
	__s64 sum;
	__u64 buckets[PROBE_BUCKETS];
};

/*
 * By what events are counted: length and tid of struct probe_event, which are the probe's slot and 0 then, and the values. The key's size is
 * that of the largest one of the recording, and the rest is 0. Worst case: as many keys as there is room for, beyond which events are missing,
 * and counted. The room is taken beforehand: new keys come faster than the kernel can allocate memory in a program.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__uint(key_size, 8);
	__uint(value_size, sizeof(struct probe_count));
} probe_counts SEC(".maps");

/* Events of a probe that counts them without a key, by its slot. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} probe_totals SEC(".maps");

/*
 * A pattern with * and ? as a machine whose states are the characters matched so far, a bit each: next[c] has those from which c leads on,
 * and stays those before which there is a *.
 */
struct probe_glob {
	__u64 stays;
	__u64 matched;
	__u64 next[256];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_glob);
} probe_globs SEC(".maps");

struct watched_key {
	__u32 process; /* 0: the kernel */
	__u32 slot;    /* the program's number */
};

/* What is in the memory that a breakpoint watches since its last hit. User space adds what is in it before the first one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct watched_key);
	__type(value, __u64);
} probe_watched SEC(".maps");

#define WATCHED_KERNEL 0x10 /* and the number of bytes */

/* Reads the memory that a breakpoint watches. */
static __noinline long probe_watch(struct probe_scratch *s, __u64 address, __u32 what, __u32 slot)
{
	struct watched_key key = {.slot = slot};
	__u32 bytes = what & (WATCHED_KERNEL - 1);
	__u64 value = 0, *before;
	long failed;

	s->watched.known = 0;
	if (bytes < 1 || bytes > sizeof(value))
		return 0;
	if (what & WATCHED_KERNEL) {
		failed = bpf_probe_read_kernel(&value, bytes, (void *)address);
	} else {
		key.process = bpf_get_current_pid_tgid() >> 32;
		failed = bpf_probe_read_user(&value, bytes, (void *)address);
	}
	if (failed) {
		bpf_map_delete_elem(&probe_watched, &key);
		return 0;
	}
	s->watched.value = value;
	s->watched.known = KNOWN_VALUE;
	before = bpf_map_lookup_elem(&probe_watched, &key);
	if (!before) {
		bpf_map_update_elem(&probe_watched, &key, &value, BPF_NOEXIST);
		return 0;
	}
	s->watched.before = *before;
	s->watched.known |= KNOWN_BEFORE;
	*before = value;
	return 0;
}

struct probe_match {
	struct probe_scratch *s;
	struct probe_glob *glob;
	__u64 states;
	__u32 at;
};

static long match_character(__u32 i, struct probe_match *m)
{
	__u8 c;

	if (!m->s || !m->glob || i >= PROBE_STRING || m->at > PROBE_COMPARED)
		return 1;
	c = m->s->event.values[m->at + i];
	if (!c)
		return 1;
	m->states = (m->states & m->glob->next[c]) << 1 | (m->states & m->glob->stays);
	return 0;
}

/* Whether the string of some length at a place of the values matches a pattern. The verifier follows a loop for each way that leads to it. */
static __noinline long probe_glob(struct probe_scratch *s, __u32 at, __u32 length, __u32 number)
{
	struct probe_match m = {.s = s, .states = 1, .at = at};

	m.glob = bpf_map_lookup_elem(&probe_globs, &number);
	if (!m.glob)
		return 0;
	bpf_loop(length < PROBE_STRING ? length : PROBE_STRING, match_character, &m, 0);
	return (m.states & m.glob->matched) != 0;
}

/* Sets the key of a span. Replaced: it uses all its arguments, so that the compiler leaves them as they are. */
static __noinline void probe_key(void *ctx, struct probe_scratch *s)
{
	__u64 key = (__u64)ctx;

	barrier_var(key);
	s->key.where = key;
}

/* Appends the values of the event to s->event, from its length on. Returns the length then; negative: a condition does not hold. Replaced. */
static __noinline long probe_read(void *ctx, struct probe_scratch *s)
{
	__u64 length = (__u64)ctx;

	barrier_var(length);
	if (!probe_glob(s, length, length, length) && !probe_watch(s, length, length, length))
		length = 0;
	barrier_var(length);
	return length;
}

static __always_inline struct probe_scratch *get_probe_scratch(void)
{
#pragma unroll
	for (__u32 level = 0; level < NESTING_LEVELS; level++) {
		__u32 key = level;
		struct probe_scratch *s = bpf_map_lookup_elem(&probe_scratch, &key);

		if (s && !__sync_lock_test_and_set(&s->taken, 1))
			return s;
	}
	count_missing(MISSING_FULL, MISSING_PROBE);
	return NULL;
}

static __always_inline void put_probe_scratch(struct probe_scratch *s)
{
	barrier();
	*(volatile __u64 *)&s->taken = 0;
}

#define PROBE_LIMIT_WINDOW 100000000 /* ns */

/* Whether an event is one of those that are recorded. Left out by sample: is not lost; by limit: is counted. */
static __noinline bool probe_passes(__u64 one_of, __u64 per_window, __u32 slot)
{
	struct probe_state *state = bpf_map_lookup_elem(&probe_states, &slot);
	__u64 now;

	if (!state)
		return false;
	if (one_of > 1 && ++state->seen % one_of != 1)
		return false;
	if (!per_window)
		return true;
	now = bpf_ktime_get_ns();
	if (now - state->began >= PROBE_LIMIT_WINDOW) {
		state->began = now;
		state->passed = 0;
	}
	if (state->passed < per_window) {
		state->passed++;
		return true;
	}
	count_missing(MISSING_LIMIT, MISSING_PROBE);
	return false;
}

static __always_inline bool probe_selected(void)
{
	__u64 one_of = probe_number(PROBE_ONE_OF), per_window = probe_number(PROBE_PER_WINDOW);

	return (one_of <= 1 && !per_window) || probe_passes(one_of, per_window, probe_number(PROBE_STATE));
}

/* The length of values, which the verifier has lost sight of. */
static __always_inline __u32 probe_length(struct probe_scratch *s)
{
	__u32 length = *(volatile __u32 *)&s->event.length;

	if (length > PROBE_VALUES + PROBE_STRING)
		length = PROBE_VALUES + PROBE_STRING;
	return length;
}

/* Writes the values as an instant. Returns its time; 0: there was no room. */
static __noinline __u64 write_probe_instant(struct probe_scratch *s, __u32 type)
{
	__u32 length = probe_length(s);
	struct rec_instant *rec = try_reserve_source(REC_INSTANT, bpf_get_current_task_btf()->pid, sizeof(rec->hdr) + sizeof(rec->type) + length);
	__u64 ts;

	if (!rec) {
		count_missing(MISSING_FULL, MISSING_PROBE);
		return 0;
	}
	ts = rec->hdr.ts;
	rec->type = TYPE_TRACEPOINT + type;
	barrier_var(length);
	if (length > PROBE_VALUES + PROBE_STRING)
		length = PROBE_VALUES + PROBE_STRING;
	bpf_probe_read_kernel(rec->bytes, length, s->event.values);
	submit(rec, sizeof(rec->hdr) + sizeof(rec->type) + length);
	return ts;
}

#define PROBE_LEFT 1 /* instead of a time: the span's thread has ended in it */

/*
 * Writes the values as a span; with closed_at as one that is open then, and with PROBE_LEFT as one that will not end. The values at their end
 * are 0.
 */
static __noinline int write_probe_span(struct probe_scratch *s, __u32 type, __u64 closed)
{
	__u32 length = probe_length(s);
	struct rec_tracepoint *rec = try_reserve_source(REC_TYPED, s->event.tid, sizeof(*rec) + length);

	if (!rec) {
		count_missing(MISSING_FULL, MISSING_PROBE);
		return 0;
	}
	if (closed == PROBE_LEFT)
		rec->hdr.flags = REC_SUBJECT | REC_OPEN;
	else if (closed)
		set_open(&rec->hdr, closed);
	rec->start = s->event.start;
	rec->type = TYPE_TRACEPOINT + type;
	rec->length = length;
	barrier_var(length);
	if (length > PROBE_VALUES + PROBE_STRING)
		length = PROBE_VALUES + PROBE_STRING;
	bpf_probe_read_kernel(rec->bytes, length, s->event.values);
	submit(rec, sizeof(*rec) + length);
	return 0;
}

/*
 * Threads can be preempted in programs of uprobes, and the next one would find the scratch buffers taken.
 */
static __always_inline void begin_probe(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void end_probe(void)
{
	if (bpf_preempt_enable)
		bpf_preempt_enable();
}

/* Reads the values of the event; false: it is not recorded. */
static __always_inline bool read_probe_event(void *ctx, struct probe_scratch *s, struct task_struct *task)
{
	long length;

	if (probe_number(PROBE_TAKES_STACK))
		*(__u64 *)s->event.values = *(__u64 *)(s->event.values + 8) = 0;
	length = probe_read(ctx, s);
	if (length < 0 || !probe_selected())
		return false;
	s->event.length = length;
	s->event.tid = task->pid;
	if (probe_number(PROBE_TAKES_STACK) && may_define()) {
		end_probe(); /* global functions cannot be called with preemption off */
		take_stacks(ctx, task, probe_user, probe_kernel, (struct rec_stacks *)s->event.values);
		begin_probe();
	}
	return true;
}

const volatile bool probe_buckets; /* values of probe_counts have them */

static __always_inline __u32 bucket_of(__s64 amount)
{
	__u64 left = amount;
	__u32 bucket = 0;

	if (amount <= 0)
		return 0;
#pragma unroll
	for (__u32 step = 32; step; step >>= 1) {
		if (left >> step) {
			left >>= step;
			bucket += step;
		}
	}
	return (bucket + 1) & (PROBE_BUCKETS - 1);
}

/* Counts the event in the scratch buffer. Each CPU has its own counts, and a program is not interrupted by one that counts the same. */
static __noinline int count_probe(struct probe_scratch *s, __u32 slot)
{
	struct probe_count *c;

	s->event.length = slot;
	s->event.tid = 0;
	c = bpf_map_lookup_elem(&probe_counts, &s->event.length);
	if (!c) {
		static const struct probe_count none;

		bpf_map_update_elem(&probe_counts, &s->event.length, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&probe_counts, &s->event.length);
	}
	if (!c) {
		count_missing(MISSING_TABLE, MISSING_PROBE);
		return 0;
	}
	c->events++;
	c->sum += s->amount;
	if (probe_buckets)
		c->buckets[bucket_of(s->amount)]++;
	return 0;
}

/* Takes the event in the scratch buffer: writes it, or counts it. */
static __always_inline void take_probe_instant(struct probe_scratch *s)
{
	if (probe_number(PROBE_COUNTS))
		count_probe(s, probe_number(PROBE_SLOT));
	else
		write_probe_instant(s, probe_number(PROBE_TYPE));
}

static __always_inline void count_total(void)
{
	__u32 slot = probe_number(PROBE_SLOT);
	__u64 *events = bpf_map_lookup_elem(&probe_totals, &slot);

	if (events)
		*events += 1;
}

static __always_inline int probe_instant(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct probe_scratch *s;

	if (!armed || !passes_filter(task))
		return 0;
	if (probe_number(PROBE_TOTAL)) {
		count_total();
		return 0;
	}
	s = get_probe_scratch();
	if (!s)
		return 0;
	s->event.length = 0;
	if (read_probe_event(ctx, s, task))
		take_probe_instant(s);
	put_probe_scratch(s);
	return 0;
}

static __always_inline void set_probe_key(void *ctx, struct probe_scratch *s, struct task_struct *task)
{
	s->key.who = task->pid;
	s->key.where = 0;
	s->key.probe = probe_number(PROBE_TYPE) | (probe_number(PROBE_COUNTS) ? PROBE_COUNTED_SPAN : 0);
	probe_key(ctx, s);
}

static __always_inline int probe_begin(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 entry = probe_number(PROBE_ENTRY_TYPE), start = 0;
	struct probe_scratch *s;

	if (!armed || !passes_filter_noinline(task))
		return 0;
	s = get_probe_scratch();
	if (!s)
		return 0;
	set_probe_key(ctx, s, task);
	s->event.length = 0;
	if (read_probe_event(ctx, s, task)) {
		if (entry)
			start = write_probe_instant(s, entry);
		s->event.start = start ?: bpf_ktime_get_ns();
		if (bpf_map_update_elem(&probe_spans, &s->key, &s->event, BPF_ANY))
			count_missing(MISSING_TABLE, MISSING_PROBE);
	} else if (!probe_number(PROBE_SHARED)) {
		bpf_map_delete_elem(&probe_spans, &s->key); /* of a call that was left without its return: this one's end is not its end */
	}
	put_probe_scratch(s);
	return 0;
}

const volatile __u32 probe_span_bytes = 16; /* of a value of probe_spans */

/* Copies a span that has begun to the scratch buffer; false: there is none. */
static __always_inline bool find_probe_span(struct probe_scratch *s)
{
	void *begun = bpf_map_lookup_elem(&probe_spans, &s->key);
	__u32 bytes = probe_span_bytes;

	if (!begun || bytes > sizeof(s->event))
		return false;
	bpf_probe_read_kernel(&s->event, bytes, begun);
	return true;
}

/* Ends a span; false: another thread ends it at the same time, or it is too short. */
static __always_inline bool close_probe_span(struct probe_scratch *s, __u64 now)
{
	return !bpf_map_delete_elem(&probe_spans, &s->key) && now - s->event.start >= probe_number(PROBE_MIN);
}

static __always_inline void end_probe_span(void *ctx, struct probe_scratch *s, struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns(), place = probe_number(PROBE_BEGAN_BY);
	long length;

	if (!find_probe_span(s)) {
		s->event.length = 0;
		if (probe_number(PROBE_SHARED))
			probe_read(ctx, s); /* for the value at the next hit */
		return;
	}
	if (!probe_number(PROBE_SHARED) && !close_probe_span(s, now))
		return;
	if (place)
		*(__u32 *)(s->event.values + ((place - 1) & (PROBE_VALUES - 1))) = s->event.tid;
	length = probe_read(ctx, s);
	if (length < 0 || (probe_number(PROBE_SHARED) && !close_probe_span(s, now)))
		return;
	if (probe_number(PROBE_COUNTS)) {
		if (probe_number(PROBE_COUNTS) == COUNTS_DURATION)
			s->amount = now - s->event.start;
		count_probe(s, probe_number(PROBE_SLOT));
		return;
	}
	s->event.length = length;
	s->event.tid = task->pid;
	write_probe_span(s, probe_number(PROBE_TYPE), 0);
}

static __always_inline int probe_end(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct probe_scratch *s;

	if (!armed || !passes_filter_noinline(task))
		return 0;
	s = get_probe_scratch();
	if (!s)
		return 0;
	set_probe_key(ctx, s, task);
	end_probe_span(ctx, s, task);
	put_probe_scratch(s);
	return 0;
}

#define PROBE_PROGRAM(name, section, what)    \
	SEC(section)                          \
	int name(void *ctx)                   \
	{                                     \
		begin_probe();                \
		what(ctx);                    \
		end_probe();                  \
		return PROBE_RESULT;          \
	}

#define PROBE_PROGRAMS(context, section)                                  \
	PROBE_PROGRAM(probe_##context##_instant, section, probe_instant)  \
	PROBE_PROGRAM(probe_##context##_begin, section, probe_begin)      \
	PROBE_PROGRAM(probe_##context##_end, section, probe_end)

#define PROBE_RESULT 0
PROBE_PROGRAMS(registers, "kprobe")
PROBE_PROGRAMS(words, "raw_tracepoint")
PROBE_PROGRAMS(call, "fentry/none")
PROBE_PROGRAMS(hit, "perf_event")
#undef PROBE_RESULT
#define PROBE_RESULT 1 /* other users of the tracepoint, such as perf, have the event too */
PROBE_PROGRAMS(record, "tracepoint")

/* A span that is open at the close of the window. */
static long write_open_probe(struct bpf_map *map, struct probe_key *key, void *begun, void *unused)
{
	struct probe_scratch *s = get_probe_scratch();
	__u32 bytes = probe_span_bytes;

	if (!s)
		return 0;
	if (bytes <= sizeof(s->event)) {
		bpf_probe_read_kernel(&s->event, bytes, begun);
		if (s->event.start < closed_at && !(key->probe & PROBE_COUNTED_SPAN))
			write_probe_span(s, key->probe, closed_at);
	}
	put_probe_scratch(s);
	return 0;
}

SEC("syscall")
int open_probes(void *ctx)
{
	bpf_for_each_map_elem(&probe_spans, write_open_probe, NULL, 0);
	return 0;
}

/* A span whose thread has ended in it, as user space has found: nothing else would remove it. */
struct probe_left {
	struct probe_key key;
	__u64 start; /* another span may have the key by now */
};

SEC("syscall")
int left_probe(struct probe_left *left)
{
	struct probe_scratch *s = get_probe_scratch();

	if (!s)
		return 0;
	s->key.who = left->key.who;
	s->key.where = left->key.where;
	s->key.probe = left->key.probe;
	if (find_probe_span(s) && s->event.start == left->start && !bpf_map_delete_elem(&probe_spans, &s->key) &&
	    !(s->key.probe & PROBE_COUNTED_SPAN))
		write_probe_span(s, s->key.probe, PROBE_LEFT);
	put_probe_scratch(s);
	return 0;
}

/* What user space counted in an interval, which it passes to write_probe_count(). */
struct probe_counted {
	__u64 ts; /* 0: now */
	__u32 type;
	__u32 length;
	char values[PROBE_VALUES];
};

SEC("syscall")
int write_probe_count(struct probe_counted *c)
{
	__u32 length = c->length & (PROBE_VALUES - 1);
	struct rec_instant *rec = try_reserve_source(REC_INSTANT, 0, sizeof(rec->hdr) + sizeof(rec->type) + length);

	if (!rec) {
		count_missing(MISSING_FULL, MISSING_PROBE);
		return 0;
	}
	if (c->ts)
		rec->hdr.ts = c->ts;
	rec->type = TYPE_TRACEPOINT + c->type;
	barrier_var(length);
	length &= PROBE_VALUES - 1;
	bpf_probe_read_kernel(rec->bytes, length, c->values);
	submit(rec, sizeof(rec->hdr) + sizeof(rec->type) + length);
	return 0;
}

#endif
