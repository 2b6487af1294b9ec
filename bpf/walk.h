/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The state of a walk over a user stack: see unwind.h.
 */
#ifndef WPROF_WALK_H
#define WPROF_WALK_H

/* Where a file's table stands, as numbers of words, and which code it covers, as numbers of pages of the file. */
struct unwind_table {
	__u32 first;
	__u32 pages; /* 0: the file has no call frame information */
	__u32 pages_at;
	__u32 rows_at;
	__u32 rules_at;
	__u32 used; /* generation in which it was last used */
	__u32 unreadable; /* none could be made */
	/* The number of the file in pythons, and 1, if it has an interpreter, and if it has the module that runs tasks; else 0. */
	__u16 python, python_tasks;
};

/* An executable mapping, and what is added to its addresses for the offset in the file. */
struct unwind_mapping {
	__u64 start, end;
	__u64 to_offset; /* 0: it has no file */
	__u64 lacks_table; /* the table of its file is not loaded, or could not be made */
	struct unwind_table table;
};

#define UNWIND_MAPPINGS 4
#define UNWIND_PROCESSES 8
#define CACHED_WORDS 128

/* Mappings of a process that were looked up before. */
struct unwind_mappings {
	__u64 version; /* see version_of_mappings() */
	__u64 next;  /* to be replaced */
	struct unwind_mapping all[UNWIND_MAPPINGS];
};

#define USER_MEMO_WORDS 64 /* a power of two */

/* What a walk has read: see usermemo.h. */
struct walk_words {
	__u32 offsets[USER_MEMO_WORDS]; /* from the first stack pointer, bytes */
	__u64 values[USER_MEMO_WORDS];
};

struct unwind_walk {
	__u64 pc, sp, fp;
	__u64 fp_at; /* where the frame pointer is saved; 0: it is in fp */
	__u64 bx;
	__u64 bx_at; /* where rbx is saved; 0: it is in bx; if it is not known, an address that is not aligned */
	__u64 regs;  /* address of struct pt_regs */
	__u32 by_rule, by_pointer, looked_up;
	__u32 pid;
	__u8 is_return;	    /* pc is a return address */
	__u8 ended;	    /* enum stack_end */
	__u8 slot, mapping; /* of the last frame, in processes */
	__u8 is_other;	    /* not the running thread's stack */
	__u8 is_called;	    /* not the innermost frame */
	__u8 has_own_fp;    /* fp is not the thread's register any more */
	__u8 uses_fp;	    /* it was used before */
	__u8 depends_on_more; /* than a memo has: see usermemo.h */
	__u64 first_sp, first_fp;
	__u64 version;	    /* see version_of_mappings() */
	__u32 room;	    /* for words that are read */
	__u64 wanted;	    /* where a step needs another thread's stack; 0: nowhere */
	__u64 cached_at;    /* address of what is in cached; 0: nothing */
	__u64 trampoline;   /* where uretprobes let functions return to */
	__u64 code_at;	    /* address of what is in code; 0: nothing */
	__u64 code;	    /* instructions that are run next in a frame of generated code */
	__u64 python_from;  /* what is added to offsets in the interpreter's file */
	__u32 python;	    /* as in the table of the interpreter's file, if a frame is in it */
	__u8 in_python_loop; /* a frame executes bytecode */
	__u16 python_tasks; /* as in the table of the file of a frame that may run a task */
	struct return_instance *probed; /* the innermost call that is not in the walk yet, with a uretprobe; NULL: none */
	/* From here on it stays for later walks. */
	__u64 walks;
	__u64 cached[CACHED_WORDS]; /* a part of the stack */
	struct walk_words words;
	__u64 sps[TABLE_FRAMES + 1]; /* where frames end, of processes with Python: callpython.h */
	struct unwind_mappings processes[UNWIND_PROCESSES];
};

#endif
