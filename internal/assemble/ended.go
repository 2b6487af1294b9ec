package assemble

import (
	"slices"

	"wprof/format"
	"wprof/internal/timeline"
)

// endedThreads are threads that the kernel has freed, for as long as a record of a span may come that they were in: the recorder notices only
// after some seconds that such a span will not end.
type endedThreads struct {
	byTID, before map[uint32]*thread
	began         int64 // when byTID did
}

const (
	// endedFor is longer than the recorder takes to notice: twice the interval of its sweeps.
	endedFor = int64(12e9)
	// maxEndedThreads bounds those of that time.
	maxEndedThreads = 1 << 15
)

// keepEnded keeps a thread that is about to be dropped, if probes have spans that only their threads can end.
func (a *applier) keepEnded(t *thread) {
	if !t.exited || !a.out.types.tracepoints.hasThreadSpans() {
		return
	}
	e := &a.endedThreads
	if e.byTID == nil || t.exitedAt-e.began > endedFor || len(e.byTID) >= maxEndedThreads {
		e.before, e.byTID, e.began = e.byTID, make(map[uint32]*thread), t.exitedAt
	}
	e.byTID[t.tid] = t
}

// find returns the thread that had a tid at a time; nil: it is not known.
func (e *endedThreads) find(tid uint32, at int64) *thread {
	for _, all := range [...]map[uint32]*thread{e.byTID, e.before} {
		if t := all[tid]; t != nil && (!t.identified || t.start <= at) {
			return t
		}
	}
	return nil
}

// endOf returns when the thread ended in which a span began that is listed as open; of is then that thread, at 0 if it was before the window.
// of is nil if the thread lives, or nothing is known of it. Kernel programs do not notice that a span cannot end any more.
func (a *applier) endOf(number, tid uint32, start int64) (of *thread, at int64) {
	if tid == 0 || a.endsAnywhere(number) {
		return nil, 0 // idle threads do not end
	}
	t := a.threads.get(tid)
	isYounger := t != nil && t.identified && t.start > start
	switch {
	case t == nil || isYounger:
		if ended := a.endedThreads.find(tid, start); ended != nil {
			return ended, a.inWindow(ended.exitedAt)
		}
		if isYounger || start < a.out.from { // all threads are known that were alive when the window opened
			return &thread{}, 0
		}
	case t.exited || t.Status == timeline.Dead:
		return t, a.inWindow(t.exitedAt)
	}
	return nil, 0
}

// inWindow returns a time if it is in the window, and else 0.
func (a *applier) inWindow(at int64) int64 {
	if at < a.out.from {
		return 0
	}
	return at
}

// hasThreadSpans reports whether there are spans that only the thread can end in which they began.
func (t *tracepointTypes) hasThreadSpans() bool {
	t.read()
	return slices.ContainsFunc(t.all, func(of tracepointType) bool {
		return of.Def.Shape == uint32(format.TypeShape_SHAPE_SPAN) && !endsAnywhere(of.Def)
	})
}

// endsAnywhere reports whether another thread than the one that began it may end a span of a type.
func (a *applier) endsAnywhere(number uint32) bool {
	l := a.out.types.tracepoints.define(a.out, number)
	return l == nil || endsAnywhere(l.Def)
}

func endsAnywhere(t *format.EventType) bool {
	return slices.ContainsFunc(t.Fields, func(f *format.TypeField) bool { return f.Hint == uint32(format.ValueHint_HINT_BEGAN_BY) })
}
