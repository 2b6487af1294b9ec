/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Python's part of a user stack, which follows the addresses in its rec_stack: see python.h. There is one for each scratch buffer of stacks.h.
 */
#ifndef WPROF_PYTHONSTACK_H
#define WPROF_PYTHONSTACK_H

const volatile bool python_enabled;

#define PYTHON_FRAME_BYTES 128
#define PYTHON_CODE_BYTES 256
#define PYTHON_NAME 256	   /* powers of two: one more than the bytes that are kept */
#define PYTHON_FILE 512
#define PYTHON_LINES 4096
#define PYTHON_TASK_NAME 64

#define PYTHON_WORDS 2048 /* a power of two */
#define PYTHON_KNOWN 64	  /* a power of two */
#define PYTHON_CALLS 512  /* a power of two */

_Static_assert(PYTHON_FRAMES < PYTHON_WORDS, "words of frames");

/* A code object that the walk has met before: deep stacks have few. */
struct python_known {
	__u64 key; /* its address, mixed with the number of the walk */
	__u64 id;
};

/* A part of memory that is to be copied. */
struct python_text {
	__u64 at;
	__u32 bytes;
	__u8 kind; /* enum rec_code_text */
};

struct python_stack {
	__u32 count;
	__u8 ended; /* enum rec_python_end */
	__u8 several; /* there is more than one interpreter */
	__u8 is_walked; /* the state is the thread's: its frames are being walked (blockedpython.h) */
	__u8 is_last; /* there is no other state to go on with */
	__u64 seed; /* of the process */
	__u64 hash; /* of words */
	__u32 pid, tid;
	/* The walk. */
	__u32 file; /* number of the interpreter's file */
	__u32 steps; /* of a search */
	__u64 self; /* what pthread_self() returns */
	__u64 runtime;
	__u64 interpreter, thread, frame;
	__u8 bytes[PYTHON_FRAME_BYTES];
	__u8 code[PYTHON_CODE_BYTES];
	__u64 words[PYTHON_WORDS];
	__u64 walks; /* that were written here */
	__u32 calls; /* in shims, of interpreters whose loop is found by them */
	__u32 pad;
	/* The tasks that await the running one: taskpython.h. */
	__u64 running, task;
	__u64 task_frame; /* the outermost frame that the running task executes; 0: none */
	__u64 name; /* of the task */
	__u64 str;  /* the type of strings; 0: not read yet */
	__u64 got, also; /* what was read last: the programs' stacks have no room for it on Linux 6.1 */
	__u64 coroutine, coroutine_type, suspended;
	__u64 entry;	   /* of a set */
	__u64 entries;	   /* of it that were not looked at */
	__u64 marked;	   /* a task that was met, so that a circle is seen */
	__u32 tasks_of;	   /* number in pythons of the file that says where they are, and 1 */
	__u16 tasks, coroutines; /* that were met */
	__u8 awaits;	   /* the next step is one over these tasks */
	__u8 is_new;	   /* the coroutine is the first one of its task */
	__u8 is_name;	   /* what is defined is the name of a task, which is in text */
	__u8 pads[5];
	__u64 shims[PYTHON_CALLS]; /* where the outermost frames of calls of the loop are, which are none of Python's */
	struct python_known known[PYTHON_KNOWN];
	/* The definition of a code object. */
	struct python_text part;
	__u64 def[sizeof(struct rec_code) / sizeof(__u64)]; /* and its text */
	__u8 text[PYTHON_NAME + PYTHON_FILE + PYTHON_LINES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_stack);
} python_stacks SEC(".maps");

static __always_inline struct python_stack *python_stack_at(__u32 level)
{
	return bpf_map_lookup_elem(&python_stacks, &level);
}

#endif
