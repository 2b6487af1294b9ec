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
	var text, before uint64
	switch i.Kind {
	case tracks.Forks:
		text = w.text(objectName)
	case tracks.Renames:
		text, before = w.text(string(k.name)), w.text(objectName)
	case tracks.Execs:
		text = w.text(path)
	}
	var cgroup uint64
	if i.Kind == tracks.Execs {
		cgroup = w.cgroup(i.Task)
	}
	w.seq.start(instant, track, name)
	switch i.Kind {
	case tracks.Forks:
		w.forks++
		w.seq.category(catForking)
		w.seq.value(annForkedInto, text)
		w.seq.arrow(eventArrow, forkArrows+w.forks)
	case tracks.Renames:
		w.seq.category(catRename)
		w.seq.value(annOldName, before)
		w.seq.value(annNewName, text)
	case tracks.Execs:
		w.seq.category(catExec)
		w.seq.value(annFile, text)
		w.annotateCgroup(cgroup)
		if i.OldTID != 0 {
			w.seq.number(annOldTID, uint64(i.OldTID))
		}
	case tracks.Exits:
		w.seq.category(catExit)
		w.seq.number(annCode, i.Code)
		if i.Signal != 0 {
			w.seq.number(annSignal, i.Signal)
		}
	}
	if w.on.NUMA {
		w.seq.number(annNUMA, w.node(i.CPU))
	}
	w.annotateIDs(k.thread)
	w.out = w.seq.put(w.out, w.clock.earlier(i.At))
	if i.Kind == tracks.Forks {
		w.forked(k, object, i)
	}
}

// cgroup returns the id of the path of a thread's cgroup; 0: it is in the root, or that is not known.
func (w *view) cgroup(of *tracks.Task) uint64 {
	if of == nil || of.Cgroup == "" || of.Cgroup == "/" {
		return 0
	}
	return w.text(of.Cgroup)
}

func (w *view) annotateCgroup(text uint64) {
	if text != 0 {
		w.seq.value(annCgroup, text)
	}
}

// forkArrows is more than package tracks numbers of arrows.
const forkArrows = 1 << 40

// forked marks a new thread a nanosecond after its fork, where the arrow from the mark of its parent ends: at the fork itself Perfetto
// does not know the thread yet, and would take the track for that of another one.
func (w *view) forked(parent, child *task, i *tracks.Instant) {
	w.now++
	track := w.track(child.thread)
	w.now--
	name, text, cgroup := w.name("forked by "+w.called(parent)), w.text(w.called(parent)), w.cgroup(i.Object)
	w.seq.start(instant, track, name)
	w.seq.category(catForked)
	w.seq.value(annForkedFrom, text)
	w.annotateCgroup(cgroup)
	w.seq.arrow(eventArrowEnd, forkArrows+w.forks)
	w.annotateIDs(parent.thread)
	w.out = w.seq.put(w.out, w.clock.earlier(i.At)+1)
}

// sample draws a sample: as an instant, or as slices that begin or continue there.
func (w *view) sample(k *task, s *tracks.Sample, period int64) {
	if !k.isReal() {
		return
	}
	if w.on.TimerTicks {
		of := w.stackOf(s.Stack)
		track, name := w.track(k.thread), w.name("tick")
		w.describeCounters(s.Counts)
		w.seq.start(instant, track, name)
		w.seq.category(catTimer)
		w.annotateCounts(s.Counts)
		w.annotateStack(of)
		w.out = w.seq.put(w.out, w.clock.earlier(s.At))
	}
	if w.on.EmbedStacks {
		w.endStale(k.thread, s.At, period)
		w.embed(k.thread, s.At, s.Stack)
	}
}
