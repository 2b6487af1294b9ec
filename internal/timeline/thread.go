package timeline

import "wprof/format"

// Key identifies a thread: a tid is reused, but not with the same start.
type Key struct {
	TID   int32
	Start int64 // task_struct.start_time
}

type threadState = ThreadState[format.TaskID]

// Thread is one thread. It belongs to its Timeline, which changes it with every event.
type Thread struct {
	Key
	Task format.TaskID // its latest definition in this section; 0 when the section has not named it yet
	Def  *format.Task  // the definition of Task, or that of the section before

	ThreadState[format.TaskID]       // CPU: where it runs or ran last; of one that has never run, where it is queued
	Mark                       uint8 // for the user of the Timeline, which does not change it; so is Own
	Own                        any

	spanState *spanState // nil without Spans, and of the idle thread

	slot int  // in Timeline.live; -1 when it is not there
	idle bool // the idle thread, of which every CPU has one under the same definition
}

// Idle reports whether it is the idle thread. All CPUs share one, so its CPU and Since have no meaning.
func (t *Thread) Idle() bool { return t.idle }

// WokenEarly reports whether a waking at this time came while the thread ran, or while its state was unknown: it may
// end the thread's next time off the CPU.
func (t *Thread) WokenEarly(at int64) bool { return t.spanState != nil && t.spanState.early.at == at }

// OffSince returns the thread that an event shows to be off its CPU, or to come back to one, and since when; isKnown: the event has that time.
func OffSince(e *format.Event) (id format.TaskID, since int64, isKnown bool) {
	switch {
	case e.Kind == format.KindSwitch && e.Flags&format.FlagObject != 0:
		id = e.Switch().Next()
		since, isKnown = e.Switch().Since()
	case e.Kind == format.KindStateThread:
		id = e.Task
		since, isKnown = e.StateThread().Since()
	}
	return id, since, isKnown
}

// KeyOf returns what identifies the thread of a definition.
func KeyOf(d *format.Task) Key { return Key{TID: d.Tid, Start: d.Start} }
