package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// items are the tracks of what package tracks draws.
type items struct {
	plain  *tracks.Plain
	groups map[string]*itemLane // of the tracks of CPUs, by name
	tracks *bounded.Map[itemKey, *itemTrack]
}

// itemKey is whose track it is and what it is called.
type itemKey struct {
	thread *thread // nil: the CPU's
	cpu    uint32
	name   string
}

type itemTrack struct {
	lanes tracks.Lanes
	of    [tracks.MaxLanes]itemLane
}

// itemLane is a track as Perfetto has it.
type itemLane struct {
	uuid uint64 // 0: not numbered
	told uint32 // the generation of the sequence that knows it
}

// maxItemTracks bounds the tracks that are remembered.
const maxItemTracks = 1 << 14

func newItems() items {
	return items{plain: tracks.NewPlain(), groups: make(map[string]*itemLane), tracks: bounded.NewMap[itemKey, *itemTrack](maxItemTracks)}
}

// item draws a slice or an instant.
func (w *view) item(i *tracks.Item) {
	track, ok := w.itemTrack(i)
	if !ok {
		return
	}
	name := string(stacks.Clipped(stacks.Printable([]byte(i.Name), stacks.Unnamed)))
	if i.Open {
		name += stillOpen
	}
	typ := uint64(instant)
	if i.IsSlice {
		typ = sliceBegin
	}
	w.seq.start(typ, track, w.name(name))
	for n := range i.Args {
		w.argument(&i.Args[n])
	}
	if i.Stack != 0 {
		w.annotateStack(w.stackOf(i.Stack))
	}
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(i.From))
	if i.IsSlice {
		w.e.out = w.seq.finish(w.e.out, track, w.e.clock.earlier(i.To))
	}
}

// itemTrack is the track of an item. It moves the beginning of a slice that has no place.
func (w *view) itemTrack(i *tracks.Item) (uuid uint64, ok bool) {
	key := itemKey{cpu: i.CPU, name: i.Track}
	if i.On == format.DrawnOnThread {
		k := w.known(i.Task)
		if k == nil || !k.isReal() {
			return 0, false
		}
		if i.Track == "" {
			return w.track(k.thread), true
		}
		key.thread, key.cpu = k.thread, 0
	} else if i.CPU >= maxCPUs {
		return 0, false
	}
	t, found := w.items.tracks.Get(key)
	if !found {
		t = &itemTrack{}
		w.items.tracks.Put(key, t)
	}
	lane := 0
	if i.IsSlice {
		lane, i.From = t.lanes.Place(max(i.From, w.e.opened), i.To)
	}
	return w.laneTrack(key, &t.of[lane]), true
}

func (w *view) laneTrack(key itemKey, l *itemLane) uint64 {
	if l.told == w.seq.generation {
		return l.uuid
	}
	if l.uuid == 0 {
		l.uuid = w.newUUID()
	}
	l.told = w.seq.generation
	var parent uint64
	name := key.name
	if key.thread != nil {
		parent = w.track(key.thread)
	} else {
		parent = w.itemGroup(key.name)
		name += " CPU " + strconv.Itoa(int(key.cpu))
	}
	w.e.out = w.seq.track(w.e.out, l.uuid, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, name), trackParent, parent)
		return appendUint(out, trackRank, uint64(key.cpu))
	})
	return l.uuid
}

// itemGroup is the track above those of the CPUs.
func (w *view) itemGroup(name string) uint64 {
	g := w.items.groups[name]
	if g == nil {
		g = &itemLane{uuid: w.newUUID()}
		w.items.groups[name] = g
	}
	if g.told != w.seq.generation {
		g.told = w.seq.generation
		w.e.out = w.seq.track(w.e.out, g.uuid, func(out []byte) []byte {
			return appendUint(appendString(out, trackName, name), trackOrder, orderByRank)
		})
	}
	return g.uuid
}

func (w *view) argument(a *tracks.Arg) {
	name := w.annotation(a.Name)
	switch a.Type {
	case tracks.ArgUint:
		w.seq.number(name, a.Number)
	case tracks.ArgInt:
		w.seq.signed(name, int64(a.Number))
	case tracks.ArgText:
		w.seq.value(name, w.text(string(stacks.Clipped(stacks.Printable([]byte(a.Text), stacks.Unnamed)))))
	case tracks.ArgTask:
		if k := w.known(format.TaskID(a.Number)); k != nil {
			w.seq.value(name, w.label(k))
		}
	}
}

// annotation is the number of an annotation's name that is not among the fixed ones.
func (w *view) annotation(name string) annotation {
	known, found := w.seq.annotations[name]
	if !found {
		known = annotation(len(annotationNames()) + len(w.seq.annotations))
		w.seq.annotations[name] = known
		w.e.out = w.seq.tell(w.e.out, func(out []byte) []byte { return appendName(out, internAnnotations, uint64(known), name) })
	}
	return known
}
