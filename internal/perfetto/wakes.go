package perfetto

import "wprof/internal/tracks"

// Arrows lead from an instant, where a thread is woken or preempted, to the slice with which it comes back on a CPU. The engine
// counts an error for an arrow that ends without having begun, so each such instant is drawn, for any thread.
//
// The numbers of arrows take Perfetto's older fields: the newer ones have 8 bytes a number, which would be a tenth of the
// thread view.

// preemption is an instant that waits for its slice: the slice that begins with it has to be written first, to contain it.
type preemption struct {
	at    int64
	who   *task
	arrow uint64
}

// wakes draws a wakeup.
func (w *view) wakes(by, to *task, i *tracks.Instant) {
	name, place, stack := w.changeName(i.Kind, to), w.placeOf(by, i.CPU), w.stackOf(i.Stack)
	context := w.context(i.Interrupt)
	w.seq.start(instant, place, name)
	w.seq.category(catWaking)
	if w.on.NUMA {
		w.seq.number(annNUMA, w.node(i.CPU))
	}
	if context != 0 {
		w.seq.value(annContext, context)
	}
	w.annotateStack(stack)
	if w.on.Extras {
		w.seq.number(annCPU, uint64(i.CPU))
		w.seq.number(annTargetCPU, uint64(i.TargetCPU))
		w.seq.signed(annPrio, int64(i.Prio))
	}
	w.annotateIDs(to.thread)
	w.seq.arrow(eventArrow, i.Arrow)
	w.out = w.seq.put(w.out, w.clock.earlier(i.At))
	if w.on.Arrows && w.on.Sched || w.on.Extras {
		w.wakee(by, to, i)
	}
}

// wakee marks the woken thread at the time of its wakeup.
func (w *view) wakee(by, to *task, i *tracks.Instant) {
	track, name := w.track(to.thread), w.name("woken by "+w.called(by))
	w.seq.start(instant, track, name)
	w.seq.category(catWakee)
	w.annotateIDs(by.thread)
	w.out = w.seq.put(w.out, w.clock.earlier(i.At))
}

// placeOf returns the track of a thread, or of idle on a CPU.
func (w *view) placeOf(k *task, cpu uint32) uint64 {
	if k.isReal() {
		return w.track(k.thread)
	}
	return w.idle.track(w, cpu)
}

// preempted keeps a preemption until its slice has been written.
func (w *view) preempted(by, who *task, i *tracks.Instant) {
	p := preemption{i.At, who, i.Arrow}
	if !by.isReal() {
		w.drawPreemption(w.idle.track(w, i.CPU), p)
		return
	}
	w.flushPreemption(by.thread)
	by.drawn.preempts = p
}

// flushPreemption draws the preemption with which the slice just written began. It is also drawn if there is no slice, because
// an arrow begins there.
func (w *view) flushPreemption(t *thread) {
	p := t.drawn.preempts
	if p.who == nil {
		return
	}
	t.drawn.preempts = preemption{}
	w.drawPreemption(w.track(t), p)
}

func (w *view) drawPreemption(track uint64, p preemption) {
	name := w.changeName(tracks.Preempts, p.who)
	w.seq.start(instant, track, name)
	w.seq.category(catPreemptor)
	w.annotateIDs(p.who.thread)
	w.seq.arrow(eventArrow, p.arrow)
	w.out = w.seq.put(w.out, w.clock.earlier(p.at))
}
