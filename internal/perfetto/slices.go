package perfetto

import (
	"wprof/internal/stacks"
	"wprof/internal/timeline"
)

// The slices of a thread's track lie end to end, because a thread's spans do. So no two overlap or start together, and
// each is written whole when its span has ended.

// ran draws a time on the CPU, on a sequence of the thread's own unless there are texts.
func (w *view) ran(t *thread, s *timeline.Span) {
	from, to := w.e.clock.earlier(s.From), w.e.clock.earlier(s.To)
	var own *threadSequence
	var waker uint64
	var extras extraTexts
	if w.on.Arrows || w.on.Extras {
		track, name := w.track(t), w.onCPU(s.CPU, s.Open)
		waker, extras = w.waker(s), w.extras(s)
		w.seq.start(sliceBegin, track, name)
	} else {
		own = w.ownSequence(t, from)
		w.seq.start(sliceBegin, 0, own.name(w, s.CPU, s.Open))
	}
	began := s.From // the window may have cut its beginning off
	if s.SinceKnown {
		began = min(began, s.Since)
	}
	if s.Off.Known {
		w.seq.number(whyOff(s.State), uint64(max(began-s.Off.Since, 0)))
	}
	if waker != 0 {
		w.seq.value(annWaker, waker)
	}
	if s.Off.Woken != 0 {
		w.seq.number(annDelay, uint64(max(began-s.Off.Ready(), 0)))
	}
	if w.on.Extras {
		w.annotateExtras(s, extras)
	}
	w.annotateIDs(t)
	w.arrowsTo(t, s)
	if own != nil {
		w.e.out = own.put(w.e.out, w.seq.body, from, to)
		return
	}
	w.e.out = w.seq.put(w.e.out, from)
	w.e.out = w.seq.finish(w.e.out, w.track(t), to)
}

// waker is the number of who woke a thread; 0: nobody did, or that is not known.
func (w *view) waker(s *timeline.Span) uint64 {
	if s.Off.Woken == 0 {
		return 0
	}
	k := w.known(s.Off.Waker)
	if k == nil {
		return 0
	}
	return w.label(k)
}

// blocked draws a time in which a thread could not run.
func (w *view) blocked(t *thread, s *timeline.Span) {
	length := s.To - s.From
	if s.SinceKnown {
		length = s.To - min(s.Since, s.From)
	}
	if !w.on.drawsBlock(s.State, length, s.Stack != 0) {
		return
	}
	track := w.track(t)
	of, state := w.stackOf(s.Stack), w.stateOf(s.State)
	name := of.name
	if name == 0 {
		name = state.name
	}
	if s.Open {
		name = w.openName(s)
	}
	w.seq.start(sliceBegin, track, name)
	w.seq.value(annState, state.text)
	if s.SinceKnown && s.Since < s.From {
		w.seq.number(annLength, uint64(length))
	}
	if w.on.Extras {
		w.seq.number(annCPU, uint64(s.CPU))
		w.seq.signed(annPrio, int64(s.Prio))
	}
	w.annotateIDs(t)
	w.annotateStack(of)
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(s.From))
	w.e.out = w.seq.finish(w.e.out, track, w.e.clock.earlier(s.To))
}

func (w *view) openName(s *timeline.Span) uint64 {
	return w.name(stacks.BlockedName(w.blockedIn(s.Stack), s.State) + stillOpen)
}

// extraTexts are the numbers of texts that the extras need.
type extraTexts struct{ state, from, to uint64 }

func (w *view) extras(s *timeline.Span) (x extraTexts) {
	if !w.on.Extras {
		return x
	}
	if !s.Open {
		x.state = w.stateOf(s.Left).text
	}
	if k := w.known(s.Off.Prev); k != nil {
		x.from = w.label(k)
	}
	if k := w.known(s.Next); k != nil {
		x.to = w.label(k)
	}
	return x
}

func (w *view) annotateExtras(s *timeline.Span, x extraTexts) {
	if s.Off.Chain > 0 || s.Off.Compound > 0 {
		w.seq.number(annCompound, uint64(max(s.Off.Compound, 0)))
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
