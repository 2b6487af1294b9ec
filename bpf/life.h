/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A thread's identity, and its changes. These records are written independently of the filter, because a kept event may
 * refer to the thread later; the flags say which threads pass the filter. A program may be preempted here, so a record
 * may follow later ones in a ring.
 */
#ifndef WPROF_LIFE_H
#define WPROF_LIFE_H

const volatile bool args_enabled = true;

static __always_inline void write_comm(char *to, struct task_struct *task)
{
	/* Up to 6.1 the bytes after the 0 are left over from a longer name. */
	__builtin_memset(to, 0, COMM_LEN);
	bpf_probe_read_kernel_str(to, COMM_LEN, task->comm);
}

#define MAX_NS_LEVEL 32 /* include/linux/pid_namespace.h */

/* A thread's id in its own PID namespace; 0: that is the initial one, so that it costs nothing without containers. */
static __always_inline __u32 ns_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	int nr = 0;

	if (!level || level > MAX_NS_LEVEL)
		return 0;
	/* The kernel's struct upid has a pointer to the namespace beside nr. */
	bpf_probe_read_kernel(&nr, sizeof(nr), (void *)pid + bpf_core_field_offset(struct pid, numbers) + level * 16);
	return nr;
}

static __always_inline void write_ident(struct rec_ident *ident, struct task_struct *task)
{
	ident->tid = task->pid;
	ident->pid = task->tgid;
	ident->ppid = BPF_CORE_READ(task, real_parent, tgid);
	ident->task_flags = task->flags;
	ident->start_ns = task->start_time;
	write_comm(ident->comm, task);
	write_comm(ident->process_comm, task->group_leader);
	ident->ns_tid = ns_number(task);
	ident->ns_pid = ns_number(task->group_leader);
}

/* Not inlined: these programs are not the hot ones. */
static __noinline bool passes_filter_noinline(struct task_struct *task)
{
	return passes_filter(task);
}

static __always_inline __u8 life_flag(bool passes, __u8 flag)
{
	return life_enabled && passes ? flag : 0;
}

/*
 * Counts a record that did not fit as what it would have become: an event, if it passes the filter; else it would only
 * have identified a thread.
 */
static __noinline void count_life_loss(__u32 kind, bool passes)
{
	count_loss(bpf_get_smp_processor_id(), life_enabled && passes ? kind : LOST_DEFINITION);
}

static __always_inline void write_fork(struct task_struct *parent, struct task_struct *child)
{
	__u64 cgroup = intern_cgroup(child); /* before the record that names it */
	struct rec_fork *rec;

	rec = try_reserve(REC_FORK, 0, parent->pid, sizeof(*rec));
	if (!rec) {
		count_life_loss(REC_FORK, passes_filter_noinline(parent) || passes_filter_noinline(child));
		return;
	}
	write_ident(&rec->child, child);
	rec->cgroup = cgroup;
	rec->hdr.flags = life_flag(passes_filter_noinline(parent), REC_SUBJECT) | life_flag(ident_passes(&rec->child, child), REC_OBJECT);
	submit(rec, sizeof(*rec));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	follow_child(parent, child);
	if (armed)
		write_fork(parent, child);
	return 0;
}

/*
 * The kernel creates io_uring's workers, and vhost's since 6.4, without the fork tracepoint: their fork is recorded at
 * their first wakeup. The program must be attached before sched_wakeup_new, so that the fork comes before the wakeup.
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(user_worker, struct task_struct *worker)
{
	if (armed && worker->flags & worker_flags())
		write_fork(bpf_get_current_task_btf(), worker);
	return 0;
}

/* Returns whether the whole path fitted. */
static __always_inline bool write_exec(struct rec_exec *rec, struct task_struct *task, __u32 old_tid,
				       const char *filename, __u32 room)
{
	long len;

	write_ident(&rec->ident, task);
	rec->hdr.flags = life_flag(ident_passes(&rec->ident, task), REC_SUBJECT);
	rec->old_tid = old_tid;
	len = bpf_probe_read_kernel_str(rec->filename, room, filename);
	rec->filename_len = len > 0 ? len - 1 : 0;
	return len < room;
}

/* Takes no page fault: if the arguments are not in memory, because they were swapped out at once, there is no record. */
static __always_inline void write_args(struct rec_args *rec, struct task_struct *task, __u64 from, __u64 len, __u32 room)
{
	if (len > room) {
		len = room;
		rec->hdr.flags |= REC_CUT;
	}
	rec->pid = task->tgid;
	rec->len = len;
	if (bpf_probe_read_user(rec->args, len, (const void *)from))
		discard(rec, sizeof(*rec) + room);
	else
		submit(rec, sizeof(*rec) + room);
}

