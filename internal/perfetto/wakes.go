package perfetto

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Arrows lead from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU. The
// engine counts an error for an arrow that ends without having begun, so a slice ends only those of which the instant
// was drawn.
//
// The numbers of arrows take Perfetto's older fields: the newer ones have 8 bytes a number, which would be a tenth of the
// thread view. So that the numbers stay small, one is used again for the same thread when its arrow has ended.

// arrow is one that leads to a thread: of its waking, or of its preemption.
type arrow struct {
	id uint64
	at int64 // when it began, ns of CLOCK_MONOTONIC; 0: there is none
}

// begin begins an arrow and returns its number.
func (w *view) begin(a *arrow, at int64) uint64 {
	if a.id == 0 || a.at != 0 {
		w.arrows++
		a.id = w.arrows
	}
	a.at = at
	return a.id
}

// end ends an arrow at the event at hand, if it is the one that began at a time.
func (w *view) end(a *arrow, at int64) {
	switch a.at {
	case 0:
		return
	case at:
		w.seq.arrow(eventArrowEnd, a.id)
	default:
		a.id = 0 // it never ends
	}
	a.at = 0
}

// preemption is an instant that waits for its slice: the slice that begins with it has to be written first, to hold it.
type preemption struct {
	at    int64
	who   *task
	arrow uint64
}

// waking draws the waking that makes a thread runnable; further ones of the same time off the CPU are not drawn. Of a
// thread that runs, or of which nothing is known, all are: any may turn out to be the one that counts.
func (w *view) waking(v *format.Event, id format.TaskID, at int64) {
	var wakee *timeline.Thread
	var before int64
	if v.Flags&format.FlagObject != 0 {
		if wakee = w.spans.Timeline().Enter(id); wakee != nil {
			before = wakee.Woken
		}
	}
	w.spans.Apply(v)
	if wakee == nil || wakee.Woken == before && !wakee.WokenEarly(at) || !w.drawsWaking(v) {
		return
	}
	from, to := w.known(v.Task), w.known(id)
	if from == nil || to == nil || !to.isReal() {
		return
	}
	arrow := &to.drawn.woken
	if wakee.Status == timeline.Running {
		arrow = &to.drawn.early
	} else if wakee.Status == timeline.Unknown && arrow.at != 0 {
		arrow = &to.drawn.rewoken
	}
	name, place, stack := w.wakes(to), w.placeOf(from, v.CPU), w.wakingStack(v)
	w.seq.start(instant, place, name)
	w.annotateStack(stack)
	if w.on.Extras {
		w.annotateWaking(v)
	}
	if w.on.TIDPID {
		w.annotateIDs(to.thread)
	}
	w.seq.arrow(eventArrow, w.begin(arrow, at))
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(at))
}

// drawsWaking tells whether a waking is drawn: one without a stack only where Perfetto does not show it itself.
func (w *view) drawsWaking(v *format.Event) bool {
	return w.on.Threads && v.Flags&format.FlagSubject != 0 && (w.on.Arrows || v.Flags&format.WakingHasStack != 0)
}

// wakingStack is where the waker was, if that was taken.
func (w *view) wakingStack(v *format.Event) stackText {
	if v.Flags&format.WakingHasStack == 0 {
		return stackText{}
	}
	if v.Kind == format.KindWaking {
		return w.stackOf(format.StackID(v.Args[format.WakingStack]))
	}
	return w.stackOf(format.StackID(v.Args[format.WakeupNewStack]))
}

func (w *view) annotateWaking(v *format.Event) {
	w.seq.number(annCPU, uint64(v.CPU))
	if v.Kind == format.KindWaking {
		w.seq.number(annTargetCPU, v.Args[format.WakingTargetCPU])
		w.seq.signed(annPrio, int64(v.Args[format.WakingPrio]))
		return
	}
	w.seq.number(annTargetCPU, v.Args[format.WakeupNewTargetCPU])
	w.seq.signed(annPrio, int64(v.Args[format.WakeupNewPrio]))
}

// placeOf is the track of a thread, or of idle on a CPU.
func (w *view) placeOf(k *task, cpu uint32) uint64 {
	if k.isReal() {
		return w.track(k.thread)
	}
	return w.idle.track(w, cpu)
}

// preempted notes that a thread has taken a CPU from one that could have run on.
func (w *view) preempted(v *format.Event, at int64) {
	by, who := w.known(format.TaskID(v.Args[format.SwitchNext])), w.known(v.Task)
	if by == nil || who == nil || !who.isReal() || by.thread == who.thread {
		return
	}
	p := preemption{at, who, w.begin(&who.drawn.preempted, at)}
	if !by.isReal() {
		w.drawPreemption(w.idle.track(w, v.CPU), p)
		return
	}
	w.flushPreemption(by.thread)
	by.drawn.preempts = p
}

// flushPreemption draws the preemption with which a thread's slice began that was just written. If there is none, it is
// drawn all the same: an arrow begins there.
func (w *view) flushPreemption(t *thread) {
	p := t.drawn.preempts
	if p.who == nil {
		return
	}
	t.drawn.preempts = preemption{}
	w.drawPreemption(w.track(t), p)
}

func (w *view) drawPreemption(track uint64, p preemption) {
	name := w.preempts(p.who)
	w.seq.start(instant, track, name)
	if w.on.TIDPID {
		w.annotateIDs(p.who.thread)
	}
	w.seq.arrow(eventArrow, p.arrow)
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(p.at))
}

// arrowsTo ends the arrows that lead to a slice.
func (w *view) arrowsTo(t *thread, s *timeline.Span) {
	preempted := int64(-1)
	if s.Off.Preempted {
		preempted = s.Off.Since
	}
	w.end(&t.drawn.woken, s.Off.Woken)
	w.end(&t.drawn.rewoken, s.Off.Woken)
	w.end(&t.drawn.preempted, preempted)
	t.drawn.rewoken, t.drawn.early = t.drawn.early, arrow{}
}
