package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/topology"
	"wprof/internal/tracks"
)

// coreTracks show which thread has each CPU, in the order of nodes and cores: the CPUs of one core, which share its execution units, are
// next to each other. The interface's own rows of CPUs are in the order of their numbers, and cannot be named.
type coreTracks struct {
	cpus    map[uint32]corePlace
	perNode bool
	tracks  map[uint32]*trackRef
}

// corePlace is where a CPU is drawn.
type corePlace struct {
	rank int
	node int32
	name string
}

// ofCores is the number of the group of cores in groupKey.
const ofCores = -3

func newCoreTracks() coreTracks { return coreTracks{tracks: make(map[uint32]*trackRef)} }

// newSection places the CPUs of a session.
func (c *coreTracks) newSection(s *format.Session) {
	c.cpus, c.perNode = make(map[uint32]corePlace, len(s.Cpus)), false
	for rank, cpu := range topology.ByCore(s) {
		name := "CPU " + strconv.FormatUint(uint64(cpu.Id), 10)
		if cpu.Core != nil {
			name = "core " + strconv.FormatUint(uint64(*cpu.Core), 10) + " " + name
		}
		c.perNode = c.perNode || cpu.Node != s.Cpus[0].Node
		c.cpus[cpu.Id] = corePlace{rank, cpu.Node, name}
	}
	if c.perNode {
		for id, place := range c.cpus {
			place.name = "node " + strconv.Itoa(int(place.node)) + " " + place.name
			c.cpus[id] = place
		}
	}
}

// drawOnCore draws a time of a thread on a CPU.
func (w *view) drawOnCore(cpu uint32, of *tracks.Task, from, to int64) {
	w.resetIfDue()
	track, name := w.coreTrack(cpu), w.name(threadLabel(of))
	w.seq.start(sliceBegin, track, name)
	w.seq.category(catOnCPU)
	w.out = w.seq.put(w.out, w.clock.earlier(from))
	w.out = w.seq.finish(w.out, track, w.clock.earlier(to))
}

func (w *view) coreTrack(cpu uint32) uint64 {
	c := w.cores.tracks[cpu]
	if c == nil {
		c = &trackRef{uuid: w.newUUID()}
		w.cores.tracks[cpu] = c
	}
	if c.generation == w.seq.generation {
		return c.uuid
	}
	c.generation = w.seq.generation
	place, found := w.cores.cpus[cpu]
	if !found {
		place = corePlace{rank: len(w.cores.cpus) + int(cpu), name: "CPU " + strconv.FormatUint(uint64(cpu), 10)}
	}
	parent := w.coreGroup()
	if w.cores.perNode {
		parent = w.nodeTrack(place.node, parent)
	}
	w.describeTrack(c.uuid, func(out []byte) []byte {
		return appendUint(appendUint(appendString(out, trackName, place.name), trackParent, parent), trackRank, uint64(place.rank))
	})
	return c.uuid
}

// coreGroup is the track above those of all CPUs.
func (w *view) coreGroup() uint64 {
	return w.groupTrack(groupKey{process: ofCores}, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, "CPUs by core"), trackOrder, orderByRank)
		return appendString(out, trackDescription, "The thread on each CPU. The CPUs of one core, which share its execution units, follow each other.")
	})
}

// nodeTrack is the track above those of a NUMA node's CPUs.
func (w *view) nodeTrack(node int32, parent uint64) uint64 {
	name := "node " + strconv.Itoa(int(node))
	return w.groupTrack(groupKey{process: ofCores, name: name}, func(out []byte) []byte {
		out = appendUint(appendString(out, trackName, name), trackOrder, orderByRank)
		return appendUint(appendUint(out, trackParent, parent), trackRank, uint64(max(node, 0)))
	})
}
