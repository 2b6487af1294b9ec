package perfetto

import (
	"cmp"
	"slices"
	"strconv"

	"wprof/internal/bounded"
	"wprof/internal/tracks"
)

// Perfetto's interface places rows of processes by itself, and has no way to put them below one for their container. So containers have
// counters of their own: for each how many CPUs it uses, and below it the same for each of its processes.

const (
	// loadNs is the time over which CPU use is averaged.
	loadNs = int64(10e6)
	// minLoadNs is the CPU time from which on a process has a row: a container may start thousands of them.
	minLoadNs = loadNs
	// maxLoads bounds the containers and processes whose use is followed; those that used a CPU last are kept.
	maxLoads = 1 << 13
	// ofContainers is the number of the group of containers in groupKey.
	ofContainers = -4
)

// loadKey identifies a container, or a process in it.
type loadKey struct {
	pod, container string
	pid            int32 // 0: the container
}

// load is the CPU use of a container or a process.
type load struct {
	key    loadKey
	latest *tracks.Task // a thread, by the latest definition: a program that is started has another name soon
	within *load        // the container; nil: it is one
	total  int64        // ns
	ns     int64        // in the current interval
	shown  int64        // in the one before, as drawn
	busy   bool         // it is among those that were on a CPU in this interval or the one before
	track  trackRef
}

// loads are all loads.
type loads struct {
	all  *bounded.Map[loadKey, *load]
	busy []*load
	from int64 // of the current interval; a multiple of loadNs
}

func newLoads() loads { return loads{all: bounded.NewMap[loadKey, *load](maxLoads)} }

// add counts a time of a thread on a CPU in the current interval.
func (l *loads) add(w *view, of *tracks.Task, ns int64) {
	if of.In.ID == "" {
		return
	}
	process := l.process(w, of)
	process.latest = of
	l.count(process, ns)
	l.count(process.within, ns)
}

func (l *loads) count(one *load, ns int64) {
	one.ns += ns
	one.total += ns
	if !one.busy {
		one.busy = true
		l.busy = append(l.busy, one)
	}
}

// process returns the load of a thread's process.
func (l *loads) process(w *view, of *tracks.Task) *load {
	k := w.threads.known(of)
	if k != nil && k.load != nil {
		return k.load
	}
	key := loadKey{pod: of.In.Pod, container: of.In.Label()}
	container := l.load(key, nil)
	key.pid = of.Def.Pid
	process := l.load(key, container)
	if k != nil {
		k.load = process
	}
	return process
}

func (l *loads) load(key loadKey, within *load) *load {
	one, found := l.all.Get(key)
	if !found {
		one = &load{key: key, within: within}
		l.all.Put(key, one)
	}
	return one
}

func (l *load) name() string {
	if l.within == nil {
		return shownText(l.key.container)
	}
	return processLabel(l.latest) + " " + strconv.Itoa(int(l.key.pid))
}

// reach draws the intervals that have ended at a time.
func (l *loads) reach(w *view, at int64) {
	if l.from == 0 || at < l.from {
		l.from = at - at%loadNs
	}
	// After two intervals without an event nothing changes any more.
	for n := 0; at >= l.from+loadNs; n++ {
		w.occupancy.count(w, l.from+loadNs)
		l.draw(w, l.from)
		if l.from += loadNs; n == 2 {
			l.from = at - at%loadNs
			w.occupancy.skip(l.from)
		}
	}
}

// close draws the last interval of a window, and nothing used after it.
func (l *loads) close(w *view) {
	if l.from != 0 {
		l.draw(w, l.from)
		l.draw(w, max(l.from, w.now))
	}
	l.from = 0
}

// draw draws the interval that begins at a time, for those whose use has changed.
func (l *loads) draw(w *view, at int64) {
	if len(l.busy) == 0 {
		return
	}
	w.resetIfDue()
	slices.SortFunc(l.busy, func(a, b *load) int {
		return cmp.Or(cmp.Compare(a.key.container, b.key.container), cmp.Compare(a.key.pod, b.key.pod), cmp.Compare(a.key.pid, b.key.pid))
	})
	left := l.busy[:0]
	for _, one := range l.busy {
		if one.within != nil && one.total < minLoadNs {
			one.busy, one.ns = false, 0
			continue
		}
		if one.ns != one.shown {
			w.seq.startCounter(w.loadTrack(one), float64(one.ns)/float64(loadNs))
			w.out = w.seq.put(w.out, w.clock.earlier(max(at, w.opened)))
		}
		one.busy = one.ns != 0
		one.shown, one.ns = one.ns, 0
		if one.busy {
			left = append(left, one)
		}
	}
	clear(l.busy[len(left):])
	l.busy = left
}

func (w *view) loadTrack(l *load) uint64 {
	if l.track.generation == w.seq.generation {
		return l.track.uuid
	}
	parent := uint64(0)
	if l.within != nil {
		parent = w.loadTrack(l.within)
	} else {
		parent = w.containersGroup(l.key.pod)
	}
	if l.track.uuid == 0 {
		l.track.uuid = w.newUUID()
	}
	l.track.generation = w.seq.generation
	w.describeTrack(l.track.uuid, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, l.name()), trackParent, parent)
		out = appendUint(appendUint(out, trackRank, uint64(l.key.pid)), trackOrder, orderByRank)
		out, body := begin(out, trackCounter)
		out = appendString(out, counterUnitName, "CPUs")
		end(out, body)
		return out
	})
	return l.track.uuid
}

// containersGroup is the track above those of containers, or of the containers of a pod.
func (w *view) containersGroup(pod string) uint64 {
	all := w.groupTrack(groupKey{process: ofContainers}, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, "Containers"), trackOrder, orderByName)
		return appendString(out, trackDescription, "How many CPUs each container and each of its processes used, averaged over 10 ms.")
	})
	if pod == "" {
		return all
	}
	return w.groupTrack(groupKey{process: ofContainers, name: pod}, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, "pod "+shownText(pod)), trackOrder, orderByName)
		return appendUint(out, trackParent, all)
	})
}
