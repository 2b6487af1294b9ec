/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Records as the kernel programs write them to the rings. They are private to the recorder. The offsets, sizes and
 * numbers that Go reads them by are generated from the BTF of the objects: internal/ringdata/layout_gen.go.
 *
 * Every program reserves first and reads the clock after that. So a record whose time is before T was reserved
 * before T: if a reader notes T and then reads the producer positions, nothing beyond those positions is older than T,
 * less the time until a store is visible and the difference of the two clocks: 10 us together (WatermarkSlackNs).
 */
#ifndef WPROF_RECORDS_H
#define WPROF_RECORDS_H

#define COMM_LEN 16
#define FILENAME_SHORT 128
#define FILENAME_LONG 4096
#define ARGS_SHORT 256
#define ARGS_LONG 4096
#define STACK_FRAMES 127 /* that the kernel walks: kernel.perf_event_max_stack is this by default */
#define TABLE_FRAMES 511 /* of user stacks that are walked by tables */

/* The kinds of records; those of events have the numbers of format.Kind. */
enum rec_kind {
	REC_SWITCH = 1,
	REC_WAKING = 2,
	REC_WAKEUP_NEW = 3,
	REC_FORK = 4,
	REC_EXEC = 5,
	REC_RENAME = 6,
	REC_EXIT = 7,
	REC_FREE = 8,
	REC_LOST = 11,
	REC_SAMPLE = 13,
	REC_TYPED = 14,
	REC_INSTANT = 63, /* an event of kind typed, in fewer bytes */
	REC_EVENTS = 64, /* kinds of events are below */
	REC_TASK = 64,	 /* written by the task iterator */
	REC_STACK = 65,
	REC_ARGS = 66,
	REC_RETURN = 67,
	REC_BLOCKED = 68, /* written by the iterator of blocked threads */
	REC_WAIT = 69,	  /* also written by that iterator, before the rec_blocked of the thread */
	REC_TEXT = 70,
	REC_CGROUP = 71,
	REC_MOVE = 72,
	REC_MISSING = 73,
	REC_CODE = 74,
};

#define LOST_DEFINITION 0 /* index in rec_lost.counts of lost stacks and arguments, which are no events */

enum rec_flag {
	REC_SUBJECT = 1, /* the filters select the record's own thread; same bit as format.FlagSubject */
	REC_OBJECT = 2,	 /* ... for the other one; same bit as format.FlagObject */
	REC_LAST = 4,	 /* exit: last thread of the process; move: of all its threads */
	REC_OPEN = 4,	 /* typed: it is open at the close of the window; same bit as format.FlagOpen */
	REC_CUT = 8,	 /* exec: the path is longer; args: there are more; stack: it is deeper; sample: a stack is lost */
	REC_ON_CPU = 16, /* task: it runs on hdr.cpu */
	REC_ANNOUNCED = 16, /* switch: a rec_return follows on this CPU before its next switch, or is lost */
	/* 64 of switch, waking, wakeup_new is set by the reader: the record has stacks */
	REC_LISTED = 16, /* typed: it was open when a snapshot was taken, after whose close the window goes on */
	REC_TRACER = 16, /* stack: the innermost frames are those of the tracer */
	REC_PREEMPTED = 32, /* switch: prev was preempted inside the kernel */
	REC_YIELDED = 128,  /* switch: prev called sched_yield */
	REC_INTERRUPT = 32, /* waking: in an interrupt */
	REC_SINCE = 64,	 /* task: since_ns is known */
	REC_QUEUED = 128, /* task: runnable and not on a CPU, even if its state is another one; since_ns: since when */
};

/*
 * The header of a record in its ring, 64 bits: the length of the record in the lowest 13, or 21 if it is not packed, then the flags and the kind of
 * a packed record, RECORD_PACKED and RECORD_DISCARDED, and in the upper half the lower half of a packed record's time.
 */
enum rec_header {
	PACKED_FLAGS_SHIFT = 13,
	PACKED_KIND_SHIFT = 21,
	RECORD_PACKED = 1 << 29,
	RECORD_DISCARDED = 1 << 30, /* to be skipped */
	RECORD_PARTS = 1U << 31,
};

