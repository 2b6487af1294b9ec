/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Interrupts, as spans that are written when they end.
 *
 * A CPU runs one handler of a hard interrupt at a time, with interrupts off, one interrupt of the kernel's own (x86: local timer, between
 * CPUs), and one soft interrupt, which hard ones may interrupt. So each CPU keeps one span of each. They are kept also outside of the
 * window, so that an interrupt that is running when the window opens has its start.
 */
#ifndef WPROF_IRQ_H
#define WPROF_IRQ_H

#define SOFTIRQS 16 /* NR_SOFTIRQS is 10 */

/* What a CPU is doing. */
struct cpu_span {
	__u64 start; /* 0: nothing, or nothing that the filter selects */
	__u64 end;   /* set outside of the window only */
	__u32 type;  /* enum rec_type */
	__u32 tid;   /* thread that is interrupted */
	__u64 values[4];
};

struct irq_state {
	struct cpu_span hardirq;
	struct cpu_span vector; /* interrupts without a handler of a driver */
	struct cpu_span softirq;
	struct cpu_span call;	/* functions that other CPUs have sent */
	__u64 stack_top; /* of the IRQ stack; 0: not known yet */
	__u64 raised[SOFTIRQS]; /* when, of those that are pending; 0: not known */
	struct sent {
		__u64 at; /* of the first interrupt that the CPU has not handled yet; 0: none, or not known */
		__u64 cpu;
	} sent[IPI_KINDS];
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

/* Returns false if the filter does not select the interrupted thread. */
static __always_inline bool begin_span(struct cpu_span *span, __u32 type, enum counted_span counted)
{
	struct task_struct *task = bpf_get_current_task_btf();

	span->start = 0;
	if (!passes_filter_noinline(task))
		return false;
	span->start = bpf_ktime_get_ns();
	span->type = type;
	span->tid = task->pid;
	begin_counts(counted);
	return true;
}

/* counts may be NULL. at is 0, or the close of the window, at which the span is open on the CPU. */
static __always_inline void write_span(const struct cpu_span *span, __u32 count, const struct counts *counts, __u32 cpu, __u64 at)
{
	__u64 *values = reserve_typed_of(span->tid, span->type, span->start, count + counts_words(counts));

	if (!values)
		return;
	for (__u32 i = 0; i < count; i++)
		values[i] = span->values[i];
	if (at)
		leave_open(values, cpu, at);
	submit_counted(values, count, counts);
}

/* What the counters have counted in a span, before anything else is done at its end; NULL: nothing is counted, or the span is not written. */
static __always_inline const struct counts *counts_of(const struct cpu_span *span, enum counted_span counted)
{
	return armed && span->start ? end_counts(counted) : NULL;
}

static __always_inline int end_span(struct cpu_span *span, __u32 count, const struct counts *counts)
{
	if (!span->start)
		return 0;
	if (!armed) {
		span->end = bpf_ktime_get_ns();
		return 0;
	}
	if (within_limit(span->type))
		write_span(span, count, counts, 0, 0);
	span->start = 0;
	return 0;
}

#define HARDIRQ_VALUES 3
#define SOFTIRQ_VALUES 3
#define TIMER_VALUES 0
#define IPI_VALUES 3
#define CALL_VALUES 4

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	struct irq_state *state = this_irq_state();

	if (!state || !begin_span(&state->hardirq, TYPE_HARDIRQ, COUNTED_HARDIRQ))
		return 0;
	state->hardirq.values[0] = (__u64)action->name;
	state->hardirq.values[1] = irq;
	state->hardirq.values[2] = 0;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	struct irq_state *state = this_irq_state();
	const struct counts *counts;

