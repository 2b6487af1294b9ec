/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Switches and wakings. The programs run with the run queue's or the thread's lock held, up to
 * a million times a second.
 */
#ifndef WPROF_SCHED_H
#define WPROF_SCHED_H

static __always_inline __u8 filter_flags(struct task_struct *subject, struct task_struct *object)
{
	return (passes_filter(subject) ? REC_SUBJECT : 0) | (passes_filter(object) ? REC_OBJECT : 0);
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

static __always_inline bool fits_byte(int prio)
{
	return (__u32)(prio + 1) < 256;
}

/* If next's stack is to be taken, arranges for its record after the switch, and returns true. */
static __always_inline bool announce_return(struct task_struct *next, __u8 flags, __u32 cpu)
{
	return offcpu_place == OFFCPU_AT_RETURN && flags & REC_OBJECT && expect_return(next, cpu);
}

/* What is known of a thread beside its switch or waking. */
struct record_parts {
	struct rec_stacks stacks;
	struct rec_wait_part wait;
	const struct counts *counts;
	__u16 mask; /* enum rec_part of what there is */
};

static __always_inline __u32 parts_size(const struct record_parts *parts)
{
	return (parts->mask & PART_STACKS ? sizeof(parts->stacks) : 0) + (parts->mask & PART_WAIT ? sizeof(parts->wait) : 0) +
	       (parts->mask & PART_COUNTS ? counts_size() : 0) + (parts->mask ? sizeof(struct rec_parts) : 0);
}

/* Writes the parts after a record, if there are any, and returns the flag for the record's header. */
static __always_inline __u32 write_parts(void *to, const struct record_parts *parts)
{
	_Static_assert(sizeof(struct rec_parts) == sizeof(__u64), "the list is one word");
	__u64 list = parts->mask;
	__u32 shift = 16; /* of the next part's length */

	if (!parts->mask)
		return 0;
	if (parts->mask & PART_STACKS) {
		*(struct rec_stacks *)to = parts->stacks;
		to += sizeof(parts->stacks);
		list |= (__u64)(sizeof(parts->stacks) / 8) << shift;
		shift += 8;
	}
	if (parts->mask & PART_WAIT) {
		*(struct rec_wait_part *)to = parts->wait;
		to += sizeof(parts->wait);
		list |= (__u64)(sizeof(parts->wait) / 8) << shift;
		shift += 8;
	}
	if (parts->mask & PART_COUNTS && parts->counts) {
		write_counts(to, parts->counts);
		to += counts_size();
		list |= (__u64)(counts_size() / 8) << shift;
	}
	*(__u64 *)to = list;
	return RECORD_PARTS;
}

/* Returns false where the record has to be whole. */
static __always_inline bool pack_switch(struct ring *ring, __u32 cpu, struct task_struct *prev, struct task_struct *next,
					__u32 prev_state, __u8 flags, const struct record_parts *parts)
{
	int prev_prio = prev->prio, next_prio = next->prio;
	struct rec_packed_switch *rec;
	__u32 size = sizeof(*rec) + parts_size(parts);
	__u64 ts;

	if (prev_state >> 16 || !fits_byte(prev_prio) || !fits_byte(next_prio))
		return false;
	rec = pack(ring, cpu, prev->pid, size, &ts);
	if (!rec)
		return false;
	rec->next_tid = next->pid;
	rec->prev_state = prev_state;
	rec->prev_prio = prev_prio + 1;
	rec->next_prio = next_prio + 1;
	if (announce_return(next, flags, cpu))
		flags |= REC_ANNOUNCED;
	submit_packed(rec, size | write_parts(rec + 1, parts), REC_SWITCH, flags, ts);
	ring->packing.running = next->pid;
	return true;
}

static __always_inline void write_switch(struct ring *ring, __u32 cpu, struct task_struct *prev, struct task_struct *next,
					 __u32 prev_state, __u8 flags, const struct record_parts *parts)
{
	__u32 size = sizeof(struct rec_switch) + parts_size(parts);
	struct rec_switch *rec;

	if (pack_switch(ring, cpu, prev, next, prev_state, flags, parts))
		return;
	rec = reserve(REC_SWITCH, flags, prev->pid, size);
	if (!rec)
		return;
	rec->next_tid = next->pid;
	rec->prev_state = prev_state;
	rec->prev_prio = prev->prio;
	rec->next_prio = next->prio;
	rec->distance = 0;
	if (announce_return(next, flags, cpu))
		rec->hdr.flags |= REC_ANNOUNCED;
	set_pack_base(ring, &rec->hdr, next->pid);
	submit(rec, size | write_parts(rec + 1, parts));
}

/* Where a thread is that leaves its CPU, as far as that is not taken when it is back. */
static __always_inline void describe_departure(void *ctx, struct task_struct *prev, __u32 prev_state, struct record_parts *parts)
{
	if (offcpu_place == OFFCPU_AT_DEPARTURE) {
		if (take_stacks(ctx, prev, offcpu_user, offcpu_kernel, &parts->stacks))
			parts->mask |= PART_STACKS;
		if (waits_enabled)
			parts->wait.wait = take_wait();
	}
	/* Only now does the lock say who owns it: when the thread is back, it may be the thread itself. */
	if (waits_enabled && prev_state)
		parts->wait.owner = lock_owner(prev);
	if (parts->wait.wait || parts->wait.owner)
		parts->mask |= PART_WAIT;
}

/* Cannot see: a thread that is put back on its CPU without a switch. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct record_parts parts = {};
	struct ring *ring;
	__u32 cpu;
	__u8 flags;

	if (!armed)
		return 0;
	flags = filter_flags(prev, next);
	if (!flags)
		return 0;
	if (preempt)
		flags |= REC_PREEMPTED;
	else if (!prev_state && has_yielded(prev))
		flags |= REC_YIELDED;
	if (prev_state & TASK_DEAD)
		prev_state |= prev->exit_state;
	prev_state = mark_iowait(prev, prev_state);
	if ((preempt || !prev_state) && is_throttled(prev))
		prev_state = REC_THROTTLED;
	cpu = bpf_get_smp_processor_id();
	ring = ring_of(cpu);
	if (!ring)
		return 0;
	if (counter_count) {
		parts.counts = count_interval(cpu, prev->pid, flags & REC_OBJECT ? next->pid : 0);
		if (parts.counts && flags & REC_SUBJECT)
			parts.mask |= PART_COUNTS;
		count_work(prev, parts.counts);
	}
	if (flags & REC_SUBJECT && prev->pid && !(prev_state & TASK_DEAD))
		describe_departure(ctx, prev, prev_state, &parts);
	write_switch(ring, cpu, prev, next, prev_state, flags, &parts);
	return 0;
}

const volatile bool waker_kernel, waker_user; /* stacks */

/* Returns false where the record has to be whole. */
static __always_inline bool pack_waking(struct ring *ring, __u32 cpu, __u32 kind, __u32 waker, struct task_struct *wakee, __u8 flags,
					const struct record_parts *parts)
{
	struct rec_packed_waking *rec;
	__u32 size = sizeof(*rec) + parts_size(parts);
	int prio = wakee->prio;
	__u64 ts;

	if (!fits_byte(prio))
		return false;
	rec = pack(ring, cpu, waker, size, &ts);
	if (!rec)
		return false;
	rec->wakee_tid = wakee->pid;
	rec->target_cpu = wakee->thread_info.cpu;
	rec->prio = prio + 1;
	rec->pad = 0;
	submit_packed(rec, size | write_parts(rec + 1, parts), kind, flags, ts);
	return true;
}

static __always_inline void write_waking(struct ring *ring, __u32 cpu, __u32 kind, __u32 waker, struct task_struct *wakee, __u8 flags,
					 const struct record_parts *parts)
{
	__u32 size = sizeof(struct rec_waking) + parts_size(parts);
	struct rec_waking *rec;

	if (pack_waking(ring, cpu, kind, waker, wakee, flags, parts))
		return;
	rec = reserve(kind, flags, waker, size);
	if (!rec)
		return;
	rec->wakee_tid = wakee->pid;
	rec->prio = wakee->prio;
	rec->target_cpu = wakee->thread_info.cpu;
	set_pack_base(ring, &rec->hdr, waker);
	submit(rec, size | write_parts(rec + 1, parts));
}

static __always_inline int woken(void *ctx, __u32 kind, struct task_struct *wakee)
{
	struct record_parts parts = {};
	struct task_struct *waker;
	struct ring *ring;
	__u32 cpu;
	__u8 flags;

	if (!armed)
		return 0;
	waker = bpf_get_current_task_btf();
	flags = filter_flags(waker, wakee);
	if (!flags)
		return 0;
	if (kind == REC_WAKING && in_interrupt(ctx, waker))
		flags |= REC_INTERRUPT;
	cpu = bpf_get_smp_processor_id();
	ring = ring_of(cpu);
	if (!ring)
		return 0;
	if ((waker_kernel || waker_user) && take_stacks(ctx, waker, waker_user, waker_kernel, &parts.stacks))
		parts.mask = PART_STACKS;
	write_waking(ring, cpu, kind, waker->pid, wakee, flags, &parts);
	return 0;
}

/* Also in interrupts, nested in any other program; the waker is then the interrupted thread. */
SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *wakee)
{
	return woken(ctx, REC_WAKING, wakee);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *wakee)
{
	return woken(ctx, REC_WAKEUP_NEW, wakee);
}

#endif