struct rec_hdr {
	__u64 ts;    /* CLOCK_MONOTONIC ns */
	__u8 kind;   /* enum rec_kind */
	__u8 flags;  /* enum rec_flag */
	__u16 cpu;
	__u32 tid;   /* the subject; 0 for idle */
};

/* The identity of a thread. */
struct rec_ident {
	__u32 tid;
	__u32 pid;
	__u32 ppid;	  /* process id of the parent process */
	__u32 task_flags; /* task_struct.flags: PF_KTHREAD 0x200000 */
	__u64 start_ns;	  /* task_struct.start_time */
	char comm[COMM_LEN];
	char process_comm[COMM_LEN]; /* of the group leader */
	__u32 ns_tid;	  /* in the thread's own PID namespace; 0: that is the initial one */
	__u32 ns_pid;
};

/* Ids of stacks; 0: none. */
struct rec_stacks {
	__u64 user;
	__u64 kernel;
};

/*
 * With RECORD_PARTS, parts follow a record, packed or not: each a multiple of 8 bytes, in the order of their bits. This
 * comes after them, at the end, so that a reader finds them whatever the record's own length is, and skips parts of later
 * versions.
 */
struct rec_parts {
	__u16 mask;    /* enum rec_part */
	__u8 words[6]; /* length of each part that is there, in units of 8 bytes */
};

enum rec_part {
	PART_STACKS = 1, /* struct rec_stacks: of the previous thread of a switch, of a waker */
	PART_WAIT = 2,	 /* struct rec_wait_part: of the previous thread of a switch */
	PART_COUNTS = 4, /* struct rec_counts_part: of the previous thread of a switch, of a sample */
};

/*
 * What the counters of --pmu have counted while a thread was on its CPU, up to its switch or a sample. In a rec_typed of a span it may follow the
 * values, and in a sample of such an event the rec_pmu_sample: what was counted in the span, or up to the sample.
 */
struct rec_counts_part {
	__u8 unknown; /* by counter: its value means nothing */
	__u8 scaled;  /* by counter: it counted for a part of the time, and the value is an estimate for all of it */
	__u8 pad[6];
	__u64 values[];
};

/* What a thread that leaves its CPU is going to wait for. */
struct rec_wait_part {
	__u64 wait;  /* id of a rec_wait; 0: none, or a rec_return has it */
	__u32 owner; /* tid, in the thread's PID namespace, of the thread that owns the lock; 0: not known */
	__u32 pad;
};

/* The parts after a switch or a waking: each may be absent. */
#define RECORD_PARTS_MAX (sizeof(struct rec_stacks) + sizeof(struct rec_wait_part) + sizeof(struct rec_parts))

/* A bit of a state: with TASK_UNINTERRUPTIBLE, task_struct.in_iowait. No thread leaves in the state whose bit it is, TASK_WAKING. */
#define REC_IOWAIT 0x200

/* A bit of a state: the thread could run, but the CPU quota of its cgroup is used up. No thread leaves in the state whose bit it is, TASK_NEW. */
#define REC_THROTTLED 0x800

struct rec_switch {
	struct rec_hdr hdr; /* tid: prev */
	__u32 next_tid;
	__u32 prev_state; /* raw task_struct.__state bits, as the tracepoint passes them; if that is 0x80 (dead), with exit_state; REC_IOWAIT */
	__s16 prev_prio;
	__s16 next_prio;
	__u32 distance; /* 0; the reader sets it: from this record to its rec_return, bytes */
};

struct rec_waking { /* waking, wakeup_new */
	struct rec_hdr hdr; /* tid: current */
	__u32 wakee_tid;
	__s16 prio;
	__u16 target_cpu;
};

/* Packed records have no rec_hdr: see pack.h. Priorities are one more than the kernel's, which begin at -1. */
struct rec_packed_switch {
	__u32 next_tid;
	__u16 prev_state;
	__u8 prev_prio;
	__u8 next_prio;
};

struct rec_packed_waking {
	__u32 wakee_tid;
	__u16 target_cpu;
	__u8 prio;
	__u8 pad;
};

