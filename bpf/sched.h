/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Who takes a CPU over from whom, and who wakes whom. They run with the run queue's or the thread's lock held, up to
 * a million times a second.
 */
#ifndef WPROF_SCHED_H
#define WPROF_SCHED_H

static __always_inline __u8 sides(struct task_struct *subject, struct task_struct *object)
{
	return (wanted(subject) ? REC_SUBJECT : 0) | (wanted(object) ? REC_OBJECT : 0);
}

/*
 * Whether a thread that leaves while runnable has called sched_yield. A thread that is preempted while it returns from
 * that call counts as well.
 */
static __always_inline bool has_yielded(struct task_struct *prev)
{
	struct pt_regs *regs;

	if (!prev->pid || prev->flags & (PF_KTHREAD | worker_flags()))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(prev);
	return REGS_SYSCALL(regs) == (REGS_32BIT(regs) ? SYSCALL_YIELD_32BIT : SYSCALL_YIELD);
}

/* Cannot see: a thread that is put back on its CPU without a switch. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct rec_stacks stacks;
	struct rec_switch *rec;
	__u8 want;

	if (!armed)
		return 0;
	want = sides(prev, next);
	if (!want)
		return 0;
	if (preempt)
		want |= REC_PREEMPTED;
	else if (!prev_state && has_yielded(prev))
		want |= REC_YIELDED;
	if (offcpu_place == OFFCPU_AT_DEPARTURE && want & REC_SUBJECT && prev->pid && !(prev_state & TASK_DEAD) &&
	    take_stacks(ctx, prev, offcpu_user, offcpu_kernel, &stacks)) {
		rec = reserve(REC_SWITCH, want | REC_STACKED, prev->pid, sizeof(*rec) + sizeof(stacks));
		if (!rec)
			return 0;
		rec->prev_stacks[0] = stacks;
	} else {
		rec = reserve(REC_SWITCH, want, prev->pid, sizeof(*rec));
		if (!rec)
			return 0;
	}
	rec->next_tid = next->pid;
	rec->prev_state = prev_state;
	if (prev_state & TASK_DEAD)
		rec->prev_state |= prev->exit_state;
	rec->prev_prio = prev->prio;
	rec->next_prio = next->prio;
	rec->distance = 0;
	if (offcpu_place == OFFCPU_AT_RETURN && want & REC_OBJECT && announce_return(next, rec->hdr.cpu))
		rec->hdr.flags |= REC_ANNOUNCED;
	submit(rec);
	return 0;
}

const volatile bool waker_kernel, waker_user; /* stacks */

static __always_inline int write_waking(void *ctx, __u32 kind, struct task_struct *wakee)
{
	struct task_struct *waker;
	struct rec_stacks stacks;
	struct rec_waking *rec;
	__u8 want;

	if (!armed)
		return 0;
	waker = bpf_get_current_task_btf();
	want = sides(waker, wakee);
	if (!want)
		return 0;
	if (kind == REC_WAKING && in_interrupt(ctx, waker))
		want |= REC_INTERRUPT;
	if ((waker_kernel || waker_user) && take_stacks(ctx, waker, waker_user, waker_kernel, &stacks)) {
		rec = reserve(kind, want | REC_STACKED, waker->pid, sizeof(*rec) + sizeof(stacks));
		if (!rec)
			return 0;
		rec->stacks[0] = stacks;
	} else {
		rec = reserve(kind, want, waker->pid, sizeof(*rec));
		if (!rec)
			return 0;
	}
	rec->wakee_tid = wakee->pid;
	rec->prio = wakee->prio;
	rec->target_cpu = wakee->thread_info.cpu;
	submit(rec);
	return 0;
}

/* Also in interrupts, nested in any other program; the waker is then whom they interrupt. */
SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *wakee)
{
	return write_waking(ctx, REC_WAKING, wakee);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *wakee)
{
	return write_waking(ctx, REC_WAKEUP_NEW, wakee);
}

#endif