/* The kernel has just copied the arguments to the new stack, back to back. */
static __always_inline void record_args(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct rec_args *rec;
	__u64 from, len;
	__u8 flags;

	if (!args_enabled || !mm)
		return;
	from = BPF_CORE_READ(mm, arg_start);
	len = BPF_CORE_READ(mm, arg_end) - from;
	if (!len)
		return;
	flags = life_flag(passes_filter_noinline(task), REC_SUBJECT);
	if (len <= ARGS_SHORT) {
		rec = reserve(REC_ARGS, flags, task->pid, sizeof(*rec) + ARGS_SHORT);
		if (rec)
			write_args(rec, task, from, len, ARGS_SHORT);
	} else {
		rec = reserve(REC_ARGS, flags, task->pid, sizeof(*rec) + ARGS_LONG);
		if (rec)
			write_args(rec, task, from, len, ARGS_LONG);
	}
}

/* Fires after the thread has become the leader and has its new name. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	struct rec_exec *rec, *longer;

	follow_from_exec(task);
	if (!armed)
		return 0;
	record_args(task);
	rec = try_reserve(REC_EXEC, 0, task->pid, sizeof(*rec) + FILENAME_SHORT);
	if (!rec) {
		count_life_loss(REC_EXEC, passes_filter_noinline(task));
		return 0;
	}
	if (write_exec(rec, task, old_tid, bprm->filename, FILENAME_SHORT)) {
		submit(rec, sizeof(*rec) + FILENAME_SHORT);
		return 0;
	}
	longer = reserve_again(&rec->hdr, sizeof(*rec) + FILENAME_LONG);
	if (!longer) {
		rec->hdr.flags |= REC_CUT;
		submit(rec, sizeof(*rec) + FILENAME_SHORT);
		return 0;
	}
	if (!write_exec(longer, task, old_tid, bprm->filename, FILENAME_LONG))
		longer->hdr.flags |= REC_CUT;
	submit(longer, sizeof(*longer) + FILENAME_LONG);
	discard(rec, sizeof(*rec) + FILENAME_SHORT);
	return 0;
}

static __always_inline void write_new_name(struct rec_ident *ident, const char *comm)
{
	__builtin_memset(ident->comm, 0, COMM_LEN);
	bpf_probe_read_kernel_str(ident->comm, COMM_LEN, comm);
	if (ident->tid == ident->pid)
		__builtin_memcpy(ident->process_comm, ident->comm, COMM_LEN);
}

static __noinline void count_rename_loss(struct task_struct *task, const char *comm)
{
	struct rec_ident ident;

	write_ident(&ident, task);
	write_new_name(&ident, comm);
	count_life_loss(REC_RENAME, ident_passes(&ident, task));
}

/* Fires before the change. */
SEC("tp_btf/task_rename")
int BPF_PROG(task_rename, struct task_struct *task, const char *comm)
{
	struct rec_rename *rec;

	if (!armed)
		return 0;
	rec = try_reserve(REC_RENAME, 0, task->pid, sizeof(*rec));
	if (!rec) {
		count_rename_loss(task, comm);
		return 0;
	}
	write_ident(&rec->ident, task);
	__builtin_memcpy(rec->old_comm, rec->ident.comm, COMM_LEN);
	write_new_name(&rec->ident, comm);
	rec->hdr.flags = life_flag(ident_passes(&rec->ident, task), REC_SUBJECT);
	submit(rec, sizeof(*rec));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct rec_exit *rec;

	if (!armed)
		return 0;
	rec = try_reserve(REC_EXIT, 0, task->pid, sizeof(*rec));
	if (!rec) {
		count_life_loss(REC_EXIT, passes_filter_noinline(task));
		return 0;
	}
	rec->hdr.flags = life_flag(passes_filter_noinline(task), REC_SUBJECT);
	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		rec->hdr.flags |= REC_LAST;
	rec->start_ns = task->start_time;
	rec->pid = task->tgid;
	rec->code = task->exit_code;
	write_comm(rec->process_comm, task->group_leader);
	submit(rec, sizeof(*rec));
	return 0;
}

/* The leader may be freed before its threads: then its memory is unused or another thread's. */
static __always_inline void write_freed(struct rec_free *rec, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	rec->start_ns = task->start_time;
	rec->pid = task->tgid;
	rec->task_flags = task->flags;
	write_comm(rec->comm, task);
	if (leader->tgid == task->tgid && leader->pid == task->tgid && leader->start_time <= task->start_time)
		write_comm(rec->process_comm, leader);
	else
		__builtin_memset(rec->process_comm, 0, COMM_LEN);
}

/* When a thread other than the leader calls exec, the old leader is freed under the tid that the thread had. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(sched_process_free, struct task_struct *task)
{
	struct rec_free *rec;

	if (armed) {
		bool passes = !ended_by_awaited_exec(task) && passes_filter_noinline(task);

		rec = try_reserve(REC_FREE, 0, task->pid, sizeof(*rec));
		if (rec) {
			rec->hdr.flags = life_flag(passes, REC_SUBJECT);
			write_freed(rec, task);
			submit(rec, sizeof(*rec));
		} else {
			count_life_loss(REC_FREE, passes);
		}
	}
	unfollow(task);
	return 0;
}

#endif