struct rec_fork {
	struct rec_hdr hdr; /* tid: the forking thread */
	struct rec_ident child;
	__u64 cgroup; /* id of a rec_cgroup: of the child */
};

struct rec_exec {
	struct rec_hdr hdr; /* tid: after the exec, that is, the leader's */
	struct rec_ident ident;
	__u32 old_tid;	    /* tid of the thread that called exec */
	__u32 filename_len; /* bytes used in filename, without the 0 */
	char filename[];    /* FILENAME_SHORT or FILENAME_LONG bytes are reserved; those after the 0 are undefined */
};

/* Just before the rec_exec of the same thread. */
struct rec_args {
	struct rec_hdr hdr;
	__u32 pid;
	__u32 len;   /* bytes used in args */
	char args[]; /* argv, each word ended by a 0; ARGS_SHORT or ARGS_LONG bytes are reserved */
};

struct rec_rename {
	struct rec_hdr hdr;
	struct rec_ident ident; /* comm (and process_comm, for a leader): the new name */
	char old_comm[COMM_LEN];
};

struct rec_exit {
	struct rec_hdr hdr;
	__u64 start_ns;
	__u32 pid;
	__u32 code;
	char process_comm[COMM_LEN];
};

/* With the thread's names, because no other record names a thread that exited before the window. */
struct rec_free {
	struct rec_hdr hdr; /* tid: the freed thread; of a leader that an exec replaced: the tid of the thread that called exec */
	__u64 start_ns;
	__u32 pid;
	__u32 task_flags;
	char comm[COMM_LEN];
	char process_comm[COMM_LEN]; /* empty: the leader has been freed before */
};

/* How many records of each kind were lost on hdr.cpu. Written before the first record that fits after a loss. */
struct rec_lost {
	struct rec_hdr hdr;
	__u64 from;	  /* time of the first loss */
	__u32 counts[REC_EVENTS]; /* by rec_kind */
};

/* Why records of sources are missing. */
enum rec_missing_cause {
	MISSING_FULL,  /* the part of the ring that sources may fill is full */
	MISSING_LIMIT, /* a limit left them out */
	MISSING_TABLE, /* a table of a user-defined probe is full */
};

enum rec_missing_type {
	MISSING_PMU = 61, /* stands for samples of all events of performance counters */
	MISSING_PROBE = 62, /* stands for all user-defined probes of the recording */
	MISSING_TRACEPOINT = 63, /* stands for all tracepoints of the recording */
	MISSING_TYPES, /* a power of two */
};

/* Records of sources that are missing, of a CPU. */
struct rec_missing {
	struct rec_hdr hdr;
	__u64 from;   /* time of the first one */
	__u32 cause;  /* enum rec_missing_cause */
	__u32 pad;
	__u32 counts[MISSING_TYPES]; /* by enum rec_type; LOST_DEFINITION: of definitions */
};

/*
 * The definition of a stack. It is written once a generation, before the first record that refers to its id, and has
 * no later time than that record. A kernel stack's id is a hash of its addresses; a user stack's id also of its process and
 * of how often that has called exec. No id is 0.
 */
/* Why the walk of a user stack ended: format.StackEnd. */
enum stack_end {
	END_UNKNOWN,
	END_ROOT,
	END_DEPTH, /* of the stack that is recorded */
	END_NO_CODE, /* the address is not in an executable mapping */
	END_NO_FRAME, /* neither a rule nor a frame pointer leads on */
	END_UNREADABLE, /* the stack's memory is not there */
	END_NO_TABLE, /* the table of its file is not loaded, and no frame pointer leads on */
	STACK_ENDS,
};

struct rec_stack {
	struct rec_hdr hdr;
	__u64 id;
	__u32 pid;	/* 0: a kernel stack */
	__u16 count;
	__u8 ended;	/* a user stack: enum stack_end */
	__u8 python;	/* enum rec_python_end */
	__u64 addrs[];	/* count of them, innermost first; then, to the end of the record, words of Python's frames, innermost first */
};

#define PYTHON_FRAMES 2016 /* words of Python's frames */

