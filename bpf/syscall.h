/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * System calls, as spans that are written when the call returns.
 *
 * The entry only keeps the time, in an array by tid: the arguments are still in the registers when the call returns. Exceptions are
 * calls that replace the registers (execve, sigreturn) and that close the descriptor in their arguments: what these need is kept by
 * thread, in a hash map of KEPT_CALLS. The time is kept also outside of the window, so that a call that is open when the window opens has
 * its start; calls that are open when it closes are listed by an iterator.
 *
 * The array costs 8 bytes for each possible tid: 256 KiB with the kernel's default for pid_max, 32 MiB with its maximum. The two programs
 * take 240 ns together for a getppid, of which 120 are the calls and the kernel's measurement; with task storage 278, with a hash map 303.
 * A descriptor adds 15 to 30 ns, a path 120 ns, and what is kept by the map 120 ns.
 *
 * Cannot see: calls that the vDSO serves, operations of io_uring, and how long seccomp took to refuse a call.
 */
#ifndef WPROF_SYSCALL_H
#define WPROF_SYSCALL_H

#define CALL_NUMBERS 512 /* of each table */
#define CALL_OTHER 0xffff /* stands for numbers beyond 16 bits */

enum call_abi { ABI_NATIVE, ABI_32BIT, ABIS };

/* What is read of a call, by its number. */
enum rec_call_shape {
	SHAPE_ARGS = 0x7, /* number of arguments */
	/* Of each of these, 1 + the number of the argument; 0: there is none. */
	SHAPE_FD_SHIFT = 3,
	SHAPE_FD2_SHIFT = 6,
	SHAPE_PATH_SHIFT = 9,
	SHAPE_PATH2_SHIFT = 12,
	SHAPE_KEPT = 0x8000, /* must be read at the entry */
};
#define SHAPE_ARGUMENT 0x7

const volatile __u64 calls_wanted[ABIS][CALL_NUMBERS / 64];
const volatile bool other_calls_wanted; /* numbers that are in no table */
const volatile __u16 call_shapes[ABIS][CALL_NUMBERS];
const volatile __u32 call_slot_mask; /* entries of call_slots - 1 */

volatile __u64 calls_attached_at; /* when the programs were attached; 0: not yet */
volatile bool calls_frozen;	  /* the window has closed: calls that are open stay so */

/*
 * The state of each thread, see call_slot(): a time, CLOCK_MONOTONIC ns, whether it is in a call since then, and whether the first program
 * of the entry, and that of the end, has run since the second one has.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} call_slots SEC(".maps");

#define CALL_OPEN 1
#define CALL_BEGUN 2
#define CALL_ENDED 4
#define CALL_TIME_SHIFT 3

#define KEPT_CALLS 4096
#define CALL_PATHS (2 * CALL_PATH)

struct call {
	__u64 start; /* 0: it was not seen to begin, and has just ended */
	__u64 args[6];
	__u64 files[2]; /* ids of their rec_wait; 0: none */
	__u16 shape;
	__u16 number;
	__u8 flags; /* enum rec_call_flag */
	__u8 pad[3];
};

/* Up to two paths, each with its 0 and padded to a multiple of 8 bytes. */
struct call_paths {
	__u64 length;
	char text[CALL_PATHS];
};

struct kept_call {
	struct call call;
	struct call_paths paths;
};

/* By the address of the thread's task_struct, because an exec changes the tid: 1.5 MiB. Where it is full, a call ends without these. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KEPT_CALLS);
	__type(key, __u64);
	__type(value, struct kept_call);
} kept_calls SEC(".maps");

/*
 * Spreads neighbours over cache lines: threads of a process have tids in a row, and run on different CPUs. The factor is odd, so that no two
 * tids share a slot.
 */
static __always_inline __u64 *call_slot(__u32 tid)
{
	__u32 place;

	if (tid > call_slot_mask)
		return NULL;
	place = tid * 0x9e3779b1 & call_slot_mask;
	return bpf_map_lookup_elem(&call_slots, &place);
}