	if (!state)
		return 0;
	counts = counts_of(&state->hardirq, COUNTED_HARDIRQ);
	if (armed && state->hardirq.start)
		state->hardirq.values[0] = intern_text(state->hardirq.values[0]);
	state->hardirq.values[2] = ret != 0;
	return end_span(&state->hardirq, HARDIRQ_VALUES, counts);
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
	raised = state->raised[vector & (SOFTIRQS - 1)];
	state->raised[vector & (SOFTIRQS - 1)] = 0;
	if (!begin_span(&state->softirq, TYPE_SOFTIRQ, COUNTED_SOFTIRQ))
		return 0;
	state->softirq.values[0] = vector;
	state->softirq.values[1] = raised ? state->softirq.start - raised : 0;
	state->softirq.values[2] = !in_interrupt_of(ctx, bpf_get_current_task_btf(), &state->stack_top);
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(void *ctx)
{
	struct irq_state *state = this_irq_state();

	return state ? end_span(&state->softirq, SOFTIRQ_VALUES, counts_of(&state->softirq, COUNTED_SOFTIRQ)) : 0;
}

SEC("tp_btf/local_timer_entry")
int local_timer_entry(void *ctx)
{
	struct irq_state *state = this_irq_state();

	if (state)
		begin_span(&state->vector, TYPE_TIMER, COUNTED_VECTOR);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int local_timer_exit(void *ctx)
{
	struct irq_state *state = this_irq_state();

	return state ? end_span(&state->vector, TIMER_VALUES, counts_of(&state->vector, COUNTED_VECTOR)) : 0;
}

/*
 * An interrupt that was sent longer ago than this was handled unseen: no CPU has interrupts off for that time, but the kernel does not run
 * programs for every interrupt (docs/kernels.md).
 */
#define IPI_UNSEEN_NS 100000000

/* kind is enum rec_ipi. */
static __always_inline int begin_ipi(__u32 kind)
{
	struct irq_state *state = this_irq_state();
	struct cpu_span *span;
	struct sent sent;

	if (!state)
		return 0;
	sent = state->sent[kind];
	state->sent[kind].at = 0;
	span = &state->vector;
	if (!begin_span(span, TYPE_IPI, COUNTED_VECTOR))
		return 0;
	if (sent.at < span->start && span->start - sent.at >= IPI_UNSEEN_NS)
		sent.at = 0;
	span->values[0] = kind;
	span->values[1] = sent.at && sent.at < span->start ? span->start - sent.at : 0;
	span->values[2] = sent.at ? sent.cpu : -1;
	return 0;
}

static __always_inline int end_ipi(void)
{
	struct irq_state *state = this_irq_state();

	return state ? end_span(&state->vector, IPI_VALUES, counts_of(&state->vector, COUNTED_VECTOR)) : 0;
}

#define IPI_PROGRAMS(name, kind)                                                                                                           \
	SEC("tp_btf/" #name "_entry") int name##_entry(void *ctx)                                                                          \
	{                                                                                                                                  \
		return begin_ipi(kind);                                                                                                    \
	}                                                                                                                                  \
	SEC("tp_btf/" #name "_exit") int name##_exit(void *ctx)                                                                            \
	{                                                                                                                                  \
		return end_ipi();                                                                                                          \
	}

IPI_PROGRAMS(reschedule, IPI_RESCHEDULE)
IPI_PROGRAMS(call_function, IPI_CALL)
IPI_PROGRAMS(call_function_single, IPI_CALL_SINGLE)
IPI_PROGRAMS(irq_work, IPI_WORK)

/* Since 6.4. Without a callback it is for the scheduler. A CPU sends itself only irq_work. */
SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(ipi_send_cpu, unsigned int cpu, unsigned long callsite, void *callback)
{
	struct irq_state *state = bpf_map_lookup_elem(&irq_states, &cpu);
	__u32 kind = callback ? IPI_CALL_SINGLE : IPI_RESCHEDULE, here = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns();

	if (callback && cpu == here)
		kind = IPI_WORK;
	if (!state || now - state->sent[kind].at < IPI_UNSEEN_NS)
		return 0;
	state->sent[kind].cpu = here;
	state->sent[kind].at = now;
	return 0;
}

/* Since 6.4. */
SEC("tp_btf/csd_queue_cpu")
int csd_queue_cpu(unsigned long long *ctx)
{
	note_queued(argument_word(ctx, 3));
	return 0;
}

SEC("tp_btf/csd_function_entry")
int csd_function_entry(unsigned long long *ctx)
{
	struct irq_state *state = this_irq_state();
	struct queued queued = take_queued(argument_word(ctx, 1));

	if (!state || !begin_span(&state->call, TYPE_CALL, COUNTED_CALL))
		return 0;
	state->call.values[0] = argument_word(ctx, 0);
	state->call.values[1] = queued_for(&queued, state->call.start);
	state->call.values[2] = queued.at ? queued.cpu : -1;
	/* A CPU that calls a function on many CPUs calls it itself as well, without an interrupt; an idle one looks for functions itself. */
	state->call.values[3] = !in_interrupt(ctx, bpf_get_current_task_btf());
	return 0;
}

SEC("tp_btf/csd_function_exit")
int csd_function_exit(void *ctx)
{
	struct irq_state *state = this_irq_state();
	const struct counts *counts;

	if (!state)
		return 0;
	counts = counts_of(&state->call, COUNTED_CALL);
	if (armed && state->call.start)
		state->call.values[0] = intern_symbol(state->call.values[0]);
	return end_span(&state->call, CALL_VALUES, counts);
}

static __always_inline bool span_is_open(const struct cpu_span *span)
{
	return is_open(span->start, span->end);
}

static long write_open(__u32 cpu, void *ctx)
{
	struct irq_state *state = bpf_map_lookup_elem(&irq_states, &cpu);

	if (!state)
		return 1;
	if (span_is_open(&state->hardirq)) {
		struct cpu_span span = state->hardirq;

		span.values[0] = intern_text(span.values[0]);
		write_span(&span, HARDIRQ_VALUES, NULL, cpu, closed_at);
	}
	if (span_is_open(&state->softirq))
		write_span(&state->softirq, SOFTIRQ_VALUES, NULL, cpu, closed_at);
	if (span_is_open(&state->vector)) {
		if (state->vector.type == TYPE_IPI)
			write_span(&state->vector, IPI_VALUES, NULL, cpu, closed_at);
		else
			write_span(&state->vector, TIMER_VALUES, NULL, cpu, closed_at);
	}
	if (span_is_open(&state->call)) {
		struct cpu_span span = state->call;

		span.values[0] = intern_symbol(span.values[0]);
		write_span(&span, CALL_VALUES, NULL, cpu, closed_at);
	}
	return 0;
}

/* Writes the interrupts that run at the close of the window. */
SEC("syscall")
int open_interrupts(void *ctx)
{
	bpf_loop(CPUS_MAX, write_open, NULL, 0);
	return 0;
}

#endif