enum rec_python_end {
	PYTHON_NONE,	   /* there are no words of frames */
	PYTHON_WHOLE,	   /* they reach the thread's first one */
	PYTHON_DEEPER,	   /* there are more */
	PYTHON_UNREADABLE, /* the next one's memory is not there */
};

/*
 * In an address of a user stack with Python's frames, whose highest bits are the same without: the frame is of the loop that executes bytecode, or of
 * an instruction's function that such a frame has called.
 */
enum rec_python_address { PYTHON_INSTRUCTION_SHIFT = 61, PYTHON_LOOP_SHIFT = 62 };

/*
 * The word of a frame: in the lowest bits where it is in its code object, in units of 2 bytes (before 3.10 in bytes), and above
 * PYTHON_CODE_SHIFT the id of its rec_code; 0: it is not known.
 */
enum rec_python_word {
	PYTHON_FAR = 0xffffe,	 /* here or beyond */
	PYTHON_BEFORE = 0xfffff, /* before the first instruction */
	PYTHON_ENDS = 1 << 20,	 /* it is the outermost that its call of the loop executes */
	PYTHON_FRAME = 1 << 21,	 /* else the call has no frame, and the word may be one of those below */
	PYTHON_CODE_SHIFT = 22,
	/*
	 * The frames that follow, up to the next of these words or the end of the call, are of coroutines of a task that awaits the one before, and has
	 * an id as a code object if it has a name. They are in reverse order: the one that waits is the last. The first of these words follows
	 * the running task.
	 */
	PYTHON_TASK = 1,
	PYTHON_TASK_SEVERAL = 2, /* several tasks await the one before: none of them follows */
	PYTHON_TASK_DEEPER = 3,	 /* more tasks await it than are followed */
	PYTHON_TASK_MASK = 3,
};

/* How the characters of a str are stored. */
enum rec_code_text {
	CODE_BYTES = 7, /* mask: of a character */
	CODE_ASCII = 8,
};

/*
 * A code object of Python. It is written as a rec_stack is, before the first stack with it; those that only blocked threads have are in the list
 * of these, each with its bytes in hdr.tid.
 */
struct rec_code {
	struct rec_hdr hdr;
	__u64 id;
	__u32 pid;
	__u32 first_line;
	__u8 minor; /* of version 3 */
	__u8 name_kind, file_kind; /* enum rec_code_text */
	__u8 pad;
	__u16 name_bytes, file_bytes;
	/* The qualified name, the file, and to the end of the record the table of lines; each may be cut. */
	__u8 text[];
};

/* Where a thread was that was off-CPU and runs again. */
struct rec_return {
	struct rec_hdr hdr;
	struct rec_stacks stacks;
	__u64 wait; /* id of a rec_wait; 0: none */
};

struct rec_packed_return {
	struct rec_stacks stacks;
	__u64 wait;
};

enum rec_wait_flag {
	WAIT_COMPAT = 1,   /* number is one of 32-bit code */
	WAIT_HAS_FD = 2,
	WAIT_HAS_FILE = 4, /* mode to names are those of the descriptor's file */
	WAIT_HAS_SOCKET = 8,
	WAIT_IS_FUTEX = 16,
	WAIT_IS_GIL = 32, /* of a futex: the first argument is the address of the state of Python's global lock */
};

#define WAIT_NAME 64
#define WAIT_UNIX_NAME 108

/*
 * What a thread waits for: written once a generation, as a rec_stack, which its id is like too.
 */
struct rec_wait {
	struct rec_hdr hdr;
	__u64 id;
	__u64 args[6];
	__u64 inode;
	__u64 magic;  /* super_block.s_magic */
	__u32 pid;
	__s32 number; /* of the system call; -1: none */
	__u32 flags;  /* enum rec_wait_flag */
	__s32 fd;
	__u32 device; /* super_block.s_dev: major << 20 | minor */
	__u32 rdev;   /* inode.i_rdev */
	__u32 owner;  /* of a blocked thread's lock, as in rec_wait_part */
	__u16 mode;   /* inode.i_mode */
	__u16 family;
	__u16 protocol;
	__u16 local_port;
	__u16 remote_port;
	__u8 tcp_state;
	__u8 pad;
	__u8 local[16]; /* an address of IPv4 takes the first four bytes */
	__u8 remote[16];
	/* The file's name and those of the folders above it, innermost first; or the names of a Unix socket and its peer. */
	char names[3][WAIT_NAME];
	__u8 unix_length[2]; /* of sun_path */
	__u8 pad2[6];
	char unix_names[2][WAIT_UNIX_NAME];
};

