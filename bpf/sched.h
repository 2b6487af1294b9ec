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

/* Cannot see: a thread that is put back on its CPU without a switch. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct rec_switch *rec;
	__u8 want;

	if (!armed)
		return 0;
	want = sides(prev, next);
	if (!want)
		return 0;
	rec = reserve(REC_SWITCH, want | (preempt ? REC_PREEMPTED : 0), prev->pid, sizeof(*rec));
	if (!rec)
		return 0;
	rec->next_tid = next->pid;
	rec->prev_state = prev_state;
	rec->prev_prio = prev->prio;
	rec->next_prio = next->prio;
	rec->pad = 0;
	submit(rec);
	return 0;
}

static __always_inline int write_waking(__u32 kind, struct task_struct *wakee)
{
	struct task_struct *waker;
	struct rec_waking *rec;
	__u8 want;

	if (!armed)
		return 0;
	waker = bpf_get_current_task_btf();
	want = sides(waker, wakee);
	if (!want)
		return 0;
	rec = reserve(kind, want, waker->pid, sizeof(*rec));
	if (!rec)
		return 0;
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
	return write_waking(REC_WAKING, wakee);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *wakee)
{
	return write_waking(REC_WAKEUP_NEW, wakee);
}

#endif
