package perfetto

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Arrows lead from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU. The
// engine counts an error for an arrow that ends without having begun, so a slice ends only those of which the instant
// was drawn.

// preemption is an instant that waits for its slice: it is written within the slice that begins with it.
type preemption struct {
	at   int64
	who  *task
	flow uint64
}

// Arrows to one thread by what they are, in the bits above those of a tid.
const (
	arrowOfWaking = iota << 22
	arrowOfPreemption
)

// arrow numbers an arrow by the thread that it leads to and when, so that both ends find the same number in the stream.
func arrow(what uint64, tid int32, at int64) uint64 {
	return uint64(at)<<23 ^ what ^ uint64(uint32(tid)) + 1<<63
}

// waking draws the waking that makes a thread runnable; further ones of the same time off the CPU are not drawn. Of a
// thread of which nothing is known all are: the last one may turn out to be the one that counts.
func (w *view) waking(v *format.Event, id format.TaskID, at int64) {
	var wakee *timeline.Thread
	var before int64
	if v.Flags&format.FlagObject != 0 {
		if wakee = w.spans.Timeline().Enter(id); wakee != nil {
			before = wakee.Woken
		}
	}
	w.spans.Apply(v)
	if wakee == nil || wakee.Woken == before && wakee.Status != timeline.Unknown || !w.on.Threads || v.Flags&format.FlagSubject == 0 {
		return
	}
	from, to := w.known(v.Task), w.known(id)
	if from == nil || to == nil || !to.isReal() {
		return
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
	w.seq.flow(eventFlow, arrow(arrowOfWaking, to.tid, at))
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(at))
	to.drawn.woken = at
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
	p := preemption{at, who, arrow(arrowOfPreemption, who.tid, at)}
	who.drawn.preempted = at
	if !by.isReal() {
		w.drawPreemption(w.idle.track(w, v.CPU), p)
		return
	}
	w.flushPreemption(by.thread)
	by.drawn.preempts = p
}

// preemptionOf draws the preemption with which a slice began that was just written.
func (w *view) preemptionOf(t *thread, from int64, ts uint64) {
	if p := t.drawn.preempts; p.who != nil && p.at == from {
		w.flushPreemption(t)
	}
}

// flushPreemption draws the preemption that a thread's slice should have begun with, whether there is one or not: an
// arrow begins there.
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
	w.seq.flow(eventFlow, p.flow)
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(p.at))
}

// arrowsTo ends the arrows that lead to a slice.
func (w *view) arrowsTo(t *thread, s *timeline.Span) {
	d := &t.drawn
	if d.woken != 0 && d.woken == s.Off.Woken {
		w.seq.flow(eventFlowEnd, arrow(arrowOfWaking, t.tid, d.woken))
	}
	if d.preempted != 0 && s.Off.Preempted && d.preempted == s.Off.Since {
		w.seq.flow(eventFlowEnd, arrow(arrowOfPreemption, t.tid, d.preempted))
	}
	d.woken, d.preempted = 0, 0
}
