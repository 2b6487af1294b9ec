package perfetto

import (
	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// view draws what each thread does, as slices and instants on a track of its own, idle times on one track for each CPU, items,
// and notes on the recording.
type view struct {
	*trace
	threads *threads
	on      Options
	seq     sequence
	opened  int64 // when the current window did
	leaves  leaving
	// uuids counts the tracks that were given numbers: small ones, because each event has one.
	uuids     uint64
	idle      idleTracks
	items     items
	counters  counterSet
	sleepers  sleepers
	cpuNames  []cpuName
	forks     uint64                       // that were drawn
	links     *bounded.Map[uint64, uint64] // numbers of the arrows that lead on from slices, by [tracks.Link.ID]
	linked    uint64                       // slices from which arrows lead on
	crossings uint64                       // slices that began in another thread than they ended, that were drawn
	nodes     map[uint32]int32             // NUMA nodes by CPU
	occupancy occupancy
	cores     coreTracks
	loads     loads
	rates     counterTracks
	processes processes
}

// drawn is the view's state of a thread.
type drawn struct {
	track, stackTrack           uint64 // 0: not numbered
	generation, stackGeneration uint32 // of the sequence, when they were described
	pid                         int32  // when it was numbered
	name                        []byte // the latest one
	preempts                    preemption
	ranIn                       uint32 // the latest window of sleepers in which it ran
	own                         threadSequence
	embedded                    *embedded
}

// leaving is the thread that the current event takes off its CPU.
type leaving struct {
	thread *thread // nil: none
	at     int64
}

// taskNames holds the ids of names that contain a task's, valid in one generation of the sequence.
type taskNames struct {
	generation                       uint32
	label, argument, wakes, preempts uint64
}

func newView(t *trace, all *threads, on Options) *view {
	on.Arrows = on.Arrows || !on.Sched
	w := &view{trace: t, threads: all, on: on, items: newItems(), links: bounded.NewMap[uint64, uint64](maxLinks), cores: newCoreTracks(), loads: newLoads(), processes: newProcesses(), seq: sequence{stale: true, peerNames: on.PeerNames}}
	w.occupancy.ran = w.ranOn
	w.rates = newCounterTracks(func(r *counterRow) { w.closeRate(r, w.now/rateNs) })
	return w
}

// node returns the NUMA node of a CPU.
func (w *view) node(cpu uint32) uint64 { return uint64(max(w.nodes[cpu], 0)) }

// newSection is called when ids change their meaning.
func (w *view) newSection() {
	w.endStacks()
	w.seq.stale = true
}

// event is called with the next event, before anything of it is drawn.
func (w *view) event(v *tracks.Event) {
	if w.on.drawsThreads() {
		w.resetIfDue()
	}
	w.occupies(v)
	if v.Kind == format.KindSwitch && w.on.EmbedStacks {
		if k := w.threads.known(v.Task); k != nil {
			w.leaves = leaving{k.thread, v.Happened()}
		}
	}
}

// eventDrawn is called after an event's slices: the slice that ends the stack comes after the event, and may end before it where events
// were lost. A thread that was not known to run has none.
func (w *view) eventDrawn() {
	if l := w.leaves; l.thread != nil {
		w.leaves = leaving{}
		w.endStack(l.thread, l.at)
	}
}

func (w *view) resetIfDue() {
	if w.seq.due(w.now, w.size()) {
		w.out = w.seq.reset(w.out, w.now, w.clock.boottime(w.now), w.size())
	}
}

// close writes what waits for the end of the window.
func (w *view) close(isFiltered bool) {
	w.endOccupancy()
	w.endStacks()
	w.drawSleepers(isFiltered)
	for _, t := range w.threads.sorted() {
		w.flushPreemption(t)
	}
}

// Slice implements [tracks.Encoder].
func (e *encoder) Slice(s *tracks.Slice) {
	w := e.view
	if w.seq.stale {
		w.resetIfDue()
	}
	if s.Task.Idle {
		if w.on.Threads {
			w.idle.draw(w, s)
		}
	} else if k := e.threads.known(s.Task); k != nil {
		w.slice(k.thread, s)
	}
}

func (w *view) slice(t *thread, s *tracks.Slice) {
	if s.Kind == timeline.SpanRunning {
		w.endStack(t, s.To)
	}
	w.mark(t, s)
	if w.on.Threads {
		switch s.Kind {
		case timeline.SpanRunning:
			w.sleepers.runs(t)
			w.ran(t, s)
		case timeline.SpanRunnable:
			w.preemptedWith(t, s)
		case timeline.SpanBlocked:
			if w.on.Sleepers || !w.sleepers.takes(t, s, w.opened) {
				w.blocked(t, s, w.track(t))
			}
		}
	}
	w.flushPreemption(t)
}
