/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent for PyTorch and the recorder share: internal/pytrace reads and writes these structures by the same offsets. */
#ifndef WPROF_TORCH_SHARED_H
#define WPROF_TORCH_SHARED_H

#define PAGE 4096
#define MAX_THREADS 64
#define MAX_DEPTH 128
#define RECORDS (1 << 14) /* of a thread that are not read yet */
#define NAME_BYTES 96
#define SHAPE_WORDS 24
#define THREADS_AT PAGE
#define THREAD_BYTES (4 << 20)
#define ORPHANED_NS 5000000000l /* without a heartbeat */

enum { COMMAND_CLOSED, COMMAND_OPEN, COMMAND_RETIRE };
enum { STATE_NONE, STATE_ACTIVE, STATE_RETIRED };

/* The first page. Its first fields are those of the agent for calls of Python. */
struct control {
	u64 heartbeat; /* of the recorder, CLOCK_MONOTONIC ns */
	u32 command;   /* of the recorder */
	u32 state;
	u64 pad[2];
	u64 lost; /* operators of threads that got no place */
};

/* An operator. */
struct record {
	u64 start; /* 0: it began before the window */
	u64 end;
	u64 self;
	s64 sequence; /* of the node of the graph that it made first, or that it is; -1: none */
	u64 forward;  /* PyTorch's number of the thread of the forward function, of a backward one */
	u16 cpu;
	u8 scope; /* at::RecordScope */
	u8 name_bytes;
	u8 shape_words;
	u8 pad[3];
	char name[NAME_BYTES];
	u32 shapes[SHAPE_WORDS]; /* of each tensor that is an argument: how many dimensions it has, and these */
};

struct call {
	u64 function; /* address of the at::RecordFunction */
	u64 below;    /* time in the operators in it */
	struct record record;
};

struct thread {
	u64 id;	  /* PyTorch's number of the thread; 0: the place is free */
	u64 head; /* records written */
	u64 tail; /* records that the recorder has read */
	u64 lost;
	u32 tid;
	u32 depth;
	u64 dropped; /* of those that began, how many ends are to come that nothing is known of */
	u64 pad[2];
	struct call calls[MAX_DEPTH];
	struct record records[RECORDS];
};

_Static_assert(sizeof(struct thread) <= THREAD_BYTES, "a thread's place is too small");

/* A page that reads as zeros in a child of fork(2), and stays mapped as long as the code. */
struct own {
	u64 alive;
	u64 inside; /* threads that are in a callback */
};

/* Written by the recorder while the process is stopped. */
struct config {
	u64 in_use;
	u64 state; /* enum agent_state */
	u64 deadline;
	u64 shared, shared_bytes, own;
	u64 shapes; /* whether they are recorded */
	u64 places; /* of threads; memory for more is not allocated, and allocating it here might end the process */
	/* Functions. */
	u64 clock_gettime, add_pending, add_callback, remove_callback, name, thread_id, is_async, peek;
	/* Offsets in at::RecordFunction. */
	u64 scope, sequence, inputs, forward;
	/* Offsets in c10::TensorImpl. */
	u64 sizes, size_policy, policy_mask;
};

/* TestTorchStructures compares these with what the recorder reads by. */
_Static_assert(__builtin_offsetof(struct control, heartbeat) == 0, "");
_Static_assert(__builtin_offsetof(struct control, command) == 8, "");
_Static_assert(__builtin_offsetof(struct control, state) == 12, "");
_Static_assert(__builtin_offsetof(struct control, lost) == 32, "");
_Static_assert(sizeof(struct record) == 240, "");
_Static_assert(__builtin_offsetof(struct record, end) == 8, "");
_Static_assert(__builtin_offsetof(struct record, self) == 16, "");
_Static_assert(__builtin_offsetof(struct record, sequence) == 24, "");
_Static_assert(__builtin_offsetof(struct record, forward) == 32, "");
_Static_assert(__builtin_offsetof(struct record, cpu) == 40, "");
_Static_assert(__builtin_offsetof(struct record, scope) == 42, "");
_Static_assert(__builtin_offsetof(struct record, name_bytes) == 43, "");
_Static_assert(__builtin_offsetof(struct record, shape_words) == 44, "");
_Static_assert(__builtin_offsetof(struct record, name) == 48, "");
_Static_assert(__builtin_offsetof(struct record, shapes) == 144, "");
_Static_assert(sizeof(struct call) == 256, "");
_Static_assert(__builtin_offsetof(struct call, record) == 16, "");
_Static_assert(__builtin_offsetof(struct thread, head) == 8, "");
_Static_assert(__builtin_offsetof(struct thread, tail) == 16, "");
_Static_assert(__builtin_offsetof(struct thread, lost) == 24, "");
_Static_assert(__builtin_offsetof(struct thread, tid) == 32, "");
_Static_assert(__builtin_offsetof(struct thread, depth) == 36, "");
_Static_assert(__builtin_offsetof(struct thread, calls) == 64, "");
_Static_assert(__builtin_offsetof(struct thread, records) == 32832, "");
_Static_assert(sizeof(struct config) == 184, "");
_Static_assert(__builtin_offsetof(struct config, own) == 40, "");

#endif
