package perfetto

import (
	"math"
	"strconv"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// items holds the tracks that package tracks assigns items to.
type items struct {
	made   *tracks.Maker
	groups *bounded.Map[groupKey, *trackRef] // tracks above others
	tracks *bounded.Map[itemKey, *itemTrack]
}

// itemKey identifies a track.
type itemKey struct {
	on      format.TypeTrack
	thread  *thread // of TRACK_THREAD
	number  int64   // of the process or CPU
	name    string
	counter bool
	unit    string
}

// groupKey is a process, or the name of a group.
type groupKey struct {
	pid  int32
	name string
}

type itemTrack struct {
	lanes tracks.Lanes
	of    [tracks.MaxLanes]trackRef
}

// trackRef is a track that was described to Perfetto.
type trackRef struct {
	uuid       uint64 // 0: not numbered
	generation uint32 // of the sequence, when it was described
}

// maxItemTracks bounds the tracks that are remembered.
const maxItemTracks = 1 << 14

func newItems(defs tracks.Definitions) items {
	return items{made: tracks.NewMaker(defs), groups: bounded.NewMap[groupKey, *trackRef](maxItemTracks), tracks: bounded.NewMap[itemKey, *itemTrack](maxItemTracks)}
}

// item draws a slice, an instant or a value of a counter.
func (w *view) item(i *tracks.Item) {
	track, ok := w.itemTrack(i)
	if !ok {
		return
	}
	if i.Shape == tracks.ShapeCounter {
		w.seq.startCounter(track, i.Value)
		w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(i.From))
		return
	}
	name := shownText(i.Name)
	if i.Open {
		name += stillOpen
	}
	typ := uint64(instant)
	if i.Shape == tracks.ShapeSlice {
		typ = sliceBegin
	}
	w.seq.start(typ, track, w.name(name))
	for n := range i.Args {
		w.argument(&i.Args[n])
	}
	if i.Stack != nil {
		w.annotateStack(w.stackOf(i.Stack.ID))
	}
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(i.From))
	if i.Shape == tracks.ShapeSlice {
		w.e.out = w.seq.finish(w.e.out, track, w.e.clock.earlier(i.To))
	}
}

// itemTrack returns the track of an item. It moves the start of a slice if all lanes are taken.
func (w *view) itemTrack(i *tracks.Item) (uuid uint64, ok bool) {
	if i.To < w.e.opened || i.Shape == tracks.ShapeSlice && i.On == format.TypeTrack_TRACK_THREAD && i.Track == "" {
		return 0, false
	}
	key := itemKey{on: i.On, name: shownText(i.Track), counter: i.Shape == tracks.ShapeCounter, unit: i.Unit}
	switch i.On {
	case format.TypeTrack_TRACK_THREAD, format.TypeTrack_TRACK_PROCESS:
		if i.Task == nil {
			return 0, false
		}
		k := w.known(format.TaskID(i.Task.Def.Id))
		if k == nil || !k.isReal() {
			return 0, false
		}
		if i.On == format.TypeTrack_TRACK_THREAD {
			if i.Track == "" {
				return w.track(k.thread), true
			}
			key.thread = k.thread
		} else if key.number = int64(k.pid); k.pid == 0 {
			return 0, false
		}
	case format.TypeTrack_TRACK_CPU:
		if i.CPU >= maxCPUs {
			return 0, false
		}
		key.number = int64(i.CPU)
	}
	t, found := w.items.tracks.Get(key)
	if !found {
		t = &itemTrack{}
		w.items.tracks.Put(key, t)
	}
	lane := 0
	if i.Shape == tracks.ShapeSlice {
		lane, i.From = t.lanes.Place(max(i.From, w.e.opened), i.To)
	}
	return w.laneTrack(key, &t.of[lane]), true
}

func (w *view) laneTrack(key itemKey, l *trackRef) uint64 {
	if l.generation == w.seq.generation {
		return l.uuid
	}
	if l.uuid == 0 {
		l.uuid = w.newUUID()
	}
	l.generation = w.seq.generation
	var parent uint64
	name := key.name
	switch key.on {
	case format.TypeTrack_TRACK_THREAD:
		parent = w.track(key.thread)
	case format.TypeTrack_TRACK_PROCESS:
		parent = w.processTrack(int32(key.number))
	case format.TypeTrack_TRACK_CPU:
		parent = w.itemGroup(key.name)
		name += " CPU " + strconv.FormatInt(key.number, 10)
	}
	w.e.out = w.seq.track(w.e.out, l.uuid, func(out []byte) []byte {
		out = appendString(out, trackName, name)
		if parent != 0 {
			out = appendUint(appendUint(out, trackParent, parent), trackRank, uint64(key.number))
		}
		if key.counter {
			var body int
			out, body = begin(out, trackCounter)
			if key.unit != "" {
				out = appendString(out, counterUnitName, key.unit)
			}
			end(out, body)
		}
		return out
	})
	return l.uuid
}

// processTrack is a process's own track.
func (w *view) processTrack(pid int32) uint64 {
	return w.groupTrack(groupKey{pid: pid}, func(out []byte) []byte {
		out, body := begin(out, trackProcess)
		out = appendInt(out, 1, int64(pid))
		end(out, body)
		return out
	})
}

// itemGroup is the track above those of the CPUs.
func (w *view) itemGroup(name string) uint64 {
	return w.groupTrack(groupKey{name: name}, func(out []byte) []byte {
		return appendUint(appendString(out, trackName, name), trackOrder, orderByRank)
	})
}

func (w *view) groupTrack(key groupKey, describe func(out []byte) []byte) uint64 {
	g, found := w.items.groups.Get(key)
	if !found {
		g = &trackRef{uuid: w.newUUID()}
		w.items.groups.Put(key, g)
	}
	if g.generation != w.seq.generation {
		g.generation = w.seq.generation
		w.e.out = w.seq.track(w.e.out, g.uuid, describe)
	}
	return g.uuid
}

func shownText(s string) string {
	return string(stacks.Clipped(stacks.Printable([]byte(s), stacks.Unnamed)))
}

func (w *view) argument(a *tracks.Arg) {
	name := w.annotation(a.Name)
	switch a.Type {
	case tracks.ArgUint:
		w.seq.annotate(name, annotationNumber, a.Number)
	case tracks.ArgInt:
		w.seq.annotate(name, annotationSigned, a.Number)
	case tracks.ArgText:
		w.seq.value(name, w.text(shownText(a.Text)))
	case tracks.ArgFloat:
		w.seq.float(name, math.Float64frombits(a.Number))
	case tracks.ArgStack:
		if of := w.stackOf(a.Stack.ID); of.text != 0 {
			w.seq.value(name, of.text)
		}
	case tracks.ArgTask:
		if k := w.known(format.TaskID(a.Task.Def.Id)); k != nil {
			w.seq.value(name, w.label(k))
		} else {
			w.seq.value(name, w.text(string(stacks.Printable(a.Task.Def.Comm, stacks.Unnamed))))
		}
	}
}

// annotation returns the id of an annotation name that annotationNames does not list.
func (w *view) annotation(name string) annotation {
	known, found := w.seq.annotations[name]
	if !found {
		known = annotation(len(annotationNames()) + len(w.seq.annotations))
		w.seq.annotations[name] = known
		w.e.out = w.seq.tell(w.e.out, func(out []byte) []byte { return appendName(out, internAnnotations, uint64(known), name) })
	}
	return known
}
