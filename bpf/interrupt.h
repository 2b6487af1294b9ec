/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Whether what happens on a CPU is the running thread's own doing, or that of an interrupt.
 *
 * Hard interrupts are counted in the CPU's preempt count: x86 keeps it in a per-CPU variable, __preempt_count, from 6.2 to
 * 6.14 in pcpu_hot; arm64 in thread_info. Soft interrupts are counted there as well, but most run where a thread lets
 * them in again, as the sender's of a loopback connection, and are then its own doing. They are an interrupt's if they
 * interrupt the idle thread, or a program: on x86 those run on the thread's own stack, the others on that of interrupts.
 *
 * Without CONFIG_KALLSYMS_ALL x86 lets nobody read the count. Then an interrupt is what comes to the idle thread, or runs on the
 * thread's own stack without a system call, as interrupts of a program do; and its page faults, whose wakings pass
 * for an interrupt's.
 *
 * Cannot see: soft interrupts that interrupt a thread within the kernel, and on arm64 within a program. They pass for
 * the thread's own doing. So do hard interrupts within the kernel where the count cannot be read.
 */
#ifndef WPROF_INTERRUPT_H
#define WPROF_INTERRUPT_H

/* include/linux/preempt.h */
#define SERVING_SOFTIRQ 0x100
#define IN_HARDIRQ_OR_NMI 0xff0000

#if defined(__TARGET_ARCH_x86)

/* Where the preempt count is: the reader finds out and puts the id of the variable in place of its number. */
enum preempt_count_place {
	PREEMPT_COUNT_NOWHERE,
	PREEMPT_COUNT_VARIABLE,
	PREEMPT_COUNT_HOT,
};
const volatile __u32 preempt_count_place;

#define PREEMPT_COUNT_ID 0x7072656570746364

#define THREAD_SIZE 16384

static __always_inline __u32 preempt_count(struct task_struct *current)
{
	void *at;

	if (preempt_count_place == PREEMPT_COUNT_NOWHERE)
		return 0;
	asm volatile("%0 = %1 ll" : "=r"(at) : "i"(PREEMPT_COUNT_ID));
	at = bpf_this_cpu_ptr(at);
	if (preempt_count_place == PREEMPT_COUNT_HOT)
		return ((struct pcpu_hot *)at)->preempt_count;
	return *(__u32 *)at;
}

static __always_inline bool on_own_stack(void *ctx, struct task_struct *current)
{
	__u64 at = (__u64)ctx, from = (__u64)current->stack, to = from + THREAD_SIZE;

	/* Programs may compare the pointer, but not count with it. */
	barrier_var(at);
	barrier_var(to);
	if (at < from)
		return false;
	return at < to;
}

#elif defined(__TARGET_ARCH_arm64)

static __always_inline __u32 preempt_count(struct task_struct *current)
{
	return current->thread_info.preempt_count;
}

static __always_inline bool on_own_stack(void *ctx, struct task_struct *current)
{
	return false;
}

#endif

#if defined(__TARGET_ARCH_x86)
/* Interrupts and exceptions of a program set the number of the system call to -1. */
static __always_inline bool interrupts_program(void *ctx, struct task_struct *current)
{
	return !(current->flags & (PF_KTHREAD | worker_flags())) && on_own_stack(ctx, current) &&
	       REGS_SYSCALL((struct pt_regs *)bpf_task_pt_regs(current)) == -1;
}
#endif

/* Its own doing is to serve them. */
static __always_inline bool is_ksoftirqd(struct task_struct *task)
{
	return task->flags & PF_KTHREAD && *(__u64 *)task->comm == *(const __u64 *)"ksoftirq";
}

static __always_inline bool in_interrupt(void *ctx, struct task_struct *current)
{
	__u32 count = preempt_count(current);

#if defined(__TARGET_ARCH_x86)
	if (preempt_count_place == PREEMPT_COUNT_NOWHERE)
		return !current->pid || interrupts_program(ctx, current);
#endif
	if (count & IN_HARDIRQ_OR_NMI)
		return true;
	if (!(count & SERVING_SOFTIRQ))
		return false;
	return !current->pid || (on_own_stack(ctx, current) && !is_ksoftirqd(current));
}

#endif
