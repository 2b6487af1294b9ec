package perfetto

import (
	"strconv"

	"wprof/format"
	"wprof/internal/timeline"
)

// Losses and late events are slices on tracks of their own, one for each CPU and one for all, below one parent.

const (
	notesUUID = 0x7770726f66 << 16 // tracks count up from here
	// maxLanes bounds how many slices of a track may overlap. Perfetto nests the slices of a track and cuts those that
	// do not nest, so one that overlaps goes to another track of the same name, which the interface shows as one.
	maxLanes = 16
	// A trace that is cut at its front reads from the next reset on.
	resetNs    = int64(4e9)
	resetBytes = 1 << 20
)

// notes are the tracks and what of them Perfetto has been told since the last reset.
type notes struct {
	lanes     map[uint32]*[maxLanes]lane // by CPU
	names     map[string]uint64
	told      bool // the parent track
	next      int64
	nextBytes int64
}

type lane struct {
	told bool
	end  int64 // of the last slice, ns of CLOCK_MONOTONIC
}

// Bits of sequence_flags, types of track events, and numbers of interned names.
const (
	stateCleared = 1
	needsState   = 2

	sliceBegin = 1
	sliceEnd   = 2

	categoryID = 1

	annotationCount = 1
	annotationCause = 2
	annotationWhat  = 3
)

// note is a slice.
type note struct {
	cpu      uint32
	from, to int64
	name     string
	count    uint64 // 0: not told
	cause    string
	what     string
}

// lost shows a loss. Where switches may be missing, who ran on the CPU ends at the last sure point: a thread "(lost)"
// takes over until an event tells who runs.
func (e *Encoder) lost(v *format.Event) {
	l := v.Lost()
	what := l.What().String()
	cause := l.Cause().String()
	name := "lost: " + cause
	if l.What() != 0 {
		name = "lost " + what + ": " + cause
	}
	e.note(note{cpu: v.CPU, from: l.From(), to: v.Time, name: name, count: l.Count(), cause: cause, what: what})
	if !timeline.LosesState(v) {
		return
	}
	for _, c := range e.cpus {
		if c == nil || c.running == nil || v.CPU != format.AllCPUs && v.CPU != c.number || c.lost != nil && c.running == c.lost.thread {
			continue
		}
		at := min(max(l.From(), c.last, e.opened), v.Time)
		e.takeOver(c, at, e.lostOn(c, at), 120)
	}
}

// late shows an event that stands behind its place from when it happened to where it stands. It is drawn in its own
// place as well, unless the CPU has gone on since.
func (e *Encoder) late(v *format.Event) {
	what := v.Kind.String()
	e.now = max(e.now, v.Time)
	e.endOpening()
	e.note(note{cpu: v.CPU, from: v.Own, to: v.Time, name: "late " + what, what: what})
	if v.CPU >= maxCPUs {
		return
	}
	// A sample disturbs nobody's order.
	if c := e.cpu(v.CPU); (c.last <= v.Own || v.Kind == format.KindSample) && e.opened <= v.Own {
		own := *v
		own.Time = v.Own
		e.apply(&own)
	}
}

func (e *Encoder) note(n note) {
	n.from = max(n.from, e.opened)
	reset := e.resetNotes(n.to)
	l, track := e.lane(n)
	// Where all lanes are taken, the slice begins where the one before it ends.
	n.from, n.to = max(n.from, l.end), max(n.to, l.end)
	from := e.clock.boottime(min(n.from, n.to))
	l.end = n.to

	var packet, body int
	e.out, packet = beginTimedPacket(e.out, from)
	e.out = appendUint(e.out, packetSequenceFlags, needsState|reset)
	e.out, body = begin(e.out, packetTrackEvent)
	e.out = appendUint(e.out, 3, categoryID)
	e.out = appendAnnotations(e.out, n)
	e.out = appendUint(e.out, 9, sliceBegin)
	id, known := e.notes.names[n.name]
	if !known {
		id = uint64(len(e.notes.names)) + 1
		e.notes.names[n.name] = id
	}
	e.out = appendUint(e.out, 10, id)
	e.out = appendUint(e.out, 11, track)
	end(e.out, body)
	if !known {
		e.out = appendNames(e.out, id, n.name, reset != 0)
	}
	end(e.out, packet)

	e.out, packet = beginTimedPacket(e.out, e.clock.boottime(n.to))
	e.out, body = begin(e.out, packetTrackEvent)
	e.out = appendUint(e.out, 9, sliceEnd)
	e.out = appendUint(e.out, 11, track)
	end(e.out, body)
	end(e.out, packet)
}