static __always_inline enum call_abi abi_of(struct task_struct *task, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & TS_COMPAT ? ABI_32BIT : ABI_NATIVE;
#else
	return REGS_32BIT(regs) ? ABI_32BIT : ABI_NATIVE;
#endif
}

static __always_inline bool is_wanted(__u32 number, enum call_abi abi)
{
	if (number >= CALL_NUMBERS)
		return other_calls_wanted && number != (__u32)-1;
	return calls_wanted[bounded(abi, ABIS)][bounded(number / 64, CALL_NUMBERS / 64)] >> number % 64 & 1;
}

static __always_inline __u16 shape_of(__u32 number, enum call_abi abi)
{
	if (number >= CALL_NUMBERS)
		return 6;
	return call_shapes[bounded(abi, ABIS)][bounded(number, CALL_NUMBERS)];
}

static __always_inline void read_registers(struct call *call, struct pt_regs *regs, __u32 number, enum call_abi abi)
{
	call->shape = shape_of(number, abi);
	call->number = number < CALL_OTHER ? number : CALL_OTHER;
	call->flags = abi == ABI_32BIT ? CALL_32BIT : 0;
	call->files[0] = call->files[1] = 0;
	if (abi == ABI_32BIT) {
		__u32 args[6] = REGS_ARGS_32BIT(regs);

#pragma unroll
		for (int i = 0; i < 6; i++)
			call->args[i] = args[i];
	} else {
		__u64 args[6] = REGS_ARGS(regs);

#pragma unroll
		for (int i = 0; i < 6; i++)
			call->args[i] = args[i];
	}
}

/* The argument whose number, plus 1, is at some bits of the shape. */
static __always_inline __u64 shaped_argument(const struct call *call, __u32 shift)
{
	__u32 which = call->shape >> shift & SHAPE_ARGUMENT;
	__u64 value = 0;

#pragma unroll
	for (__u32 i = 0; i < 6; i++)
		value = which == i + 1 ? call->args[i] : value;
	return value;
}

/* A rec_wait of no wait. */
static __always_inline void describe_file(struct rec_wait *rec, struct task_struct *task, const struct wait_file *f, __u64 id)
{
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->hdr.kind = REC_WAIT;
	rec->hdr.tid = task->pid;
	rec->id = id;
	rec->pid = task->tgid;
	rec->number = -1;
	rec->flags = WAIT_HAS_FD;
	read_file(rec, f);
}

/*
 * The id of the file of a thread's descriptor, which is described once a generation; 0: there is none, or no room. at is the time of the
 * description; 0: now.
 */
static __noinline __u64 intern_file(struct task_struct *task, __u32 fd, __u64 at)
{
	struct wait_file f = {};
	struct stack_mark mark;
	struct scratch *s;
	bool written;
	__u64 id;

	find_file(&f, task, fd);
	if (!f.file)
		return 0;
	id = mix64(hash_file(~0ULL, &f)) | 1;
	mark = stack_mark_of(id);
	if (!mark.at)
		return 0;
	if (*mark.at == mark.value)
		return id;
	if (!may_define())
		return 0;
	s = get_scratch(REC_STACK);
	if (!s)
		return 0;
	describe_file((struct rec_wait *)s->addrs, task, &f, id);
	written = write_wait(s, at);
	put_scratch(s);
	if (!written)
		return 0;
	*mark.at = mark.value;
	return id;
}

static __always_inline void find_files(struct task_struct *task, struct call *call, __u64 at)
{
	if (!(call->shape >> SHAPE_FD_SHIFT & SHAPE_ARGUMENT))
		return;
	call->files[0] = intern_file(task, shaped_argument(call, SHAPE_FD_SHIFT), at);
	if (call->shape >> SHAPE_FD2_SHIFT & SHAPE_ARGUMENT)
		call->files[1] = intern_file(task, shaped_argument(call, SHAPE_FD2_SHIFT), at);
}

