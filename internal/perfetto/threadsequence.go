package perfetto

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// threadSequence is the packet sequence of a single thread's slices on CPUs, which are most of a trace. They follow each other in
// time, so each time counts from the one before, and the track need not be repeated.
type threadSequence struct {
	id, clock  uint64
	generation uint32 // of the view's sequence, when this one was announced
	last       uint64 // time of the last packet, ns of CLOCK_BOOTTIME
	names      []uint64
}

// ownSequence returns the sequence of a thread for slices from a time on, and describes it to Perfetto if it is new.
func (w *view) ownSequence(t *thread, at uint64) *threadSequence {
	q := &t.drawn.own
	if q.generation != w.seq.generation || at < q.last {
		q.announce(w, w.track(t), at)
	}
	return q
}

func (q *threadSequence) announce(w *view, track, at uint64) {
	q.clock++
	if q.id == 0 || q.clock > lastClock {
		q.id, q.clock = w.seq.nextID(), firstClock
	}
	q.generation, q.last, q.names = w.seq.generation, at, q.names[:0]
	before := len(w.out)
	out, packet := beginShort(w.out, tracePacket)
	out = appendSequenceClock(out, q.clock, at, true)
	out = appendUint(out, packetSequence, q.id)
	out = appendUint(out, packetSequenceFlags, stateCleared|needsState)
	out, defaults := beginShort(out, packetDefaults)
	out, event := beginShort(out, packetTrackEvent)
	out = appendUint(out, eventTrack, track)
	endShort(out, event)
	out = appendUint(out, packetClock, q.clock)
	endShort(out, defaults)
	endShort(out, packet)
	w.out = out
	w.seq.repeats += int64(len(out) - before)
}

// shortRuns is the end of the name of a slice that shows several times on a CPU.
const shortRuns = " (short runs)"

// name returns the id of the name of a slice on a CPU.
func (q *threadSequence) name(w *view, cpu uint32, open, joined bool) uint64 {
	id := 3*uint64(cpu) + 1
	switch {
	case open:
		id++
	case joined:
		id += 2
	}
	if n := len(q.names); n > 0 && q.names[n-1] == id || slices.Contains(q.names, id) {
		return id
	}
	q.names = append(q.names, id)
	name := "on CPU " + strconv.Itoa(int(cpu))
	switch {
	case open:
		name += stillOpen
	case joined:
		name += shortRuns
	}
	before := len(w.out)
	out, packet := beginShort(w.out, tracePacket)
	out = appendUint(out, packetSequence, q.id)
	out = appendUint(out, packetSequenceFlags, needsState)
	out, body := beginShort(out, packetInternedData)
	if len(q.names) == 1 {
		out = appendName(out, internCategories, uint64(catOnCPU), categoryNames()[catOnCPU])
	}
	out, entry := beginShort(out, internEventNames)
	out = appendString(appendUint(out, 1, id), 2, name)
	endShort(out, entry)
	endShort(out, body)
	endShort(out, packet)
	w.out = out
	w.seq.repeats += int64(len(out) - before)
	return id
}

// put appends a slice that begins with the event in body.
func (q *threadSequence) put(out, body []byte, from, to uint64) []byte {
	var space [32]byte
	head := binary.AppendUvarint(append(space[:0], packetTimestamp<<3), from-q.last)
	head = binary.AppendUvarint(append(head, packetSequence<<3), q.id)
	head = append(head, packetSequenceFlags<<3, needsState, packetTrackEvent<<3|wireBytes)
	head = binary.AppendUvarint(head, uint64(len(body)))
	out = binary.AppendUvarint(append(out, tracePacket<<3|wireBytes), uint64(len(head)+len(body)))
	out = append(append(out, head...), body...)

	// An end has no flag: where the sequence's state is missing, it ends nothing.
	head = binary.AppendUvarint(append(space[:0], packetTimestamp<<3), to-from)
	head = binary.AppendUvarint(append(head, packetSequence<<3), q.id)
	head = append(head, packetTrackEvent<<3|wireBytes, 2, eventType<<3, sliceEnd)
	q.last = to
	return append(append(out, tracePacket<<3|wireBytes, byte(len(head))), head...)
}
