/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent and the recorder share: internal/pytrace reads and writes these structures by the same offsets. */
#ifndef WPROF_PYTRACE_SHARED_H
#define WPROF_PYTRACE_SHARED_H

#define PAGE 4096
#define MAX_THREADS 64
#define MAX_DEPTH 4096
#define RECORDS (1 << 17) /* of a thread that are not read yet */
#define TEXT_BYTES 512
#define KNOWN_SHIFT 15
#define KNOWN_SIZE (1 << KNOWN_SHIFT)
#define MAX_KNOWN (KNOWN_SIZE / 2)
#define DEFINITIONS_AT PAGE
#define DEFINITION_BYTES ((8 << 20) - PAGE)
#define THREADS_AT (DEFINITIONS_AT + DEFINITION_BYTES)
#define THREAD_BYTES ((4 << 20) + (132 << 10))
#define SHARED_BYTES (THREADS_AT + (u64)MAX_THREADS * THREAD_BYTES)
#define GLOB_CHARACTERS 256 /* of all globs on modules, with the zeros that end them */
#define ORPHANED_NS 5000000000l /* without a heartbeat */

enum { COMMAND_CLOSED, COMMAND_OPEN, COMMAND_RETIRE };
enum { REFUSED_BY_PROFILER = 1, REFUSED_BY_MONITORING };
enum { STATE_NONE, STATE_ACTIVE, STATE_RETIRED };

/* The first page. */
struct control {
	u64 heartbeat; /* of the recorder, CLOCK_MONOTONIC ns */
	u32 command;   /* of the recorder */
	u32 state;
	u32 refused; /* why the agent has not started */
	u32 threads; /* that have a place */
	u64 definition_bytes;
	u64 lost; /* ends and beginnings of calls of threads that got no place */
	u64 places; /* of threads, by the recorder: memory for more is not allocated, and allocating it here might end the process */
	u64 beat;   /* the heartbeat in ticks */
};

struct text {
	u16 bytes;
	u16 kind; /* bytes of a character; 0: unknown */
};

/* A code object; its id is its number among them, from 1. */
struct definition {
	u32 line;
	struct text name, file;
	u32 pad;
	u8 characters[];
};

/* Times of calls are ticks: of the TSC, or ns of CLOCK_MONOTONIC. */
struct call {
	u64 start;
	u64 below; /* time in recorded calls that it has made */
	u64 object; /* its code object */
	u32 code;
	u32 pad;
};

struct record {
	u64 start; /* 0: it began before the tracing */
	u64 end;
	u64 self;
	u32 code;
	u16 cpu;
	u16 pad;
};

struct thread {
	u64 id;	  /* of the interpreter's thread */
	u64 head; /* records written */
	u64 tail; /* records that the recorder has read */
	u64 lost;
	u32 tid;
	u32 depth;
	u64 left_out; /* calls that are shorter than wanted */
	u64 dropped; /* calls whose ends the hook has not seen, as of another stack of a greenlet */
	u64 pad;
	struct call calls[MAX_DEPTH];
	struct record records[RECORDS];
};

_Static_assert(sizeof(struct thread) <= THREAD_BYTES, "a thread's place is too small");

/* Written by the recorder while the process is stopped. */
struct config {
	u64 in_use;
	u64 deadline;
	u64 shared, shared_bytes, alive;
	u64 interpreter;
	/* Functions, and None. */
	u64 clock_gettime; /* always there; of ticks if has_tsc is 0 */
	u64 thread_get, incref, decref, sys_get, get_attribute, call, new_function, as_long, clear_error, none;
	u64 minor;
	u64 has_tsc, has_rdpid;
	u64 orphaned; /* ticks of ORPHANED_NS */
	u64 min; /* ticks: shorter calls are left out */
	u32 globs[GLOB_CHARACTERS];
	/* Offsets. */
	u64 threads, next_thread, thread_id, profile, trace, tracing, cframe, use_tracing, frame, frame_code;
	u64 code_name, code_file, code_line, text_length, text_state, text_kind, text_ascii, text_compact;
};

#endif
