/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reads the memory of threads that do not run, in sleepable programs.
 */
#ifndef WPROF_OTHERTHREAD_H
#define WPROF_OTHERTHREAD_H

struct other_thread {
	struct task_struct *task; /* bpf_loop() and bpf_find_vma() take pointers to the stack only */
};

/* The last read, of one program at a time. Here the verifier does not follow the values. */
static struct {
	__u64 at;
	__u64 size;
	__u64 forbidden; /* not 0: the memory there must not be read */
	bool locked;	 /* a mapping was locked since this was set to false */
} other_read;

/* 1 if a value is not 0. Without a branch, and hidden from the compiler, which would make one of it. */
static __always_inline __u64 is_set(__u64 value)
{
	__u64 negative = -value;

	barrier_var(negative);
	value = (value | negative) >> 63;
	barrier_var(value);
	return value;
}

/*
 * A stack is private memory, and so is generated code, which need not be writable any more. A register that holds no frame pointer may
 * point into a mapped file, whose server may hang, or to memory that another thread of the process has to provide (userfaultfd).
 *
 * Without a branch, as the functions below: the verifier follows what comes behind each of a hundred reads once for each path through them.
 */
static long check_is_private(struct task_struct *task, struct vm_area_struct *area, struct other_thread *other)
{
	__u64 flags = area->vm_flags;
	__u64 is_cut = (area->vm_end - other_read.at - other_read.size) >> 63;
	__u64 is_file = is_set((__u64)BPF_CORE_READ(area, vm_file)) & ~is_set(flags & VM_WRITE);

	other_read.forbidden = (flags & (VM_SHARED | VM_UFFD_MISSING)) | is_file | is_cut;
	return 0;
}

/*
 * 0 if a part of a thread's memory can be read, else 1. Reading waits for mmap_lock, which a hung process may hold for writing for as long as
 * it hangs. bpf_find_vma() only tries the lock.
 */
static __always_inline __u64 is_forbidden(struct other_thread *other, __u32 size, __u64 at)
{
	long err;

	other_read.at = at;
	other_read.size = size;
	other_read.forbidden = 1; /* if nothing is mapped there */
	err = bpf_find_vma(other->task, at, check_is_private, other, 0);
	other_read.locked |= is_set(err ^ -EBUSY) ^ 1;
	return is_set(*(volatile __u64 *)&other_read.forbidden);
}

/* Reads a part of a thread's stack or code, of which limit, a power of two, is more than the size if that is no constant, else 0. 0: it was read. */
static __always_inline long read_other_part(struct other_thread *other, void *to, __u32 size, const __u32 limit, __u64 at)
{
	__u64 forbidden = is_forbidden(other, size, at);
	__u64 part = (limit ? bounded(size, limit) : size) & (forbidden - 1);

	return bpf_copy_from_user_task(to, part, (void *)at, other->task, 0) | forbidden;
}

static __always_inline long read_other(struct other_thread *other, void *to, __u32 size, __u64 at)
{
	return read_other_part(other, to, size, 0, at);
}

#endif
