package perfetto

import (
	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// rare takes the events that are few. Of those that happen to a thread an instant is drawn.
func (w *view) rare(v *format.Event, at int64) {
	w.spans.Apply(v)
	if !w.on.Threads {
		return
	}
	if v.Flags&format.FlagSubject == 0 {
		return
	}
	if items, ok := w.items.made.Items(v); ok {
		w.drawAll(items)
		return
	}
	k := w.known(v.Task)
	if k == nil || !k.isReal() {
		return
	}
	switch v.Kind {
	case format.KindFork:
		if child := w.known(format.TaskID(v.Args[format.ForkChild])); child != nil && v.Flags&format.FlagObject != 0 {
			w.instant(k.thread, at, "fork: "+w.called(child), nil)
		}
	case format.KindExec:
		w.instant(k.thread, at, "exec: "+string(stacks.Clipped(stacks.Printable(v.Data, stacks.Unnamed))), nil)
	case format.KindRename:
		if before := w.known(format.TaskID(v.Args[format.RenamePrev])); before != nil {
			w.instant(k.thread, at, "rename: "+string(before.name)+" to "+string(k.name), nil)
		}
	case format.KindExit:
		w.instant(k.thread, at, "exit", func() {
			code := v.Args[format.ExitCode] // as wait(2) tells it
			w.seq.number(annCode, code>>8&0xff)
			if signal := code & 0x7f; signal != 0 {
				w.seq.number(annSignal, signal)
			}
		})
	}
}

func (w *view) drawAll(items []tracks.Item) {
	for i := range items {
		if w.item(&items[i]); len(w.e.out) >= writeBytes {
			_ = w.e.flushed() // the error stays
			w.resetIfDue(w.e.now)
		}
	}
}

// instant draws a moment of a thread. annotate may be nil.
func (w *view) instant(t *thread, at int64, name string, annotate func()) {
	track, id := w.track(t), w.name(name)
	w.seq.start(instant, track, id)
	if annotate != nil {
		annotate()
	}
	w.annotateIDs(t)
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(at))
}

// sampled draws a sample: as a moment, or as what goes on in the thread from then on.
func (w *view) sampled(v *format.Event, at int64) {
	k := w.known(v.Task)
	if v.Flags&format.FlagSubject == 0 || k == nil || !k.isReal() {
		return
	}
	id := format.StackID(v.Args[format.SampleStack])
	if w.on.TimerTicks {
		of := w.stackOf(id)
		track, name := w.track(k.thread), w.name("tick")
		w.seq.start(instant, track, name)
		w.annotateStack(of)
		w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(at))
	}
	if w.on.EmbedStacks {
		w.endStale(k.thread, at, int64(w.e.samples.sampler(v.Args[format.SampleSource]).period))
		w.embed(k.thread, at, id)
	}
}