// resetNotes forgets from time to time what Perfetto was told, and returns the flag of the packet that begins anew.
func (e *Encoder) resetNotes(t int64) uint64 {
	n := &e.notes
	bytes := e.written + int64(len(e.out))
	if n.names != nil && t < n.next && bytes < n.nextBytes {
		return 0
	}
	n.next, n.nextBytes = t+resetNs, bytes+resetBytes
	n.names, n.told = make(map[string]uint64), false
	for _, lanes := range n.lanes {
		for i := range lanes {
			lanes[i].told = false
		}
	}
	return stateCleared
}

// lane finds a track on which a slice overlaps no other, and describes it to Perfetto.
func (e *Encoder) lane(n note) (*lane, uint64) {
	if e.notes.lanes == nil {
		e.notes.lanes = make(map[uint32]*[maxLanes]lane)
	}
	if n.cpu != format.AllCPUs {
		n.cpu = min(n.cpu, maxCPUs)
	}
	lanes := e.notes.lanes[n.cpu]
	if lanes == nil {
		lanes = new([maxLanes]lane)
		e.notes.lanes[n.cpu] = lanes
	}
	free := 0
	for i := range lanes {
		if lanes[i].end <= n.from {
			free = i
			break
		}
		if lanes[i].end < lanes[free].end {
			free = i
		}
	}
	rank := uint64(0) // all CPUs
	if n.cpu != format.AllCPUs {
		rank = uint64(n.cpu) + 1
	}
	uuid := notesUUID + 1 + rank*maxLanes + uint64(free)
	if !lanes[free].told {
		lanes[free].told = true
		e.describe(n.cpu, rank, uuid)
	}
	return &lanes[free], uuid
}

func (e *Encoder) describe(cpu uint32, rank, uuid uint64) {
	if !e.notes.told {
		e.notes.told = true
		e.out = appendTrack(e.out, notesUUID, 0, "Recording", 0)
	}
	name := "All CPUs"
	if cpu != format.AllCPUs {
		name = "CPU " + strconv.Itoa(int(cpu)) + ": lost and late"
	}
	e.out = appendTrack(e.out, uuid, notesUUID, name, rank)
}

func appendTrack(out []byte, uuid, parent uint64, name string, rank uint64) []byte {
	const byRank = 3
	out, packet := beginPacket(out)
	out, track := begin(out, packetTrackDescriptor)
	out = appendUint(out, 1, uuid)
	out = appendString(out, 2, name)
	if parent == 0 {
		out = appendUint(out, 11, byRank)
		out = appendString(out, 14, "What the recorder could not tell: events that were lost, and those that came too late for their place.")
	} else {
		out = appendUint(out, 5, parent)
		out = appendUint(out, 12, rank)
	}
	end(out, track)
	end(out, packet)
	return out
}

func appendAnnotations(out []byte, n note) []byte {
	if n.count > 0 {
		var a int
		out, a = begin(out, 4)
		out = appendUint(out, 1, annotationCount)
		out = appendUint(out, 3, n.count)
		end(out, a)
	}
	for _, text := range [...]struct {
		id    uint64
		value string
	}{{annotationCause, n.cause}, {annotationWhat, n.what}} {
		if text.value == "" {
			continue
		}
		var a int
		out, a = begin(out, 4)
		out = appendUint(out, 1, text.id)
		out = appendString(out, 6, text.value)
		end(out, a)
	}
	return out
}

// appendNames appends the interned data of a packet that uses a name for the first time since the reset.
func appendNames(out []byte, id uint64, name string, all bool) []byte {
	out, names := begin(out, packetInternedData)
	out = appendName(out, 2, id, name)
	if all {
		out = appendName(out, 1, categoryID, "recording")
		out = appendName(out, 3, annotationCount, "count")
		out = appendName(out, 3, annotationCause, "cause")
		out = appendName(out, 3, annotationWhat, "kind")
	}
	end(out, names)
	return out
}

func appendName(out []byte, field, id uint64, name string) []byte {
	out, entry := begin(out, field)
	out = appendUint(out, 1, id)
	out = appendString(out, 2, name)
	end(out, entry)
	return out
}

// NotRecorded shows the time between two windows.
func (e *Encoder) NotRecorded(from, to int64) {
	if to > from {
		e.note(note{cpu: format.AllCPUs, from: from, to: to, name: "not recorded"})
	}
}
