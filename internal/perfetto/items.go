package perfetto

import (
	"math"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// items holds the tracks that package tracks assigns items to.
type items struct {
	groups *bounded.Map[groupKey, *trackRef] // tracks above others
	tracks *bounded.Map[itemKey, *itemTrack]
}

// itemKey identifies a track.
type itemKey struct {
	on      format.TypeTrack // or onRecording, ofSleepers
	thread  *thread          // of TRACK_THREAD
	number  int64            // of the process, by [processes], or CPU; of onRecording the rank
	name    string
	group   string // of a counter of the whole machine; "": none
	counter bool
	unit    string
}

// onRecording is the place of tracks for losses, gaps and late events.
const onRecording = format.TypeTrack(-1)

// groupKey is a process, or the name of a group; the one of the recording has neither, that of sleepers is process -1, that of marks -2.
type groupKey struct {
	process int64 // by [processes]
	name    string
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

// maxItemTracks bounds the tracks that are kept.
const maxItemTracks = 1 << 14

func newItems() items {
	return items{groups: bounded.NewMap[groupKey, *trackRef](maxItemTracks), tracks: bounded.NewMap[itemKey, *itemTrack](maxItemTracks)}
}

// Item implements [tracks.Encoder].
func (e *encoder) Item(i *tracks.Item) {
	if !e.options.Threads {
		return
	}
	var t *thread
	if i.On == format.TypeTrack_TRACK_THREAD || i.On == format.TypeTrack_TRACK_PROCESS {
		t = e.thread(i.Task).thread // for a process, so that Perfetto has its name
	}
	e.view.resetIfDue()
	if i.Began != nil {
		e.view.crossing(i, e.thread(i.Began).thread, e.thread(i.Task).thread)
	}
	e.view.item(i, t)
}

// crossing draws an arrow from the thread in which a slice began to the one in which it ended.
func (w *view) crossing(i *tracks.Item, from, to *thread) {
	w.crossings++
	name := shownText(i.Name)
	for _, end := range [...]struct {
		of    *thread
		at    int64
		name  string
		arrow uint64
	}{{from, i.From, name + " begins", eventArrow}, {to, i.To, name + " ends", eventArrowEnd}} {
		key := itemKey{on: format.TypeTrack_TRACK_THREAD, thread: end.of, name: shownText(i.Track)}
		w.seq.start(instant, w.laneTrack(key, &w.items.track(key).of[0]), w.name(end.name))
		w.seq.arrow(end.arrow, crossingArrows+w.crossings)
		w.out = w.seq.put(w.out, w.clock.earlier(end.at))
	}
}

// crossingArrows is more than the numbers of other arrows.
const crossingArrows = 1 << 41

// item draws a slice, an instant or a value of a counter. t may be nil where the track does not belong to it.
func (w *view) item(i *tracks.Item, t *thread) {
	track, ok := w.itemTrack(i, t)
	if !ok {
		return
	}
	if i.Shape == tracks.ShapeCounter {
		w.seq.startCounter(track, i.Value)
		w.out = w.seq.put(w.out, w.clock.earlier(i.From))
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
	if i.Colour != "" {
		w.seq.body = appendString(w.seq.body, eventCorrelation, shownText(i.Colour))
	}
	for n := range i.Args {
		w.argument(&i.Args[n])
	}
	if i.Link.ID != 0 {
		w.link(i.Link)
	}
	if i.Stack != nil {
		w.annotateStack(w.stackOf(i.Stack))
	}
	w.out = w.seq.put(w.out, w.clock.earlier(i.From))
	if i.Shape == tracks.ShapeSlice {
		w.out = w.seq.finish(w.out, track, w.clock.earlier(i.To))
	}
}

// itemTrack returns the track of an item. It moves the start of a slice to nest it, and makes it later if all lanes are taken.
func (w *view) itemTrack(i *tracks.Item, of *thread) (uuid uint64, ok bool) {
	key := itemKey{on: i.On, name: shownText(i.Track), counter: i.Shape == tracks.ShapeCounter, unit: i.Unit}
	switch i.On {
	case format.TypeTrack_TRACK_GLOBAL:
		if i.Group != "" {
			key.group, key.name = shownText(i.Group), shownText(strings.TrimPrefix(i.Track, i.Group+" "))
		}
	case format.TypeTrack_TRACK_THREAD:
		if i.Track == "" {
			return w.track(of), true
		}
		key.thread = of
	case format.TypeTrack_TRACK_PROCESS:
		key.number = w.processes.number(i.Task, w.threads)
	case format.TypeTrack_TRACK_CPU:
		if i.CPU >= maxCPUs {
			return 0, false
		}
		key.number = int64(i.CPU)
	}
	t, lane := w.items.track(key), 0
	if i.Shape == tracks.ShapeSlice {
		var from int64
		t.lanes.Nested = i.Nests
		if lane, from = t.lanes.Place(i.From, i.To); from > i.From {
			i.Shorten(from)
		}
		i.From = from
	}
	return w.laneTrack(key, &t.of[lane]), true
}

func (t *items) track(key itemKey) *itemTrack {
	known, found := t.tracks.Get(key)
	if !found {
		known = &itemTrack{}
		t.tracks.Put(key, known)
	}
	return known
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
	case format.TypeTrack_TRACK_GLOBAL:
		if key.group != "" {
			parent = w.itemGroup(key.group)
		}
	case format.TypeTrack_TRACK_PROCESS:
		parent = w.processTrack(key.number)
	case format.TypeTrack_TRACK_CPU:
		parent = w.itemGroup(key.name)
		name += " CPU " + strconv.FormatInt(key.number, 10)
	case onRecording:
		parent = w.recordingGroup()
	case ofMarks:
		parent = w.marksGroup()
	case ofSleepers:
		parent = w.sleepersGroup()
	}
	w.describeTrack(l.uuid, func(out []byte) []byte {
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
func (w *view) processTrack(number int64) uint64 {
	return w.groupTrack(groupKey{process: number}, func(out []byte) []byte {
		out, body := begin(out, trackProcess)
		out = appendInt(out, 1, int64(int32(number)))
		end(out, body)
		return out
	})
}

// itemGroup is the track above those of the CPUs, or of the keys of counters.
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
		w.describeTrack(g.uuid, describe)
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
		if of := w.stackOf(a.Stack); of.text != 0 {
			w.seq.value(name, of.text)
		}
	case tracks.ArgTask:
		w.seq.value(name, w.argumentLabel(a.Task))
	}
}

// annotation returns the id of an annotation name that annotationNames does not list.
func (w *view) annotation(name string) annotation {
	known, found := w.seq.annotations[name]
	if !found {
		known = annotation(len(annotationNames(false)) + len(w.seq.annotations))
		w.seq.annotations[name] = known
		w.out = w.seq.describe(w.out, func(out []byte) []byte { return appendName(out, internAnnotations, uint64(known), name) })
	}
	return known
}
