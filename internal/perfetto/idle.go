package perfetto

import (
	"strconv"

	"wprof/internal/tracks"
)

// idleTracks show when each CPU was idle, and what interrupts did then. They are in a group of their own.
type idleTracks struct {
	group      uint64
	generation uint32 // of the sequence, when the group was described
	cpus       []*idleCPU
}

type idleCPU struct {
	track      uint64
	generation uint32 // of the sequence, when it was described
}

func (i *idleTracks) cpu(number uint32) *idleCPU {
	if number >= maxCPUs {
		number = maxCPUs // all that are beyond share one
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
	if c.generation == w.seq.generation {
		return c.track
	}
	if i.group == 0 {
		i.group = w.newUUID()
	}
	if c.track == 0 {
		c.track = w.newUUID()
	}
	if i.generation != w.seq.generation {
		i.generation = w.seq.generation
		w.out = w.seq.track(w.out, i.group, func(out []byte) []byte {
			out = appendUint(appendString(out, trackName, "Idle"), trackOrder, orderByRank)
			return appendString(out, trackDescription, "When each CPU had nothing to run, and whom interrupts woke meanwhile.")
		})
	}
	c.generation = w.seq.generation
	w.out = w.seq.track(w.out, c.track, func(out []byte) []byte {
		out = appendString(out, trackName, "Idle CPU "+strconv.Itoa(int(cpu)))
		return appendUint(appendUint(out, trackParent, i.group), trackRank, uint64(cpu))
	})
	return c.track
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
	w.out = w.seq.put(w.out, w.clock.earlier(s.From))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(s.To))
}
