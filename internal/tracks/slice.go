package tracks

import "wprof/internal/timeline"

// Slice is a time in which a thread did one thing, on the thread's own track; of the idle task, a time in which a CPU had nothing
// to run. It is a [timeline.Span] with its ids resolved.
type Slice struct {
	*timeline.Span
	Task  *Task  // whose it is, under the name that it had when the slice ended
	Stack *Stack // of SpanBlocked: where the thread was blocked; nil: none was taken
	Waker *Task  // of SpanRunning and SpanRunnable: who woke the thread before; nil: not known, or nobody did

	// With Options.Neighbours, of SpanRunning: who ran on the CPU before, and who ran there next; nil: not known.
	PrevTask, NextTask *Task

	// Of SpanRunning: the arrows that end where the slice begins; their ID is 0 if there is none. Waking is of a thread that was
	// preempted and woken all the same.
	Arrow, Waking Arrow
}

// Began is when what the slice shows began, which may be before the window, CLOCK_MONOTONIC ns.
func (s *Slice) Began() int64 {
	if s.SinceKnown {
		return min(s.From, s.Since)
	}
	return s.From
}

// OffNs is how long a running thread was off the CPU before; it is valid if Off.Known.
func (s *Slice) OffNs() int64 { return max(s.Began()-s.Off.Since, 0) }

// DelayNs is for how long a running thread could run and did not; it is valid if Off.Woken is set.
func (s *Slice) DelayNs() int64 { return max(s.Began()-s.Off.Ready(), 0) }

// Arrow leads from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU.
type Arrow struct {
	ID   uint64      // small, because one is used again for the same thread when its arrow has ended; 0: no arrow
	Kind InstantKind // Wakes or Preempts
	At   int64       // time of the instant, CLOCK_MONOTONIC ns
	By   *Task       // on whose track the instant is
	CPU  uint32      // of the instant
}
