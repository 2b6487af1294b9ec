package perfetto

import (
	"strconv"

	"wprof/internal/tracks"
)

// The slices of a thread's track lie end to end, because a thread's spans do. So no two overlap or start together, and
// each is written whole when its span has ended.

// ran draws a time on the CPU, on the thread's own sequence unless it has texts.
func (w *view) ran(t *thread, s *tracks.Slice) {
	from, to := w.clock.earlier(s.From), w.clock.earlier(s.To)
	var own *threadSequence
	var waker, context, interrupt uint64
	var extras extraTexts
	if w.on.Arrows || w.on.Extras || len(s.Counts) > 0 {
		track, name := w.track(t), w.onCPU(s.CPU, s.Open)
		if s.Runs > 0 {
			name = w.name("on CPU " + strconv.Itoa(int(s.CPU)) + shortRuns)
		}
		if w.on.Arrows || w.on.Extras {
			waker, context, extras = w.label(s.Waker), w.context(s.Off.WokenIRQ), w.extras(s)
			interrupt = w.interrupt(s)
		}
		w.describeCounters(s.Counts)
		w.seq.start(sliceBegin, track, name)
	} else {
		own = w.ownSequence(t, from)
		w.seq.start(sliceBegin, 0, own.name(w, s.CPU, s.Open, s.Runs > 0))
	}
	w.seq.category(catOnCPU)
	if w.on.NUMA {
		w.seq.number(annNUMA, w.node(s.CPU))
	}
	if s.Off.Known {
		w.seq.number(whyOff(s.State), uint64(s.OffNs()))
	}
	if waker != 0 {
		w.seq.value(annWaker, waker)
	}
	if context != 0 {
		w.seq.value(annContext, context)
	}
	if interrupt != 0 {
		w.seq.value(annInterrupt, interrupt)
	}
	if s.Off.Woken != 0 {
		w.seq.number(annDelay, w.delay(s.DelayNs()))
	}
	if s.Runs > 0 {
		w.seq.number(annRuns, uint64(s.Runs))
		w.seq.number(annRan, uint64(s.RanNs))
		if s.LongestDelayNs > 0 {
			w.seq.number(annLongestDelay, uint64(s.LongestDelayNs))
		}
	}
	if w.on.Extras {
		w.annotateExtras(s, extras)
	}
	w.annotateCounts(s.Counts)
	w.annotateIDs(t)
	for _, a := range [...]*tracks.Arrow{&s.Waking, &s.Arrow} {
		if a.ID != 0 {
			w.seq.arrow(eventArrowEnd, a.ID)
		}
	}
	if own != nil {
		w.out = own.put(w.out, w.seq.body, from, to)
		return
	}
	w.out = w.seq.put(w.out, from)
	w.out = w.seq.finish(w.out, w.track(t), to)
}

// blocked draws a time in which a thread was blocked, on a track that need not be its own.
func (w *view) blocked(t *thread, s *tracks.Slice, track uint64) {
	of, state, wait := w.stackOf(s.Stack), w.stateOf(s.State), w.waitOf(s.Wait)
	name := wait.name
	if s.Open {
		name = w.name(s.Wait.Name + stillOpen)
	}
	var who uint64
	if track != t.drawn.track {
		who = w.text(string(t.drawn.name) + " " + strconv.Itoa(int(t.tid)))
	}
	w.seq.start(sliceBegin, track, name)
	w.seq.category(catOffCPU)
	w.seq.value(annState, state.text)
	w.annotateWait(s.Wait, wait)
	if who != 0 {
		w.seq.value(annThread, who)
	}
	if s.Began() < s.From {
		w.seq.number(annLength, uint64(s.To-s.Began()))
	}
	if w.on.Extras {
		w.seq.number(annCPU, uint64(s.CPU))
		w.seq.signed(annPrio, int64(s.Prio))
	}
	w.annotateIDs(t)
	w.annotateStack(of)
	w.out = w.seq.put(w.out, w.clock.earlier(s.From))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(s.To))
}

// preemptedWith draws a time for which a preempted or throttled thread waited, with the stack that was taken there.
func (w *view) preemptedWith(t *thread, s *tracks.Slice) {
	name := "preempted"
	if s.Off.Throttled {
		name = "throttled"
	}
	if s.Open {
		name += stillOpen
	}
	of, track, id := w.stackOf(s.Stack), w.track(t), w.name(name)
	w.seq.start(sliceBegin, track, id)
	w.seq.category(catOffCPU)
	w.annotateIDs(t)
	w.annotateStack(of)
	w.out = w.seq.put(w.out, w.clock.earlier(s.From))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(s.To))
}

// extraTexts holds the ids of the texts of extra annotations.
type extraTexts struct{ state, from, to uint64 }

func (w *view) extras(s *tracks.Slice) (x extraTexts) {
	if !w.on.Extras {
		return x
	}
	if !s.Open {
		x.state = w.stateOf(s.Left).text
	}
	x.from, x.to = w.label(s.PrevTask), w.label(s.NextTask)
	return x
}

func (w *view) annotateExtras(s *tracks.Slice, x extraTexts) {
	if s.Off.Chain > 0 || s.Off.Compound > 0 {
		w.seq.number(annCompound, w.delay(s.Off.Compound))
		w.seq.number(annChain, uint64(s.Off.Chain))
	}
	w.seq.number(annCPU, uint64(s.CPU))
	if s.Off.Woken != 0 {
		w.seq.number(annWakerCPU, uint64(s.Off.WakerCPU))
	}
	w.seq.signed(annPrio, int64(s.Prio))
	for _, one := range [...]struct {
		name annotation
		text uint64
	}{{annFrom, x.from}, {annTo, x.to}, {annState, x.state}} {
		if one.text != 0 {
			w.seq.value(one.name, one.text)
		}
	}
}

func (w *view) annotateIDs(t *thread) {
	if w.on.TIDPID {
		w.seq.signed(annTID, int64(t.tid))
		w.seq.signed(annPID, int64(t.pid))
		if t.nsTID != 0 {
			w.seq.signed(annNSTID, int64(t.nsTID))
			w.seq.signed(annNSPID, int64(t.nsPID))
		}
	}
}
