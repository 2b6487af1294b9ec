/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reads the memory of threads that do not run, in sleepable programs.
 */
#ifndef WPROF_OTHERTHREAD_H
#define WPROF_OTHERTHREAD_H

struct other_thread {
	struct task_struct *task;
	__u64 at; /* of the last read */
	__u32 size;
	bool is_private; /* the memory there may be a stack's, or generated code */
	bool locked;   /* memory could not be read, because its mapping was locked */
};

/*
 * A stack is private memory, and so is generated code, which need not be writable any more. A register that holds no frame pointer may
 * point into a mapped file, whose server may hang, or to memory that another thread of the process has to provide (userfaultfd).
 */
static long check_is_private(struct task_struct *task, struct vm_area_struct *area, struct other_thread *other)
{
	bool shared = area->vm_flags & (VM_SHARED | VM_UFFD_MISSING), written = area->vm_flags & VM_WRITE;

	other->is_private = !shared && (written || !area->vm_file) && area->vm_end - other->at >= other->size;
	return 0;
}

/*
 * Whether a part of a thread's memory can be read. Reading waits for mmap_lock, which a hung process may hold for writing for as long as it
 * hangs. bpf_find_vma() only tries the lock.
 */
static __always_inline bool is_readable(struct other_thread *other, __u32 size, __u64 at)
{
	long err;

	other->at = at;
	other->size = size;
	other->is_private = false;
	err = bpf_find_vma(other->task, at, check_is_private, other, 0);
	if (err == -EBUSY)
		other->locked = true;
	return !err && other->is_private;
}

/* Reads a part of a thread's stack or code; 0: it was read. */
static __always_inline long read_other(struct other_thread *other, void *to, __u32 size, __u64 at)
{
	if (!is_readable(other, size, at))
		return -EFAULT;
	return bpf_copy_from_user_task(to, size, (void *)at, other->task, 0);
}

#endif