/* Adds a path. One that cannot be read is empty. */
static __always_inline void read_path(struct call_paths *paths, __u64 from)
{
	__u32 at = bounded(paths->length, CALL_PATHS);
	long length;

	if (at > CALL_PATHS - CALL_PATH)
		return;
	length = bpf_probe_read_user_str(paths->text + at, CALL_PATH, (void *)from);
	if (length <= 0) {
		paths->text[at] = 0;
		length = 1;
	}
	paths->length = at + ((length + 7) & ~7ULL);
}

static __always_inline bool has_paths(const struct call *call)
{
	return call->shape >> SHAPE_PATH_SHIFT & SHAPE_ARGUMENT;
}

/* Of the running thread. */
static __always_inline void read_paths(struct call_paths *paths, const struct call *call)
{
	paths->length = 0;
	read_path(paths, shaped_argument(call, SHAPE_PATH_SHIFT));
	if (call->shape >> SHAPE_PATH2_SHIFT & SHAPE_ARGUMENT)
		read_path(paths, shaped_argument(call, SHAPE_PATH2_SHIFT));
}

static __always_inline __u32 args_of(const struct call *call)
{
	return call->shape & SHAPE_ARGS;
}

static __always_inline __u32 files_of(const struct call *call)
{
	return (call->shape >> SHAPE_FD_SHIFT & SHAPE_ARGUMENT ? 1 : 0) + (call->shape >> SHAPE_FD2_SHIFT & SHAPE_ARGUMENT ? 1 : 0);
}

/* The words after the arguments begin at the result. */
static __always_inline __u64 *write_fixed(struct rec_syscall *rec, const struct call *call, __s64 ret)
{
	__u32 count = args_of(call);
	__u64 *to;

	rec->start = call->start;
	rec->type = TYPE_SYSCALL;
	rec->number = call->number;
	rec->flags = call->flags;
	rec->counts = count | files_of(call) << 4;
	rec->ret = ret;
#pragma unroll
	for (__u32 i = 0; i < 6; i++)
		if (i < count)
			rec->words[i] = call->args[i];
	to = rec->words + bounded(count, 8);
	if (files_of(call))
		*to++ = call->files[0];
	if (files_of(call) > 1)
		*to++ = call->files[1];
	return to;
}

static __always_inline __u32 fixed_size(const struct call *call)
{
	return sizeof(struct rec_syscall) + (args_of(call) + files_of(call)) * sizeof(__u64);
}

/* paths may be NULL. at is the close of the window for a call that is open then; 0: it has ended. */
static __always_inline void write_call(struct task_struct *task, struct call *call, const struct call_paths *paths, __s64 ret, __u64 at)
{
	__u32 length = paths ? bounded(paths->length, 2 * CALL_PATHS) : 0;
	struct rec_syscall *rec = reserve_source(task->pid, TYPE_SYSCALL, fixed_size(call) + length);
	__u64 *to;

	if (!rec)
		return;
	if (!call->start)
		call->start = rec->hdr.ts;
	if (length)
		call->flags |= CALL_PATHS_FOLLOW;
	if (at) {
		call->flags |= CALL_ENDLESS;
		leave_open((__u64 *)((struct rec_typed *)rec + 1), task->thread_info.cpu, at);
	}
	to = write_fixed(rec, call, ret);
	if (length && paths)
		bpf_probe_read_kernel(to, length, paths->text);
	submit(rec, fixed_size(call) + length);
}

/* Of a call with paths that were not kept. */
static __noinline int write_call_with_paths(struct call *call, __s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s = get_scratch(REC_TYPED);

	if (!s)
		return 0;
	_Static_assert(sizeof(struct call_paths) <= sizeof(s->addrs), "the buffer holds it");
	read_paths((struct call_paths *)s->addrs, call);
	write_call(task, call, (struct call_paths *)s->addrs, ret, 0);
	put_scratch(s);
	return 0;
}

/*
 * The kernel skips a program on a CPU where a preempted thread is in it. So there are two of the entry and two of the end, and the second
 * does what the first one was skipped for. The end of a call of which both were skipped is missing when the next one begins.
 */
