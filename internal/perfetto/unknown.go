package perfetto

import (
	"slices"

	"wprof/format"
	"wprof/internal/tracks"
)

// A state that says "unknown" is NULL in thread_state, which the interface shows as Unknown. No switch leads there
// without the engine counting an error: it takes every combination of the kernel's bits for a state, and any other
// number for damage. Task states have a value for it, which is refused. But of two threads that begin to run on a CPU
// one after the other, with nothing known between, the engine leaves the first one in NULL. So a thread of which it is
// not known how it left runs again for no time, and idle after it.

// stateNone is how a thread leaves a CPU of which nothing is known, until its state becomes NULL, and how those leave
// that stand for others. It has to be some state: this one is drawn as nothing, no query for waits or sleeps finds it, and no
// thread of a process has it.
const stateNone = int64(format.StateIdle)

// unknown is a thread that has left its CPU in stateNone. Task states go before switches at the same time, so it is a
// nanosecond later that it can have the state NULL, and only if it has no other one by then.
type unknown struct {
	thread *thread
	cpu    uint32
	left   uint64
}

// takeOver gives a CPU to a thread where it is not known how the one before has left it.
func (e *encoder) takeOver(c *cpu, at int64, next *task, prio int32) {
	before := c.running
	e.handOver(c, at, stateNone, next, prio)
	if before != nil && before != next.thread && before.isReal() {
		e.forget(before, c.number, at)
	}
}

// forget makes a thread's state unknown from a time on.
func (e *encoder) forget(t *thread, cpu uint32, at int64) {
	t.shown = shownUnknown
	e.unknown = append(e.unknown, unknown{t, cpu, e.clock.boottime(at)})
}

// endUnknown ends what forget began, because a thread has a state again. It reports whether the thread has left its CPU at
// that very time.
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

// appears is called when a thread begins to run of which Perfetto believes that it runs already, or of which it knows
// no state.
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

// hide makes the state of a thread unknown that is not on a CPU: a filter hides it from here on.
func (e *encoder) hide(v *tracks.Event) {
	k := e.threads.get(v.Task)
	first := slices.IndexFunc(e.cpus, func(c *cpu) bool { return c != nil })
	if k == nil || first < 0 || !k.isReal() || k.shown < 0 {
		return
	}
	e.forget(k.thread, uint32(first), v.Time)
}

func appendUnknown(out []byte, u unknown) []byte {
	nobody := &thread{}
	out = appendTaskState(out, u.left+1, u.cpu, &task{thread: u.thread}, 0, taskRunning)
	out = appendTaskState(out, u.left+1, u.cpu, &task{thread: nobody}, 0, taskRunning)
	return appendTaskState(out, u.left+1, u.cpu, &task{thread: nobody}, 0, taskRunnable)
}
