/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Contention of kernel locks, as spans of the threads that wait, from the first try that fails until the lock is held or given up.
 *
 * A thread waits for one sleeping lock at a time: mutexes, read-write semaphores, real-time and per-CPU locks. While it does, and in interrupts,
 * spinlocks may be contended: each CPU keeps one wait for each context (thread, soft interrupt, hard interrupt, NMI).
 *
 * Cannot see: locks that are taken at once, and how long they are held. Only mutexes and read-write semaphores know their owner. Where the
 * preempt count cannot be read (see interrupt.h), a wait for a spinlock is lost if an interrupt meanwhile waits for one as well.
 */
#ifndef WPROF_LOCK_H
#define WPROF_LOCK_H

/* The flags of contention_begin: include/trace/events/lock.h. */
enum rec_lock {
	LOCK_SPIN = 1,
	LOCK_READ = 2,
	LOCK_WRITE = 4,
	LOCK_RT = 8,
	LOCK_PERCPU = 16,
	LOCK_MUTEX = 32,
};

const volatile bool lock_stacks;

struct lock_wait {
	__u64 lock;
	__u64 start; /* 0: none */
	__u64 end;   /* set outside of the window only */
	__u32 kind;
	__u32 owner; /* tid; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lock_wait);
} lock_waits SEC(".maps");

enum context { IN_THREAD, IN_SOFTIRQ, IN_HARDIRQ, IN_NMI, CONTEXTS };

struct spin {
	struct lock_wait wait;
	__u64 task; /* the thread, or the one that is interrupted */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CONTEXTS);
	__type(key, __u32);
	__type(value, struct spin);
} spinning SEC(".maps");

static __always_inline enum context context_of(struct task_struct *task)
{
	__u32 count = preempt_count(task);

	if (count & NMI_MASK)
		return IN_NMI;
	if (count & IN_HARDIRQ_OR_NMI)
		return IN_HARDIRQ;
	return count & SERVING_SOFTIRQ ? IN_SOFTIRQ : IN_THREAD;
}

static __always_inline struct spin *spin_here(struct task_struct *task)
{
	__u32 key = context_of(task);

	return bpf_map_lookup_elem(&spinning, &key);
}

static __always_inline bool is_spin(__u32 kind)
{
	return kind & LOCK_SPIN && !(kind & LOCK_MUTEX);
}

/* The first word of a mutex, and the second one of a read-write semaphore, is the owner's address with flags in the lowest bits. */
static __always_inline __u32 kernel_lock_owner(__u64 lock, __u32 kind)
{
	struct task_struct *owner;

	if (kind & LOCK_MUTEX)
		owner = (struct task_struct *)(read_kernel_word(lock) & ~7ULL);
	else if (kind == LOCK_READ || kind == LOCK_WRITE)
		owner = (struct task_struct *)(read_kernel_word(lock + sizeof(__u64)) & ~7ULL);
	else
		return 0;
	return owner ? BPF_CORE_READ(owner, pid) : 0;
}

static __always_inline struct lock_wait *new_lock_wait(struct task_struct *task, __u32 kind)
{
	struct spin *spin;

	if (!is_spin(kind))
		return bpf_task_storage_get(&lock_waits, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	spin = spin_here(task);
	if (!spin)
		return NULL;
	spin->task = (__u64)task;
	return &spin->wait;
}

static __always_inline bool is_under_way(const struct lock_wait *wait)
{
	return wait->start && wait->end < wait->start;
}

/*
 * The kernel skips a program in an interrupt that comes while it runs on that CPU, and where a preempted thread is in it. So there are two of
 * the begin and two of the end, and the second does what the first one was skipped for. A wait whose end both were skipped for is still
 * under way when another one begins in the same place.
 */
volatile __u64 skipped_lock_ends;

/* A mutex begins once more when its waiter stops spinning. */
static __always_inline int begin_wait(unsigned long long *ctx, bool again)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 lock = argument_word(ctx, 0);
	__u32 kind = argument_word(ctx, 1);
	struct lock_wait *wait;

	if (!passes_filter_noinline(task))
		return 0;
	wait = new_lock_wait(task, kind);
	if (!wait)
		return 0;
	if (is_under_way(wait)) {
		if (wait->lock == lock && (again || kind & LOCK_MUTEX))
			return 0;
		if (armed)
			__sync_fetch_and_add(&skipped_lock_ends, 1);
	}
	wait->lock = lock;
	wait->kind = kind & LOCK_MUTEX ? LOCK_MUTEX : kind;
	wait->owner = kernel_lock_owner(lock, wait->kind);
	wait->start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/contention_begin")
int contention_begin(unsigned long long *ctx)
{
	return begin_wait(ctx, false);
}

SEC("tp_btf/contention_begin")
int contention_begin_again(unsigned long long *ctx)
{
	return begin_wait(ctx, true);
}

/* The wait for a lock that ends; NULL: its begin was not seen. */
static __always_inline struct lock_wait *ending_lock_wait(struct task_struct *task, __u64 lock)
{
	struct spin *spin = spin_here(task);
	struct lock_wait *wait;

	if (spin && spin->wait.start && spin->wait.lock == lock && spin->task == (__u64)task)
		return &spin->wait;
	wait = bpf_task_storage_get(&lock_waits, task, NULL, 0);
	return wait && wait->start && wait->lock == lock ? wait : NULL;
}

static __always_inline void write_lock_wait(void *ctx, struct task_struct *task, const struct lock_wait *wait, __s32 result, __u64 at)
{
	struct rec_stacks stacks = {};
	__u64 *values;

	if (ctx && lock_stacks)
		take_source_stacks(ctx, task, &stacks);
	values = reserve_typed_of(task->pid, TYPE_LOCK, wait->start, 6);
	if (!values)
		return;
	values[0] = wait->kind;
	values[1] = wait->lock;
	values[2] = wait->owner;
	values[3] = (__s64)result;
	values[4] = stacks.user;
	values[5] = stacks.kernel;
	if (at)
		leave_open(values, task->thread_info.cpu, at);
	submit_typed(values, 6);
}

static __always_inline int end_wait(unsigned long long *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct lock_wait *wait = ending_lock_wait(task, argument_word(ctx, 0)), ended;

	if (!wait)
		return 0;
	if (!armed) {
		wait->end = bpf_ktime_get_ns();
		return 0;
	}
	ended = *wait;
	wait->start = 0;
	if (!within_limit(TYPE_LOCK))
		return 0;
	write_lock_wait(ctx, task, &ended, argument_word(ctx, 1), 0);
	return 0;
}

SEC("tp_btf/contention_end")
int contention_end(unsigned long long *ctx)
{
	return end_wait(ctx);
}

SEC("tp_btf/contention_end")
int contention_end_again(unsigned long long *ctx)
{
	return end_wait(ctx);
}

/* Writes the sleeping locks that threads wait for at the close of the window. */
SEC("iter/task")
int open_locks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct lock_wait *wait;

	if (!task)
		return 0;
	wait = bpf_task_storage_get(&lock_waits, task, NULL, 0);
	if (wait && is_open(wait->start, wait->end))
		write_lock_wait(NULL, task, wait, 0, closed_at);
	return 0;
}

#endif
