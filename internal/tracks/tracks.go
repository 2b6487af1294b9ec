// Package tracks determines what timelines show of a stream: which slices, instants, arrows and counters, on which tracks, from
// when to when, and under which names. [Draw] reads a stream and calls an [Encoder] with each of them, in the order in which
// they become known. Perfetto's packets, Chrome's JSON and the Firefox Profiler's are encodings of it.
//
// What an Encoder gets is plain data: ids of the stream are resolved to a [Task], a [Stack] or a [Frame], which do not change
// any more, so that encoding can run beside reading, on another core. Only the encoder changes their Own fields.
//
// Names of threads and programs are bytes as they were recorded. What is not UTF-8 or not printable is replaced by the rules of
// each format, so encoders do that, once for each Task.
package tracks

import (
	"wprof/format"
	"wprof/internal/stacks"
)

// Encoder writes what is drawn. What its methods get is valid until they return, except for Tasks, Stacks and Frames, which
// may be kept.
type Encoder interface {
	// Section begins a section. The first call is before all others.
	Section(*format.Session)
	// Open opens a window. What is drawn until Close lies within it, except for the beginnings of Notes, which may be earlier.
	Open(at int64, s *format.Session)
	// Slice is called when a slice ends. The slices of a thread come in order of time and do not overlap.
	Slice(*Slice)
	// Instant is called when a thread does something at a moment.
	Instant(*Instant)
	// Sample is called with each sample.
	Sample(*Sample)
	// Item is called with what is drawn of events of plain kinds and of event types. They come ordered by their end,
	// except for counters of what was counted in intervals, of which each is in order.
	Item(*Item)
	// Note is called with losses, late events and the times between windows.
	Note(*Note)
	// Close closes the window, after all its slices have ended. at is not before the last event.
	Close(at int64)
	// Flush is called after everything that is drawn of an event. The encoder may write then. Its error ends the conversion.
	Flush() error
}

// EventEncoder is an [Encoder] that takes the events themselves too, because its format derives tracks from them.
type EventEncoder interface {
	Encoder
	// Event is called with every event, after Note and before everything else that is drawn of it.
	Event(*Event)
	// Clock is called with the clock snapshots of all sections, each before the events that follow it in the stream.
	Clock(*format.ClockSnapshot)
}

// Event is an event with the tasks that it names.
type Event struct {
	*format.Event
	Task  *Task // of Event.Task; nil: none, or it is not defined
	Other *Task // of Event.OtherTask; nil: none, or it is not defined
}

// Options select what is drawn.
type Options struct {
	Threads    bool // Slice, Instant and Item are called
	FewArrows  bool // of Wakes and Preempts only the wakings of which a stack was taken
	Neighbours bool // Slice.PrevTask and Slice.NextTask are set
	JoinRuns   bool // short times on a CPU that follow each other closely are one slice, and short idle times are left out
	// OffCPU reports whether Slice is called with a slice of a time off the CPU; nil: with all. It runs where the stream is read.
	OffCPU   func(*Slice) bool
	NoStacks bool // every Stack is nil
	Python   stacks.PythonView
	// PreemptedStacks: slices of runnable threads that were preempted have stacks too.
	PreemptedStacks bool
}

// Summary describes the stream that was read.
type Summary struct {
	Events         int64
	DroppedThreads int64 // threads that were dropped before their end, as far as known
	Lost           bool  // events are missing
}
