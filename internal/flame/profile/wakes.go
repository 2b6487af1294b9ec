package profile

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// interruptName is the waker's name if an interrupt was the waker: the interrupted thread was not involved.
const interruptName = "[interrupt]"

// waking is the latest waking of a thread.
type waking struct {
	wake WakeID
	at   int64
}

// recordWaker stores the waker of a thread. It is called before the timeline applies the event. The waker's own waking belongs to
// the chain only if it came after the thread had left its CPU: what came before did not delay the thread.
func (c *collector) recordWaker(e *format.Event, id format.TaskID, stack format.StackID) {
	if e.Flags&format.FlagObject == 0 {
		return
	}
	tl := c.spans.Timeline()
	of := tl.Enter(id)
	if of == nil || of.Idle() || of.Status == timeline.Off && of.Woken != 0 || e.Task == id {
		return
	}
	at := e.Happened()
	// A filter that hides the waker keeps its name and its stack: they explain why the thread continues.
	w := Wake{Label: c.taskLabel(e.Task)}
	var from resolved
	if stack != 0 {
		from = c.interner.waker(stack)
		w.Stack = from.node
	}
	switch by := tl.Enter(e.Task); {
	case from.interrupt || e.Kind == format.KindWaking && e.Flags&format.WakingInIRQ != 0:
		w.Label = c.interruptLabel(interruptName)
	case by != nil && !by.Idle() && of.Status == timeline.Off && of.SinceKnown:
		if waker, known := by.Own.(*thread); known && waker.woken.at >= of.Since {
			w.Before = c.chain(waker.woken.wake, c.o.Wakes-1)
		}
	}
	t := c.thread(of)
	if of.Status == timeline.Running {
		t.early = waking{c.internWake(w), at}
	} else {
		t.woken = waking{c.internWake(w), at}
	}
}

// chain returns the first wakes of a chain, up to this length.
func (c *collector) chain(id WakeID, length int) WakeID {
	if id == 0 || length == 0 {
		return 0
	}
	w := c.p.Wakes[id]
	w.Before = c.chain(w.Before, length-1)
	return c.internWake(w)
}

func (c *collector) internWake(w Wake) WakeID {
	return c.wakes.intern(&c.p.Wakes, w)
}

// wakeOf returns the wake that ended an off-CPU interval; 0: none did.
func (c *collector) wakeOf(t *thread, s *timeline.Span) WakeID {
	switch {
	case s.Off.Woken == 0:
		return 0
	case s.Off.Woken == t.early.at:
		t.woken, t.early = t.early, waking{}
	}
	if s.Off.Woken == t.woken.at {
		return c.byInterrupt(t.woken.wake, s)
	}
	if s.Off.WokenIRQ {
		return c.byInterrupt(c.internWake(Wake{Label: c.interruptLabel(interruptName)}), s)
	}
	return c.internWake(Wake{Label: c.taskLabel(s.Off.Waker)})
}

func (c *collector) interruptLabel(name string) LabelID {
	return c.internLabel(Label{Comm: name, Process: name})
}

// byInterrupt returns a wake by an interrupt with the interrupt's name, if that was recorded.
func (c *collector) byInterrupt(id WakeID, s *timeline.Span) WakeID {
	if !s.Off.WokenIRQ || s.Off.WokenBy == 0 {
		return id
	}
	name, _ := c.spans.InterruptName(s.Off.WokenBy)
	w := c.p.Wakes[id]
	w.Label = c.interruptLabel(interruptNote(name))
	return c.internWake(w)
}