volatile __u64 skipped_ends;

static __always_inline void count_skipped_end(struct task_struct *task, __u64 state)
{
	if (state & CALL_OPEN && state >> CALL_TIME_SHIFT >= task->start_time && armed && passes_filter_noinline(task))
		__sync_fetch_and_add(&skipped_ends, 1);
}

/* A call at whose end its registers or its descriptor are gone. */
static __always_inline void keep_call(struct task_struct *task, struct pt_regs *regs, __u32 number, enum call_abi abi, __u64 start)
{
	struct scratch *s = get_scratch(REC_TYPED);
	struct kept_call *kept;
	__u64 key = (__u64)task;

	if (!s)
		return;
	_Static_assert(sizeof(*kept) <= sizeof(s->addrs), "the buffer holds it");
	kept = (struct kept_call *)s->addrs;
	read_registers(&kept->call, regs, number, abi);
	kept->call.start = start;
	kept->paths.length = 0;
	find_files(task, &kept->call, 0);
	if (has_paths(&kept->call))
		read_paths(&kept->paths, &kept->call);
	bpf_map_update_elem(&kept_calls, &key, kept, BPF_ANY);
	put_scratch(s);
}

/* mark is CALL_BEGUN, or 0 in the second program. */
static __always_inline int begin_call(struct pt_regs *regs, long id, __u64 mark)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum call_abi abi = abi_of(task, regs);
	__u64 *slot, now;

	if (!is_wanted(id, abi) || calls_frozen)
		return 0;
	slot = call_slot(task->pid);
	if (!slot)
		return 0;
	if (preemptible)
		count_skipped_end(task, *slot);
	now = bpf_ktime_get_ns();
	*slot = now << CALL_TIME_SHIFT | CALL_OPEN | mark;
	if (shape_of(id, abi) & SHAPE_KEPT)
		keep_call(task, regs, id, abi, now);
	return 0;
}

/* Whether the first of two programs has run, and left its mark, which is removed. */
static __always_inline bool take_mark(__u64 mark)
{
	__u64 *slot = call_slot(bpf_get_current_task_btf()->pid);

	if (!slot || !(*slot & mark))
		return false;
	*slot &= ~mark;
	return true;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	return begin_call(regs, id, CALL_BEGUN);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter_again, struct pt_regs *regs, long id)
{
	return take_mark(CALL_BEGUN) ? 0 : begin_call(regs, id, 0);
}

static __always_inline void end_kept(struct task_struct *task, __u64 key, struct kept_call *kept, __s64 ret)
{
	if (armed && passes_filter(task) && within_limit(TYPE_SYSCALL))
		write_call(task, &kept->call, &kept->paths, ret, 0);
	bpf_map_delete_elem(&kept_calls, &key);
}

/*
 * The first end that is seen of a thread: a new thread returns from the fork of its parent, which is no call of its own; an older one was
 * in the call when the programs were attached. Returns when the call began; 0: it is none.
 */
static __always_inline __u64 first_start(struct task_struct *task)
{
	return task->start_time < calls_attached_at ? calls_attached_at : 0;
}

