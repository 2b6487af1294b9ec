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
};

/* Why a walk ended. */
enum unwind_end {
	END_DEPTH, /* of the stack that is recorded */
	END_ROOT,
	END_NO_CODE, /* the address is not in an executable mapping */
	END_NO_FRAME, /* neither a rule nor a frame pointer leads on */
	END_UNREADABLE, /* the stack's memory is not there */
	UNWIND_ENDS,
};

/* An executable mapping, and what is added to its addresses for the place in the file. */
struct unwind_area {
	__u64 start, end, in_file;
	struct unwind_table table;
};

#define UNWIND_AREAS 4
#define UNWIND_PROCESSES 8
#define UNWIND_WINDOW 64

/* Areas of a process that were looked up before. */
struct unwind_areas {
	__u64 state; /* of the process's mappings for which they are right */
	__u64 next;  /* to be replaced */
	struct unwind_area all[UNWIND_AREAS];
};

struct unwind_walk {
	__u64 pc, sp, fp;
	__u64 fp_at; /* where the frame pointer is saved; 0: it is in fp */
	__u32 by_rule, by_pointer, looked_up;
	__u32 pid;
	__u8 called; /* pc is a return address */
	__u8 ended;  /* enum unwind_end */
	__u8 process, area; /* of the last frame, in areas */
	__u64 window_at;    /* address of what is in window; 0: nothing */
	/* From here on it stays for later walks. */
	__u64 walks;
	__u64 window[UNWIND_WINDOW]; /* a part of the stack */
	struct unwind_areas areas[UNWIND_PROCESSES];
};

#endif
