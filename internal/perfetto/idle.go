package perfetto

import (
	"strconv"

	"wprof/internal/tracks"
)

// idleTracks show when each CPU was idle, and what interrupts did then. They are in a group of their own.
type idleTracks struct {
	group trackRef
	cpus  []*trackRef
}

func (i *idleTracks) cpu(number uint32) *trackRef {
	if number >= maxCPUs {
		number = maxCPUs // all that are beyond share one
	}
	for uint64(len(i.cpus)) <= uint64(number) {
		i.cpus = append(i.cpus, nil)
	}
	if i.cpus[number] == nil {
		i.cpus[number] = new(trackRef)
	}
	return i.cpus[number]
}

// track is the track of a CPU's idle time.
func (i *idleTracks) track(w *view, cpu uint32) uint64 {
	c := i.cpu(cpu)
	if c.generation == w.seq.generation {
		return c.uuid
	}
	if i.group.uuid == 0 {
		i.group.uuid = w.newUUID()
	}
	if c.uuid == 0 {
		c.uuid = w.newUUID()
	}
	if i.group.generation != w.seq.generation {
		i.group.generation = w.seq.generation
		w.describeTrack(i.group.uuid, func(out []byte) []byte {
			out = appendUint(appendString(out, trackName, "Idle"), trackOrder, orderByRank)
			return appendString(out, trackDescription, "When each CPU had nothing to run, and whom interrupts woke meanwhile.")
		})
	}
	c.generation = w.seq.generation
	w.describeTrack(c.uuid, func(out []byte) []byte {
		out = appendString(out, trackName, "Idle CPU "+strconv.Itoa(int(cpu)))
		return appendUint(appendUint(out, trackParent, i.group.uuid), trackRank, uint64(cpu))
	})
	return c.uuid
}

// draw draws a time in which a CPU was idle.
func (i *idleTracks) draw(w *view, s *tracks.Slice) {
	if s.CPU >= maxCPUs {
		return
	}
	name := "idle"
	if s.Open {
		name += stillOpen
	}
	track, id := i.track(w, s.CPU), w.name(name)
	w.seq.start(sliceBegin, track, id)
	w.seq.category(catIdle)
	w.out = w.seq.put(w.out, w.clock.earlier(s.From))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(s.To))
}
