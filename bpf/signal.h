/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Signals: sent, and delivered to a handler or by their default.
 */
#ifndef WPROF_SIGNAL_H
#define WPROF_SIGNAL_H

#define SI_KERNEL 0x80 /* include/uapi/asm-generic/siginfo.h */
#define SEND_SIG_PRIV 1 /* include/linux/sched/signal.h */

static __always_inline int signal_code(unsigned long long *ctx)
{
	struct kernel_siginfo *info = (struct kernel_siginfo *)argument_word(ctx, 1);

	if ((__u64)info <= SEND_SIG_PRIV)
		return info ? SI_KERNEL : 0;
	return BPF_CORE_READ(info, si_code);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(signal_generate, int number, void *info, struct task_struct *target, int group, int result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *values;

	if (!armed || (!passes_filter_noinline(task) && !passes_filter_noinline(target)) || !within_limit(TYPE_SIGNAL))
		return 0;
	values = reserve_typed(TYPE_SIGNAL, 0, 5);
	if (!values)
		return 0;
	values[0] = number;
	values[1] = target->pid;
	values[2] = group != 0;
	values[3] = result;
	values[4] = (__s64)signal_code(ctx);
	submit_typed(values, 5);
	return 0;
}

/* The handler is a stack of one frame, so that it has a name. */
static __always_inline __u64 handler_of(struct task_struct *task, __u64 address)
{
	struct scratch *s = get_scratch(REC_STACK);
	__u64 id;

	if (!s)
		return 0;
	s->addrs[0] = address;
	s->count = 1;
	id = refer_to_stack(s, user_seed(task), task->tgid, task->pid, END_ROOT << STACK_END_SHIFT).id;
	put_scratch(s);
	return id;
}

#define SIGKILL 9
#define SIGNAL_GROUP_EXIT 0x4 /* include/linux/sched/signal.h */

/*
 * The kernel ends threads by a SIGKILL that nobody sent, without siginfo. Returns the signal that kills the process, for exit_group() and
 * execve() 0. Any other signal is returned as it is.
 */
static __always_inline int true_signal(struct task_struct *task, int number, void *info)
{
	if (number != SIGKILL || info)
		return number;
	return task->signal->flags & SIGNAL_GROUP_EXIT ? task->signal->group_exit_code & 0x7f : 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(signal_deliver, int delivered, void *info, struct k_sigaction *action)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int number = true_signal(task, delivered, (void *)argument_word(ctx, 1));
	__u64 address = (__u64)action->sa.sa_handler, handler, *values;

	if (!number || !armed || !passes_filter_noinline(task) || !within_limit(TYPE_DELIVERY))
		return 0;
	handler = address > 1 && may_define() ? handler_of(task, address) : 0;
	values = reserve_typed(TYPE_DELIVERY, 0, 5);
	if (!values)
		return 0;
	values[0] = number;
	values[1] = address > 1 ? 2 : address;
	values[2] = (__s64)signal_code(ctx);
	values[3] = handler;
	values[4] = 0;
	submit_typed(values, 5);
	return 0;
}

#endif
