package perfetto

import (
	"maps"
	"slices"

	"wprof/format"
	"wprof/internal/tracks"
)

// An unknown state is NULL in thread_state, which the user interface shows as Unknown. No switch leads there
// without an error count in the engine: it takes every combination of the kernel's bits for a state, and any other
// number for damage. Task states have a value for unknown, which the engine refuses. But of two threads that begin to run on a CPU
// one after the other, without a switch between them, the engine leaves the first one in NULL. So a thread that has left its CPU
// in an unknown state runs again for no time, and idle after it.

// stateNone is the state in which threads leave a CPU where nothing is known, until their state becomes NULL, and in which
// placeholders leave. It has to be some state: this one is not drawn, no query for waits or sleeps finds it, and no
// user thread has it.
const stateNone = int64(format.StateIdle)

// unknown is a thread that has left its CPU in stateNone. Task states go before switches at the same time, so it is a
// nanosecond later that it can have the state NULL, and only if it has no other one by then.
type unknown struct {
	thread *thread
	cpu    uint32
	left   uint64
}

// takeOver gives a CPU to a thread where the state in which the previous one left is unknown.
func (e *encoder) takeOver(c *cpu, at int64, next *task, prio int32) {
	before := c.running
	e.handOver(c, at, stateNone, next, prio)
	if before != nil && before != next.thread && before.isReal() {
		e.setUnknown(before, c.number, at)
	}
}

// setUnknown sets a thread's state to unknown from a time on.
func (e *encoder) setUnknown(t *thread, cpu uint32, at int64) {
	t.shown = shownUnknown
	e.unknown = append(e.unknown, unknown{t, cpu, e.clock.boottime(at)})
}

// endUnknown ends the unknown state of a thread that has a state again. It reports whether the thread has left its CPU at
// the same time.
func (e *encoder) endUnknown(t *thread, ts uint64) (justLeft bool) {
	i := slices.IndexFunc(e.unknown, func(u unknown) bool { return u.thread == t })
	if i < 0 {
		return false
	}
	u := e.unknown[i]
	e.unknown = slices.Delete(e.unknown, i, i+1)
	if u.left < ts {
		e.out = appendUnknown(e.out, u)
	}
	return u.left == ts
}

// writeUnknown writes the states that can no longer turn out to be known.
func (e *encoder) writeUnknown() {
	now := e.clock.boottime(e.now)
	e.unknown = slices.DeleteFunc(e.unknown, func(u unknown) bool {
		if u.left < now {
			e.out = appendUnknown(e.out, u)
		}
		return u.left < now
	})
}

// appears is called when a thread begins to run that already runs in Perfetto's tables, or has no known state
// there.
func (e *encoder) appears(on *cpu, at int64, t *thread) {
	if t.shown == shownUnknown {
		e.endUnknown(t, e.clock.boottime(at))
		return
	}
	for _, c := range e.cpus {
		if c != nil && c != on && c.running == t {
			// Its switch away is missing there, so it ran there for sure until that CPU's last event only.
			sure := max(c.last, e.opened)
			e.takeOver(c, sure, e.lostOn(c, sure), 120)
			e.endUnknown(t, e.clock.boottime(at))
		}
	}
}

// hide sets the state of an off-CPU thread to unknown: a filter hides it from here on.
func (e *encoder) hide(v *tracks.Event) {
	k := e.threads.get(v.Task)
	first := slices.IndexFunc(e.cpus, func(c *cpu) bool { return c != nil })
	if k == nil || first < 0 || !k.isReal() || k.shown < 0 {
		return
	}
	e.setUnknown(k.thread, uint32(first), v.Time)
}

// hideAll sets the states of all threads that are off the CPU to unknown: a window has closed, and another one opens later.
func (e *encoder) hideAll(at int64) {
	first := slices.IndexFunc(e.cpus, func(c *cpu) bool { return c != nil })
	if first < 0 {
		return
	}
	for _, tid := range slices.Sorted(maps.Keys(e.threads.byTID)) {
		if t := e.threads.byTID[tid]; t.isReal() && t.shown >= 0 {
			e.setUnknown(t, uint32(first), at)
		}
	}
}

func appendUnknown(out []byte, u unknown) []byte {
	none := &thread{}
	out = appendTaskState(out, u.left+1, u.cpu, &task{thread: u.thread}, 0, taskRunning)
	out = appendTaskState(out, u.left+1, u.cpu, &task{thread: none}, 0, taskRunning)
	return appendTaskState(out, u.left+1, u.cpu, &task{thread: none}, 0, taskRunnable)
}
