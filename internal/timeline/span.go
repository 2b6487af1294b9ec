package timeline

import "wprof/format"

// SpanKind is the activity of a thread in a [Span].
type SpanKind uint8

const (
	SpanUnknown  SpanKind = iota // events were lost, or a filter hides it
	SpanNew                      // it is being created: from its start to the wakeup that makes it runnable
	SpanRunning                  // on Span.CPU
	SpanRunnable                 // it waits for a CPU: it was woken, preempted, or throttled
	SpanBlocked                  // it waits for something else, by Span.State
)

// Span is a part of a thread's life in the window with one activity. The spans of a thread lie end to end, from
// the opening of the window, or its start if that is later, to its last switch, or the close of the window if that is
// earlier. So their lengths add up to its lifetime within the window exactly.
//
// All CPUs share the idle thread. Its spans are SpanRunning and belong to a CPU: they lie end to end only with what else is known
// to have run on that CPU. Their Off has no meaning.
type Span struct {
	Thread   *Thread
	Task     format.TaskID // the definition under which the thread was known when the span ended; 0: not of this section
	Kind     SpanKind
	From, To int64 // CLOCK_MONOTONIC ns; From < To
	// Since is when the state began: before From if the window cut it off. It is valid if SinceKnown.
	Since      int64
	SinceKnown bool
	Approx     bool   // Since is an estimate
	Open       bool   // it had not ended when the window closed
	CPU        uint32 // Running: where; else where it ran last, or where it is queued
	// State is the state in which the thread left its CPU: Blocked: why it waits; Runnable: R+ if it was preempted, Rq+ if it was throttled; Running: of
	// the off-CPU interval before.
	State format.State
	Prio  int32
	// Stack is where the thread was while off-CPU: Blocked and Runnable: in this interval; Running: in the one before. 0: none
	// was taken.
	Stack format.StackID
	// Wait is what the thread waited for then; 0: not known.
	Wait format.WaitID

	// Off is the off-CPU interval that a Blocked or Runnable span is part of, or that a Running span follows.
	Off OffCPU
	// Next is the thread that took the CPU over after a Running span; 0: not known, or hidden.
	Next format.TaskID
	// Left is the state in which the thread left its CPU at the end of a Running span.
	Left format.State
	// Counts are what counters counted during a Running span, see [format.ReadCounts]; nil: that is not known. Valid until emit returns.
	Counts []byte
	// Interrupts are those of Running, with [Spans.WithInterrupts]: the time is not the thread's own. Valid until emit returns.
	Interrupts []Interrupt
}

// OffCPU is an off-CPU interval. Its State and Stack are in its Span.
type OffCPU struct {
	Since     int64 // when the thread left its CPU, which may be before the window
	Known     bool  // Since is known
	Preempted bool  // it could have run on
	Throttled bool  // while it could run, the CPU quota of its cgroup was used up
	New       bool  // it had never run
	WokenIRQ  bool  // an interrupt woke it; Waker is the interrupted thread
	// Woken is the waking that ended the wait; 0: there was none, or it was not recorded. It is before Since when the
	// thread was woken while it went to sleep.
	Woken      int64
	Waker      format.TaskID // 0: not known, or hidden
	WakerCPU   uint32
	WakerStack format.StackID // 0: none was taken
	// WokenBy is that interrupt; 0: it was not recorded, or had not ended when the span was emitted, as where the thread ran on another CPU at once.
	WokenBy InterruptID
	// Delay is how long the thread was runnable: from the waking, or from when it left if that was later, to the
	// end of the interval, or of the window; 0 when neither is known.
	Delay int64
	// Compound is the thread's compound delay from here on: after a wakeup, Delay plus that of its waker at that time; after
	// a preemption, Delay plus the thread's own before. That of a hidden, unknown or idle waker and of an interrupt
	// is 0.
	Compound int64
	// Chain is the number of wakeups that add to Compound: the waker's plus one; a preemption does not change it.
	Chain uint32
	// Prev is the thread that ran before on the CPU on which the interval ended; 0: not known, or hidden.
	Prev format.TaskID
}

// Ready is the time from which a woken thread was runnable.
func (o *OffCPU) Ready() int64 {
	if o.Known {
		return max(o.Woken, o.Since)
	}
	return o.Woken
}
