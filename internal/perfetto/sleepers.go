package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// Threads that are blocked from the opening of a window to its close are most of a machine's. A slice on the thread's own track would
// give a row to each of their processes, so that of a process none of whose threads ran in the window all are below one group, on a track
// for each process. Kernel threads that sleep all the time are not drawn.

const (
	// maxSleepers bounds the threads that are kept until the window closes. Further ones have slices on their own tracks.
	maxSleepers = 1 << 15
	// maxNested bounds the slices of a track that nest. The engine takes 512.
	maxNested = 256
)

// ofSleepers is the place of tracks for processes that did not run.
const ofSleepers = format.TypeTrack(-2)

// ofMarks is the place of tracks for conditions of --mark.
const ofMarks = format.TypeTrack(-3)

// sleepers are the threads that were blocked in the whole window.
type sleepers struct {
	window uint32             // counts windows
	ran    map[int32]struct{} // processes of which a thread ran in this one
	drawn  map[int32]int      // threads that were drawn below the group, by process
	all    []sleeper
}

type sleeper struct {
	thread *thread
	slice  tracks.Slice
	span   timeline.Span // of slice
}

// open begins a window.
func (l *sleepers) open() {
	l.window++
	l.ran, l.drawn = make(map[int32]struct{}), make(map[int32]int)
}

// runs notes that a thread ran.
func (l *sleepers) runs(t *thread) {
	if t.drawn.ranIn != l.window {
		t.drawn.ranIn = l.window
		l.ran[t.pid] = struct{}{}
	}
}

// takes keeps a thread that was blocked in the whole window, and reports whether it does.
func (l *sleepers) takes(t *thread, s *tracks.Slice, opened int64) bool {
	if !s.Open || s.From != opened || len(l.all) >= maxSleepers {
		return false
	}
	l.all = append(l.all, sleeper{thread: t, slice: *s, span: *s.Span})
	return true
}

// drawSleepers draws the threads that were blocked in the whole window; in a filtered stream, whose threads the user has chosen, in
// their processes.
func (w *view) drawSleepers(isFiltered bool) {
	l := &w.sleepers
	for i := range l.all {
		one := &l.all[i]
		one.slice.Span = &one.span
		_, hasRun := l.ran[one.thread.pid]
		switch {
		case hasRun || isFiltered || one.thread.pid == 0:
			w.blocked(one.thread, &one.slice, w.track(one.thread))
		case one.thread.isKernel && one.span.State&format.StateInterruptible != 0:
		default:
			if track, ok := w.sleeperTrack(&one.slice); ok {
				w.blocked(one.thread, &one.slice, track)
			}
		}
	}
	clear(l.all)
	l.all = l.all[:0]
}

// sleeperTrack is the track of a sleeping thread's process, below the group. Slices on it nest, because they are equally long.
func (w *view) sleeperTrack(s *tracks.Slice) (uuid uint64, ok bool) {
	l := &w.sleepers
	pid := s.Task.Def.Pid
	n := l.drawn[pid]
	l.drawn[pid]++
	if n >= tracks.MaxLanes*maxNested {
		return 0, false
	}
	key := itemKey{on: ofSleepers, number: int64(pid), name: processLabel(s.Task) + " " + strconv.Itoa(int(pid))}
	return w.laneTrack(key, &w.items.track(key).of[n/maxNested]), true
}

// sleepersGroup is the track above those of sleeping processes.
func (w *view) sleepersGroup() uint64 {
	return w.groupTrack(groupKey{process: -1}, func(out []byte) []byte {
		out = appendString(out, trackName, "Processes that never ran")
		return appendString(out, trackDescription, "Where the threads of each were blocked in the whole window.")
	})
}
