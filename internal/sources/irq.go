package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// interrupts is the group of all kinds of interrupts.
const interrupts = "irq"

// openInterrupts writes the interrupts that run at the close.
func openInterrupts() Program { return Program{Name: "open_interrupts", AtClose: true} }

// interruptTypes are spans on the tracks of CPUs.
func interruptTypes() []Type {
	delay := orUnknown(Field("delay", format.ValueType_VALUE_DURATION))
	function := name(Field("function", format.ValueType_VALUE_TEXT))
	own := Field("own", format.ValueType_VALUE_BOOL)
	own.Hint = uint32(format.ValueHint_HINT_OWN)
	sender := orUnknown(Field("sender", format.ValueType_VALUE_INT))
	return []Type{
		{
			Counted: true, Number: ringdata.TypeHardirq, Feature: "hardirq", Doc: "handlers of hard interrupts",
			Programs: append(pair("irq_handler"), openInterrupts()),
			Def: interrupt(format.TypeInterrupts_INTERRUPTS_HARD, "hardirq", name(Field("handler", format.ValueType_VALUE_TEXT)),
				Field("irq", format.ValueType_VALUE_UINT), Field("handled", format.ValueType_VALUE_BOOL)),
		},
		{
			Counted: true, Number: ringdata.TypeSoftirq, Feature: "softirq", Doc: "soft interrupts",
			Programs: append(pair("softirq"), Program{Name: "softirq_raise"}, openInterrupts()),
			Def:      interrupt(format.TypeInterrupts_INTERRUPTS_SOFT, "softirq", name(enum("vector", softirqs()...)), delay, own),
		},
		{
			Counted: true, Number: ringdata.TypeTimer, Feature: "ticks", Doc: "interrupts of the CPUs' own timers (x86)",
			Programs: append(pair("local_timer"), openInterrupts()),
			Def:      interrupt(format.TypeInterrupts_INTERRUPTS_HARD, "local_timer"),
		},
		{
			Counted: true, Number: ringdata.TypeIpi, Feature: "ipi", Doc: "interrupts between CPUs (x86), and the functions that they call (since 6.4)",
			Programs: append(pair("reschedule", "call_function", "call_function_single", "irq_work"), Program{Name: "ipi_send_cpu", Optional: true}, openInterrupts()),
			Def:      interrupt(format.TypeInterrupts_INTERRUPTS_HARD, "ipi", name(enum("reason", ipis()...)), delay, sender),
		},
		{
			Counted: true, Number: ringdata.TypeCall, Feature: "ipi",
			Programs: []Program{
				{Name: "csd_queue_cpu", Optional: true}, {Name: "csd_function_entry", Optional: true},
				{Name: "csd_function_exit", Writes: true, Optional: true}, openInterrupts(),
			},
			Def: interrupt(format.TypeInterrupts_INTERRUPTS_HARD, "ipi_call", function, delay, sender, own),
		},
		{
			Counted: true, Number: ringdata.TypeWork, Feature: "wq", Doc: "work items of workqueues",
			Programs: []Program{
				{Name: "workqueue_queue_work"}, {Name: "workqueue_execute_start"}, {Name: "workqueue_execute_end", Writes: true},
				{Name: "open_work", AtClose: true},
			},
			Def: threadSpan("work", interrupts, "Work", function, delay, hex(Field("work", format.ValueType_VALUE_UINT))),
		},
	}
}

// interrupt is a type of spans on the tracks of CPUs.
func interrupt(what format.TypeInterrupts, name string, fields ...*format.TypeField) *format.EventType {
	def := span(name, interrupts, "Interrupts", format.TypeTrack_TRACK_CPU, fields...)
	def.Interrupts = uint32(what)
	return def
}

// softirqs names the vectors: the enum with HI_SOFTIRQ in include/linux/interrupt.h.
func softirqs() []*format.EnumName {
	return numbered(0, "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
}

// ipis names enum rec_ipi.
func ipis() []*format.EnumName {
	return numbered(ringdata.IpiReschedule, "reschedule", "call function", "call function single", "irq_work")
}
