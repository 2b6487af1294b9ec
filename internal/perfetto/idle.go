package perfetto

import (
	"strconv"

	"wprof/format"
)

// idleTracks show what each CPU does while no thread runs on it. They stand together in a group of their own.
type idleTracks struct {
	group uint64
	told  uint32
	cpus  []*idleCPU
}

type idleCPU struct {
	track uint64
	told  uint32
	idle  bool
	since int64 // ns of CLOCK_MONOTONIC
}

func (i *idleTracks) cpu(number uint32) *idleCPU {
	if number >= maxCPUs {
		number = maxCPUs // all that are beyond share one, on which nothing is drawn but instants
	}
	for uint64(len(i.cpus)) <= uint64(number) {
		i.cpus = append(i.cpus, nil)
	}
	if i.cpus[number] == nil {
		i.cpus[number] = new(idleCPU)
	}
	return i.cpus[number]
}

// track is the track of a CPU's idle time.
func (i *idleTracks) track(w *view, cpu uint32) uint64 {
	c := i.cpu(cpu)
	if c.told == w.seq.generation {
		return c.track
	}
	if i.group == 0 {
		i.group = w.newUUID()
	}
	if c.track == 0 {
		c.track = w.newUUID()
	}
	if i.told != w.seq.generation {
		i.told = w.seq.generation
		w.e.out = w.seq.track(w.e.out, i.group, func(out []byte) []byte {
			out = appendUint(appendString(out, trackName, "Idle"), trackOrder, orderByRank)
			return appendString(out, trackDescription, "When each CPU had nothing to run, and whom interrupts woke meanwhile.")
		})
	}
	c.told = w.seq.generation
	w.e.out = w.seq.track(w.e.out, c.track, func(out []byte) []byte {
		out = appendString(out, trackName, "Idle CPU "+strconv.Itoa(int(cpu)))
		return appendUint(appendUint(out, trackParent, i.group), trackRank, uint64(cpu))
	})
	return c.track
}

// follow is called when another thread may run on a CPU.
func (i *idleTracks) follow(w *view, number uint32, at int64) {
	if number >= maxCPUs {
		return
	}
	t := w.spans.Timeline().Running(number)
	idle := t != nil && t.Idle()
	if !idle && (uint64(number) >= uint64(len(i.cpus)) || i.cpus[number] == nil) {
		return
	}
	c := i.cpu(number)
	if idle == c.idle {
		return
	}
	if !idle {
		i.end(w, number, at, "idle")
		return
	}
	c.idle, c.since = true, max(at, w.e.opened)
}

// end draws a time in which a CPU was idle.
func (i *idleTracks) end(w *view, number uint32, at int64, name string) {
	c := i.cpus[number]
	c.idle = false
	if at <= c.since {
		return
	}
	track := i.track(w, number)
	id := w.name(name)
	w.seq.start(sliceBegin, track, id)
	w.e.out = w.seq.put(w.e.out, w.e.clock.earlier(c.since))
	w.e.out = w.seq.finish(w.e.out, track, w.e.clock.earlier(at))
	c.since = at
}

// lost ends what was idle where a loss begins.
func (i *idleTracks) lost(w *view, v *format.Event) {
	for number, c := range i.cpus {
		if c == nil || !c.idle || v.CPU != format.AllCPUs && v.CPU != uint32(number) {
			continue
		}
		if t := w.spans.Timeline().Running(uint32(number)); t == nil || !t.Idle() {
			i.end(w, uint32(number), min(max(int64(v.Args[format.LostFrom]), c.since), v.Time), "idle")
		}
	}
}

func (i *idleTracks) close(w *view, at int64) {
	for number, c := range i.cpus {
		if c != nil && c.idle {
			i.end(w, uint32(number), at, "idle"+stillOpen)
		}
	}
}
