package tracks

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Slice is a time in which a thread was running, runnable or blocked, on the thread's own track; of the idle task, a time in
// which a CPU was idle. It is a [timeline.Span] with its ids resolved.
type Slice struct {
	*timeline.Span
	Task  *Task  // the thread, under its name at the end of the slice
	Stack *Stack // of SpanBlocked, and of SpanRunnable if it was preempted: where the thread was; nil: none was taken
	Wait  *Wait  // of SpanBlocked: what it waited for
	Waker *Task  // of SpanRunning and SpanRunnable: the last waker of the thread; nil: not known, or it was not woken

	// WakingInterrupt is the name of the interrupt that woke the thread; "": none did, or it is not known.
	WakingInterrupt string

	// Of several times on the CPU that are drawn as one: their number, sum, and the longest delay before one; Runs is 0 if it is one.
	// What else there is belongs to the first.
	Runs           int
	RanNs          int64
	LongestDelayNs int64

	Counts []format.Count // of SpanRunning: what counters counted, in the order of the section's; empty: not known

	// With Options.Neighbours, of SpanRunning: the threads that ran on the CPU before and after; nil: not known.
	PrevTask, NextTask *Task

	// Of SpanRunning: the arrows that end where the slice begins; their ID is 0 if there is none. Waking is of a thread that was
	// preempted and woken as well.
	Arrow, Waking Arrow
}

// Began returns when the state that the slice shows began, which may be before the window, CLOCK_MONOTONIC ns.
func (s *Slice) Began() int64 {
	if s.SinceKnown {
		return min(s.From, s.Since)
	}
	return s.From
}

// OffNs returns how long a running thread was off the CPU before; valid if Off.Known.
func (s *Slice) OffNs() int64 { return max(s.Began()-s.Off.Since, 0) }

// DelayNs returns how long a running thread was runnable before; valid if Off.Woken is set.
func (s *Slice) DelayNs() int64 { return max(s.Began()-s.Off.Ready(), 0) }

// Arrow leads from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU.
type Arrow struct {
	ID   uint64      // small, because it is reused for the same thread when its arrow has ended; 0: no arrow
	Kind InstantKind // Wakes or Preempts
	At   int64       // time of the instant, CLOCK_MONOTONIC ns
	By   *Task       // the thread with the instant on its track
	CPU  uint32      // of the instant
}