/* mark is CALL_ENDED, or 0 in the second program. */
static __always_inline int end_call(struct pt_regs *regs, long ret, __u64 mark)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum call_abi abi = abi_of(task, regs);
	__u32 number = REGS_SYSCALL(regs);
	bool wanted = is_wanted(number, abi);
	/* A return from a signal handler, and an exec, leave another number. */
	bool is_kept = number == (__u32)-1 || shape_of(number, abi) & SHAPE_KEPT;
	struct call call;
	__u64 *slot, state;

	if ((!wanted && !is_kept) || calls_frozen)
		return 0;
	slot = call_slot(task->pid);
	if (!slot) { /* kernel.pid_max was raised */
		if (wanted && armed && passes_filter_noinline(task))
			count_missing(MISSING_FULL, TYPE_SYSCALL);
		return 0;
	}
	state = *slot;
	*slot = (state & ~(__u64)(CALL_OPEN | CALL_BEGUN)) | mark;
	if (is_kept) {
		__u64 key = (__u64)task;
		struct kept_call *kept = bpf_map_lookup_elem(&kept_calls, &key);

		if (kept) {
			end_kept(task, key, kept, ret);
			return 0;
		}
	}
	if (!wanted)
		return 0;
	call.start = state & CALL_OPEN ? state >> CALL_TIME_SHIFT : 0;
	if (state >> CALL_TIME_SHIFT < task->start_time) {
		*slot = task->start_time << CALL_TIME_SHIFT | mark;
		call.start = first_start(task);
		if (!call.start)
			return 0;
	}
	if (!armed || !passes_filter(task) || !within_limit(TYPE_SYSCALL))
		return 0;
	read_registers(&call, regs, number, abi);
	/* Else its file would be counted, too. */
	if (files_of(&call) && !has_source_room()) {
		count_missing(MISSING_FULL, TYPE_SYSCALL);
		return 0;
	}
	find_files(task, &call, 0);
	if (has_paths(&call))
		write_call_with_paths(&call, ret);
	else
		write_call(task, &call, NULL, ret, 0);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	return end_call(regs, ret, CALL_ENDED);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit_again, struct pt_regs *regs, long ret)
{
	return take_mark(CALL_ENDED) ? 0 : end_call(regs, ret, 0);
}

/* Calls that do not return: exit and exit_group. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(last_call, struct task_struct *task)
{
	__u64 *slot = call_slot(task->pid), state;
	struct pt_regs *regs;
	struct call call;

	if (!slot || calls_frozen)
		return 0;
	state = *slot;
	*slot = state & ~(__u64)CALL_OPEN;
	if (!(state & CALL_OPEN) || state >> CALL_TIME_SHIFT < task->start_time || !armed || !passes_filter(task) || !within_limit(TYPE_SYSCALL))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	read_registers(&call, regs, REGS_SYSCALL(regs), abi_of(task, regs));
	call.start = state >> CALL_TIME_SHIFT;
	call.flags |= CALL_ENDLESS;
	call.shape &= SHAPE_ARGS;
	write_call(task, &call, NULL, 0, 0);
	return 0;
}

/* When the call began that a thread is in; 0: it is in none. A thread of which nothing was seen is in one if it sleeps. */
static __always_inline __u64 open_since(struct task_struct *task)
{
	__u64 *slot = call_slot(task->pid), state;

	if (!slot)
		return 0;
	state = *slot;
	if (state >> CALL_TIME_SHIFT < task->start_time)
		return is_blocked(task) ? first_start(task) : 0;
	return state & CALL_OPEN ? state >> CALL_TIME_SHIFT : 0;
}

/* Shared by all runs of the iterator, of which there is one at a time: too large for the stack. */
static struct call open_call;

/* Writes the calls that are open at the close of the window. */
SEC("iter/task")
int open_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct kept_call *kept;
	struct pt_regs *regs;
	__u64 start, key = (__u64)task;
	__u32 number;

	if (!task || task->flags & (PF_KTHREAD | worker_flags()))
		return 0;
	start = open_since(task);
	if (!start || start >= closed_at)
		return 0;
	if (!passes_filter_noinline(task))
		return 0;
	kept = bpf_map_lookup_elem(&kept_calls, &key);
	if (kept) {
		write_call(task, &kept->call, &kept->paths, 0, closed_at);
		return 0;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	number = REGS_SYSCALL(regs);
	if (!is_wanted(number, abi_of(task, regs)))
		return 0;
	read_registers(&open_call, regs, number, abi_of(task, regs));
	if (open_since(task) != start) /* it has ended: these may be the registers of the next one */
		return 0;
	open_call.start = start;
	find_files(task, &open_call, closed_at);
	write_call(task, &open_call, NULL, 0, closed_at);
	return 0;
}

#endif
