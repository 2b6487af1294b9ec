/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Kinds of threads.
 */
#ifndef WPROF_THREADS_H
#define WPROF_THREADS_H

/* The flags of threads that the kernel runs within a process; before 6.4 one of them meant something else. */
static __always_inline __u32 worker_flags(void)
{
	return PF_IO_WORKER | (bpf_core_field_exists(struct kernel_clone_args, user_worker) ? PF_USER_WORKER : 0);
}

#endif
