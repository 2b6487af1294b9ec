/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Python's global lock (GIL): whether a futex is one of those in its state, and which thread has it.
 *
 * A thread waits for it in a condition variable for 5 ms by default (sys.setswitchinterval()), again and again. The lock's state has two condition
 * variables and two mutexes. Before 3.12 there is one state in the runtime, since then each interpreter has a pointer to one, mostly to the same.
 *
 * Where a process has its runtime is known since a stack of it was walked: see python.h. All of this is memory of the process, and may be anything.
 */
#ifndef WPROF_GIL_H
#define WPROF_GIL_H

#if defined(__TARGET_ARCH_x86)

#define GIL_INTERPRETERS 4  /* the newest ones, of which the states are looked at */
#define PTHREAD_TID 720	    /* in glibc's struct pthread, at pthread_self() */

/* other: the thread whose memory is read; NULL: it is the running one. */
static __always_inline bool read_gil(struct other_thread *other, void *to, __u32 size, __u64 at)
{
	return other ? !read_other(other, to, size, at) : !bpf_probe_read_user(to, size, (void *)at);
}

/* The lock's state that has an address; 0: none. */
static __always_inline __u64 find_gil(struct other_thread *other, const struct python *p, __u64 runtime, __u64 address)
{
	__u64 at = 0, gil = runtime + p->gil;

	if (!p->gil_in_interpreter)
		return address - gil < p->gil_bytes ? gil : 0;
	if (!read_gil(other, &at, sizeof(at), runtime + p->interpreters))
		return 0;
#pragma unroll
	for (int i = 0; i < GIL_INTERPRETERS; i++) {
		if (!at || !read_gil(other, &gil, sizeof(gil), at + p->gil))
			return 0;
		if (gil && address - gil < p->gil_bytes)
			return gil;
		if (!read_gil(other, &at, sizeof(at), at + p->next_interpreter))
			return 0;
	}
	return 0;
}

static __always_inline __u64 gil_with(struct other_thread *other, struct task_struct *task, __u64 address)
{
	const struct python *p;
	__u64 runtime = 0;
	__u32 file = 0;

	p = python_in(task, &runtime, &file);
	return p ? find_gil(other, p, runtime, address) : 0;
}

/*
 * The tid of the thread that has the lock, as it knows itself; 0: none has it, or it is not known. A thread that takes the lock says so before it
 * says who it is. Where the state names the task itself, which waits until another thread has the lock, that is about to change.
 */
static __always_inline __u32 gil_holder(struct other_thread *other, struct task_struct *task, __u64 gil)
{
	__u64 runtime = 0, thread = 0, self = 0, tid = 0;
	__u32 file = 0, locked = 0;
	const struct python *p;

	p = python_in(task, &runtime, &file);
	if (!p || !read_gil(other, &locked, sizeof(locked), gil + p->gil_locked) || locked != 1)
		return 0;
	if (!read_gil(other, &thread, sizeof(thread), gil + p->gil_holder) || !thread)
		return 0;
	if (!read_gil(other, &self, sizeof(self), thread + p->thread_id) || self == task->thread.fsbase)
		return 0;
	if (p->native_id)
		return read_gil(other, &tid, sizeof(tid), thread + p->native_id) ? tid : 0;
	return read_gil(other, &tid, sizeof(__u32), self + PTHREAD_TID) ? tid : 0;
}

/* The state of the running thread's process that has an address; 0: none. */
__noinline __u64 own_gil(__u64 address)
{
	if (!python_enabled)
		return 0;
	return gil_with(NULL, bpf_get_current_task_btf(), address);
}

/* The thread that has the lock for which the running thread is about to wait, at an address in its state; 0: it is no such lock, or not known. */
__noinline __u64 own_gil_holder(__u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 gil;

	if (!python_enabled)
		return 0;
	gil = gil_with(NULL, task, address);
	return gil ? gil_holder(NULL, task, gil) : 0;
}

#else

static __always_inline __u64 gil_with(struct other_thread *other, struct task_struct *task, __u64 address)
{
	return 0;
}

static __always_inline __u32 gil_holder(struct other_thread *other, struct task_struct *task, __u64 gil)
{
	return 0;
}

static __always_inline __u64 own_gil(__u64 address)
{
	return 0;
}

static __always_inline __u64 own_gil_holder(__u64 address)
{
	return 0;
}

#endif
#endif
