/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Whether a tracepoint fires in the context of the running thread or in an interrupt.
 *
 * Hard interrupts are counted in the CPU's preempt count: x86 keeps it in a per-CPU variable, __preempt_count, from 6.2 to
 * 6.14 in pcpu_hot; arm64 in thread_info. Soft interrupts are counted there as well. They run when a hard interrupt ends,
 * and then count as an interrupt, or when a thread enables them again, as the sender of a loopback connection does, and
 * then count as the thread's. On x86 those at the end of an interrupt of user mode run on the thread's own stack, all others
 * on the IRQ stack, whose first word is the return address into the function that switched to it: do_softirq for a thread's.
 *
 * Without CONFIG_KALLSYMS_ALL the kernel refuses programs that name a per-CPU variable. The count is then read at its
 * distance from the CPU's run queue, which BTF gives. The address of the IRQ stack is always read in this way. Where BTF has
 * no per-CPU variables, a tracepoint counts as in an interrupt if it fires in the idle thread, or on the thread's own stack
 * outside of a system call, as in an interrupt of user mode. Page faults of user mode cannot be distinguished from those.
 *
 * Not detected: soft interrupts on arm64, except in the idle thread; and hard interrupts of a thread in the kernel where the
 * count cannot be read. They count as the thread's.
 */
#ifndef WPROF_INTERRUPT_H
#define WPROF_INTERRUPT_H

/* include/linux/preempt.h */
#define SERVING_SOFTIRQ 0x100
#define IN_HARDIRQ_OR_NMI 0xff0000
#define NMI_MASK 0xf00000

#if defined(__TARGET_ARCH_x86)

/* Where the preempt count is. The loader sets it, and replaces PREEMPT_COUNT_ID by the BTF id of the variable. */
enum preempt_count_location {
	PREEMPT_COUNT_UNKNOWN,
	PREEMPT_COUNT_VARIABLE,
	PREEMPT_COUNT_HOT,
};
const volatile __u32 preempt_count_location;
const volatile __s32 preempt_count_from_rq; /* bytes; 0: the programs name the variable */

#define PREEMPT_COUNT_ID 0x7072656570746364

#define THREAD_SIZE 16384

static __always_inline bool preempt_count_known(struct task_struct *current)
{
	if (preempt_count_location == PREEMPT_COUNT_UNKNOWN)
		return false;
	return !preempt_count_from_rq || bpf_core_field_exists(current->se.cfs_rq);
}

static __always_inline __u64 at_rq(struct task_struct *current, __s32 distance)
{
	__u64 rq = (__u64)current->se.cfs_rq->rq;

	barrier_var(rq);
	return rq + distance;
}

static __always_inline __u32 preempt_count_by_rq(struct task_struct *current)
{
	__u64 at = at_rq(current, preempt_count_from_rq);
	__u32 count = 0;

	if (preempt_count_location == PREEMPT_COUNT_HOT)
		at += bpf_core_field_offset(struct pcpu_hot, preempt_count);
	bpf_probe_read_kernel(&count, sizeof(count), (void *)at);
	return count;
}

static __always_inline __u32 preempt_count(struct task_struct *current)
{
	void *at;

	if (!preempt_count_known(current))
		return 0;
	if (preempt_count_from_rq)
		return preempt_count_by_rq(current);
	asm volatile("%0 = %1 ll" : "=r"(at) : "i"(PREEMPT_COUNT_ID));
	at = bpf_this_cpu_ptr(at);
	if (preempt_count_location == PREEMPT_COUNT_HOT)
		return ((struct pcpu_hot *)at)->preempt_count;
	return *(__u32 *)at;
}

const volatile __s32 irq_stack_from_rq; /* bytes, to the variable that has the top of the IRQ stack; 0: not known */
const volatile __u64 do_softirq_at[2];	/* of do_softirq, and of the part that the compiler may split off; 0: there is none */

#define DO_SOFTIRQ_SIZE 1024 /* at most; no function right after it switches stacks */

/* The top of the CPU's IRQ stack; 0: not known. */
static __always_inline __u64 irq_stack_top(struct task_struct *current)
{
	__u64 at, top = 0;

	if (!irq_stack_from_rq || !bpf_core_field_exists(current->se.cfs_rq))
		return 0;
	at = at_rq(current, irq_stack_from_rq);
	if (preempt_count_location == PREEMPT_COUNT_HOT)
		at += bpf_core_field_offset(struct pcpu_hot, hardirq_stack_ptr);
	bpf_probe_read_kernel(&top, sizeof(top), (void *)at);
	return top;
}

/*
 * Whether the running thread itself, and no interrupt, has switched to the IRQ stack (call_on_irqstack in asm/irq_stack.h). known_top may be where
 * the CPU's top is kept, which does not change.
 */
static __always_inline bool runs_own_softirqs(struct task_struct *current, __u64 *known_top)
{
	__u64 top = known_top ? *known_top : 0, caller;

	if (!top) {
		top = irq_stack_top(current);
		if (!top)
			return true;
		if (known_top)
			*known_top = top;
	}
	caller = read_kernel_word(top - sizeof(caller));
	for (int i = 0; i < 2; i++) {
		if (do_softirq_at[i] && caller - do_softirq_at[i] < DO_SOFTIRQ_SIZE)
			return true;
	}
	return false;
}

static __always_inline bool on_own_stack(void *ctx, struct task_struct *current)
{
	__u64 at = (__u64)ctx, from = (__u64)current->stack, to = from + THREAD_SIZE;

	/* The verifier allows comparing the pointer, but no arithmetic with it. */
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

static __always_inline bool runs_own_softirqs(struct task_struct *current, __u64 *known_top)
{
	return true;
}

#endif

#if defined(__TARGET_ARCH_x86)
/* Interrupts and exceptions in user mode set the system call number to -1. */
static __always_inline bool is_user_interrupt(void *ctx, struct task_struct *current)
{
	return !(current->flags & (PF_KTHREAD | worker_flags())) && on_own_stack(ctx, current) &&
	       REGS_SYSCALL((struct pt_regs *)bpf_task_pt_regs(current)) == -1;
}
#endif

/* Soft interrupts are this thread's own work: they count as the thread's. */
static __always_inline bool is_ksoftirqd(struct task_struct *task)
{
	return task->flags & PF_KTHREAD && *(__u64 *)task->comm == *(const __u64 *)"ksoftirq";
}

/* known_top: see runs_own_softirqs; may be NULL. */
static __always_inline bool in_interrupt_of(void *ctx, struct task_struct *current, __u64 *known_top)
{
	__u32 count = preempt_count(current);

#if defined(__TARGET_ARCH_x86)
	if (!preempt_count_known(current))
		return !current->pid || is_user_interrupt(ctx, current);
#endif
	if (count & IN_HARDIRQ_OR_NMI)
		return true;
	if (!(count & SERVING_SOFTIRQ))
		return false;
	if (!current->pid)
		return true;
	return on_own_stack(ctx, current) ? !is_ksoftirqd(current) : !runs_own_softirqs(current, known_top);
}

static __always_inline bool in_interrupt(void *ctx, struct task_struct *current)
{
	return in_interrupt_of(ctx, current, NULL);
}

#endif