/* The stack of a blocked thread: kernel addresses, then user addresses, each innermost first. */
enum blocked_cut {
	BLOCKED_KERNEL_CUT = 1, /* it is deeper */
	BLOCKED_USER_CUT = 2,	/* it is deeper, does not reach its root, or its memory was locked */
	BLOCKED_PYTHON_WHOLE = 4, /* Python's frames reach the thread's first one */
};

struct rec_blocked {
	struct rec_hdr hdr;
	__u64 start_ns; /* task_struct.start_time */
	__u32 pid;
	__u8 cut;	/* enum blocked_cut */
	__u8 ended;	/* the user's part: enum stack_end */
	__u16 python_count; /* words of Python's frames, as in a rec_stack, which follow the addresses */
	__u32 kernel_count;
	__u32 user_count;
	__u64 since_ns; /* as in rec_task */
	__u32 state;	/* raw task_struct.__state; REC_IOWAIT */
	__u32 prio;
	__u64 addrs[];
};

struct rec_sample {
	struct rec_hdr hdr;
	__u64 user;	/* ids of stacks; 0: none */
	__u64 kernel;
	__u32 pid;
	__u32 source;	/* format.Source: 1 the timer */
};

/* The types of rec_typed: internal/sources. */
enum rec_type {
	TYPE_HARDIRQ = 1,
	TYPE_SOFTIRQ = 2,
	TYPE_TIMER = 3,
	TYPE_IPI = 4,
	TYPE_CALL = 5,
	TYPE_WORK = 6,
	TYPE_SYSCALL = 7,
	TYPE_LOCK = 8,
	TYPE_BLOCK = 9,
	TYPE_MIGRATION = 10,
	TYPE_SIGNAL = 11,
	TYPE_DELIVERY = 12,
	TYPE_FREQUENCY = 13,
	TYPE_IDLE = 14,
	TYPE_RECLAIM = 15,
	TYPE_COMPACTION = 16,
	TYPE_OOM = 17,
	TYPE_FAULT = 18,
	TYPE_IO_URING = 19,
	TYPE_MAJOR_FAULT = 20,
	TYPE_SEND = 21,
	TYPE_RECEIVE = 22,
	TYPE_DROP = 23,
	TYPE_RETRANSMIT = 24,
	TYPE_TCP_STATE = 25,
	TYPE_SOCKET_ERROR = 26,
	TYPE_RSS = 36,
	TYPE_CGROUP = 37,
	TYPE_FENCE = 38,
	TYPE_FENCE_WAIT = 39,
	TYPE_PYTHON = 40, /* calls of functions of Python, which the recorder writes itself */
	TYPE_TORCH = 41, /* operators of PyTorch, as these */
	TYPE_TRACEPOINT = 1 << 16, /* and above: the tracepoints of the recording, by their numbers */
};

/* What an inter-processor interrupt is for. */
enum rec_ipi {
	IPI_RESCHEDULE = 1,
	IPI_CALL = 2,
	IPI_CALL_SINGLE = 3,
	IPI_WORK = 4,
	IPI_KINDS,
};

struct rec_typed {
	struct rec_hdr hdr; /* tid: the running thread */
	__u64 start;	/* of a span, CLOCK_MONOTONIC ns; of an instant 0 */
	__u32 type;	/* enum rec_type */
	__u32 pad;
	__u64 values[]; /* of the type's fields, in their order; of a text the id of its rec_text, 0: none; of a task its tid, 0: none; of a stack struct rec_stacks; of a string struct rec_endpoint */
};

