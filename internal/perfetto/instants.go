package perfetto

import (
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// Instant implements [tracks.Encoder].
func (e *encoder) Instant(i *tracks.Instant) {
	if !e.options.Threads {
		return
	}
	k := e.thread(i.Task)
	var object *task
	if i.Object != nil {
		object = e.thread(i.Object)
	}
	switch i.Kind {
	case tracks.Wakes:
		e.view.wakes(k, object, i)
	case tracks.Preempts:
		e.view.preempted(k, object, i)
	default:
		e.view.instant(k, object, i)
	}
}

// instant draws an instant of a thread. object may be nil.
func (w *view) instant(k, object *task, i *tracks.Instant) {
	var objectName, path string
	switch i.Kind {
	case tracks.Forks:
		objectName = w.called(object)
	case tracks.Renames:
		objectName = string(object.name)
	case tracks.Execs:
		path = string(stacks.Clipped(stacks.Printable(i.Path, stacks.Unnamed)))
	}
	track, name := w.track(k.thread), w.name(i.Name(string(k.name), objectName, path))
	w.seq.start(instant, track, name)
	if i.Kind == tracks.Exits {
		w.seq.number(annCode, i.Code)
		if i.Signal != 0 {
			w.seq.number(annSignal, i.Signal)
		}
	}
	w.annotateIDs(k.thread)
	w.out = w.seq.put(w.out, w.clock.earlier(i.At))
}

// sample draws a sample: as an instant, or as slices that begin or continue there.
func (w *view) sample(k *task, s *tracks.Sample, period int64) {
	if !k.isReal() {
		return
	}
	if w.on.TimerTicks {
		of := w.stackOf(s.Stack)
		track, name := w.track(k.thread), w.name("tick")
		w.seq.start(instant, track, name)
		w.annotateStack(of)
		w.out = w.seq.put(w.out, w.clock.earlier(s.At))
	}
	if w.on.EmbedStacks {
		w.endStale(k.thread, s.At, period)
		w.embed(k.thread, s.At, s.Stack)
	}
}
