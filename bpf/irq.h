/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Interrupts, as spans that are written when they end.
 *
 * A CPU runs one handler of a hard interrupt at a time, with interrupts off, and one soft interrupt, which hard ones may interrupt. So each
 * CPU keeps one start of each. It is kept also outside of the window, so that an interrupt that is running when the window opens has its
 * start.
 *
 * Cannot see: interrupts without a handler of a driver, such as the local timer's.
 */
#ifndef WPROF_IRQ_H
#define WPROF_IRQ_H

#define SOFTIRQS 16 /* NR_SOFTIRQS is 10 */

/* Two cache lines and a half of each CPU. */
struct irq_state {
	__u64 hardirq; /* when the handler that runs began; 0: none does */
	__u64 softirq;
	__u64 delay; /* of the running soft interrupt, from its raise; 0: not known */
	__u64 raised[SOFTIRQS]; /* when, of those that are pending; 0: not known */
	__u64 pad[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irq_state);
} irq_states SEC(".maps");

static __always_inline struct irq_state *this_irq_state(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&irq_states, &cpu);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	struct irq_state *state = this_irq_state();

	if (state)
		state->hardirq = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	struct irq_state *state = this_irq_state();
	__u64 *values, start, name;

	if (!state)
		return 0;
	start = state->hardirq;
	state->hardirq = 0;
	if (!armed || !start || !passes_filter(bpf_get_current_task_btf()))
		return 0;
	name = intern_text(read_kernel_word((__u64)&action->name));
	values = reserve_typed(TYPE_HARDIRQ, start, 3);
	if (!values)
		return 0;
	values[0] = name;
	values[1] = irq;
	values[2] = ret != 0;
	submit_typed(values, 3);
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int vector)
{
	struct irq_state *state = this_irq_state();

	if (state && !state->raised[vector & (SOFTIRQS - 1)])
		state->raised[vector & (SOFTIRQS - 1)] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	struct irq_state *state = this_irq_state();
	__u64 raised;

	if (!state)
		return 0;
	state->softirq = bpf_ktime_get_ns();
	raised = state->raised[vector & (SOFTIRQS - 1)];
	state->raised[vector & (SOFTIRQS - 1)] = 0;
	state->delay = raised ? state->softirq - raised : 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
	struct irq_state *state = this_irq_state();
	__u64 *values, start;

	if (!state)
		return 0;
	start = state->softirq;
	state->softirq = 0;
	if (!armed || !start || !passes_filter(bpf_get_current_task_btf()))
		return 0;
	values = reserve_typed(TYPE_SOFTIRQ, start, 2);
	if (!values)
		return 0;
	values[0] = vector;
	values[1] = state->delay;
	submit_typed(values, 2);
	return 0;
}

#endif