/* The rec_typed of an event of a tracepoint. */
struct rec_tracepoint {
	struct rec_hdr hdr;
	__u64 start;	/* 0 */
	__u32 type;	/* TYPE_TRACEPOINT and the tracepoint's number */
	__u32 length;	/* of bytes */
	char bytes[];	/* of the kernel's record, or of the arguments and strings of a raw tracepoint */
};

/* The bytes of a rec_tracepoint that is a sample of an event of performance counters. */
struct rec_pmu_sample {
	struct rec_stacks stacks;
	__u64 period; /* events that the sample stands for */
};

/* An event of a user-defined probe. Its spans are as struct rec_tracepoint. */
struct rec_instant {
	struct rec_hdr hdr;
	__u32 type; /* TYPE_TRACEPOINT and the number of the event type */
	char bytes[]; /* values where the layout of the type has them; after them strings, to the end of the record */
} __attribute__((packed));

enum rec_call_flag {
	CALL_32BIT = 1,	       /* number is one of 32-bit code */
	CALL_ENDLESS = 2,      /* it does not return: there is no result */
	CALL_PATHS_FOLLOW = 4, /* after the words, each ended by a 0, and padded to a multiple of 8 bytes */
};

enum rec_call_bound {
	CALL_PATH = 128, /* bytes of a path, with its 0 */
};

/* A rec_typed of type TYPE_SYSCALL. */
struct rec_syscall {
	struct rec_hdr hdr;
	__u64 start;
	__u32 type;
	__u16 number;
	__u8 flags;  /* enum rec_call_flag */
	__u8 counts; /* of arguments; and of files, << 4 */
	__s64 ret;
	__u64 words[]; /* the arguments, then ids of the rec_wait of the files, 0: none */
};

/* A string value: the end of a connection. */
struct rec_endpoint {
	__u8 address[16]; /* an address of IPv4 takes the first four bytes */
	__u16 family;
	__u16 port;
	__u32 pad;
};

/* The rec_typed of a packet: TYPE_SEND, TYPE_RECEIVE, TYPE_DROP. */
struct rec_packet {
	struct rec_hdr hdr;
	__u64 start;	/* 0 */
	__u32 type;
	__u32 bytes;
	__u64 of[3];	/* of a queue: text, bytes and packets so far; of a drop: texts of its reason, function and device */
	__u16 protocol; /* EtherType, behind VLAN tags; 0: none */
	__u16 vlan;	/* the id in the outermost tag; 0: none */
	__u8 family;	/* of the addresses; 0: none */
	__u8 transport; /* protocol, if there is a family */
	__u8 flags;	/* of TCP */
	__u8 pad;
	__u16 source_port;
	__u16 destination_port;
	__u32 seq; /* of TCP */
	__u32 ack;
	__u32 pad2;
	__u8 addresses[]; /* of the source and the destination: 4 bytes each of IPv4, 16 of IPv6 */
};

#define TEXT_LENGTH 64

/* The definition of a text: written once a generation, before the first record that refers to its id. */
struct rec_text {
	struct rec_hdr hdr;
	__u64 id;
	char text[TEXT_LENGTH]; /* ends with a 0 */
};

/* The definition of a cgroup: written once a generation, before the first record that refers to its id. */
struct rec_cgroup {
	struct rec_hdr hdr;
	__u64 id;
	char path[]; /* below the root of its hierarchy, without a 0 */
};

/* A thread is in another cgroup; its leader, with REC_LAST. */
struct rec_move {
	struct rec_hdr hdr;
	__u64 start_ns; /* task_struct.start_time */
	__u64 cgroup;	/* id of a rec_cgroup */
	__u32 pid;
	__u32 pad;
};

struct rec_task { /* task iterator */
	struct rec_hdr hdr; /* cpu: where it runs or ran last; flags: whether the filters select it */
	struct rec_ident ident;
	__u32 state;	/* raw task_struct.__state | exit_state; REC_IOWAIT */
	__s16 prio;
	__u16 pad;
	__u64 since_ns; /* with REC_SINCE: estimated start of this state, CLOCK_MONOTONIC ns */
	__u64 cgroup;	/* id of a rec_cgroup; 0: not known */
};

#endif
