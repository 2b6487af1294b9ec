package perfetto

import (
	"encoding/binary"
	"math"

	"wprof/format"
	"wprof/internal/tracks"
)

// The thread view has sequences of its own, one after the other, with as few bytes a packet as possible: names are written
// once, and times count from the last reset, so that they take 4 or 5 bytes.

const (
	// trackSequence describes tracks. It has no events: the engine would annotate events of tracks that are no thread's with the
	// thread that their sequence described last.
	trackSequence = samplesSequence + maxSources + 1
	viewSequence  = trackSequence + 1

	// Clocks of a sequence, which must not go back: each reset takes the next one, and when all are used up the next
	// sequence begins.
	firstClock = 64
	lastClock  = 127

	// A trace that is cut at its front reads from the next reset on. A reset repeats what was described, so it waits until
	// that is little of what has been written.
	viewResetNs       = int64(4e9)
	viewResetBytes    = 128 << 10 // with viewResetNs; alone it takes viewResetMaximum
	viewResetMaximum  = 2 << 20
	viewResetMultiple = 16
	// viewInternedMaximum bounds the memory of names, which a stream of nothing but new ones would fill: bytes
	viewInternedMaximum = 48 << 20
)

// sequence is a packet sequence of the thread view, with what it has described since the last reset.
type sequence struct {
	id, clock  uint64
	ids        uint64 // the last one that was given to a sequence of the view
	stale      bool   // ids have changed their meaning
	base       uint64 // ns of CLOCK_BOOTTIME at which the clock is 0
	generation uint32 // counts resets; what belongs to an older one has to be described again
	began      int64  // bytes that were written before the reset
	checked    int64  // bytes that were written when due last checked whether the next one is due
	next       int64  // ns of CLOCK_MONOTONIC
	repeats    int64  // bytes that a reset repeats
	names      map[string]uint64
	texts      map[string]uint64

	peerNames   bool                  // see Options.PeerNames
	annotations map[string]annotation // names of annotations beside annotationNames
	stacks      map[tracks.Key]stackText
	states      map[format.State]stateText
	interned    interned
	body        []byte // of the TrackEvent under construction
}

// due reports whether it is time for a reset. It is called with every event, so it checks only after some more bytes: before that
// the result cannot change.
func (s *sequence) due(t, written int64) bool {
	if s.generation != 0 && !s.stale && written < s.checked+viewResetBytes/16 {
		return false
	}
	s.checked = written
	since := written - s.began
	return s.generation == 0 || s.stale || s.memory() >= viewInternedMaximum || since >= s.repeats*viewResetMultiple && (since >= viewResetMaximum || since >= viewResetBytes && t >= s.next)
}

// memory is roughly the memory of the interned entries.
func (s *sequence) memory() int64 {
	return s.repeats + int64(s.interned.memory+perEntry*(len(s.names)+len(s.texts)+len(s.stacks)))
}

// reset clears what was described and appends the packet with which Perfetto clears it.
func (s *sequence) reset(out []byte, t int64, boottime uint64, written int64) []byte {
	s.generation++
	s.stale = false
	s.clock++
	if s.id == 0 || s.clock > lastClock {
		s.id, s.clock = s.nextID(), firstClock
	}
	s.base, s.began, s.next, s.repeats = boottime, written, t+viewResetNs, 0
	s.names, s.texts, s.annotations = make(map[string]uint64), make(map[string]uint64), make(map[string]annotation)
	s.stacks, s.interned = make(map[tracks.Key]stackText), newInterned()
	s.states = make(map[format.State]stateText)

	out = appendFieldDescriptions(out, s.peerNames)
	var packet, body int
	out, packet = begin(out, tracePacket)
	out = appendSequenceClock(out, s.clock, boottime, false)
	out = appendUint(out, packetSequence, s.id)
	out, body = begin(out, packetInternedData)
	for i, name := range categoryNames() {
		if name != "" {
			out = appendName(out, internCategories, uint64(i), name)
		}
	}
	for i, name := range annotationNames(s.peerNames) {
		if name != "" {
			out = appendName(out, internAnnotations, uint64(i), name)
		}
	}
	end(out, body)
	out = appendUint(out, packetSequenceFlags, stateCleared|needsState)
	out, body = begin(out, packetDefaults)
	out = appendUint(out, packetClock, s.clock)
	end(out, body)
	end(out, packet)
	return out
}

// nextID returns the id of a new sequence.
func (s *sequence) nextID() uint64 {
	s.ids = max(s.ids+1, viewSequence)
	return s.ids
}

// appendSequenceClock appends a snapshot that starts a clock of a sequence at 0; times of an incremental one count from
// the packet before.
func appendSequenceClock(out []byte, clock, boottime uint64, isIncremental bool) []byte {
	out, body := beginShort(out, packetClockSnapshot)
	out, one := beginShort(out, 1)
	out = appendUint(appendUint(out, 1, clockBoottime), 2, boottime)
	endShort(out, one)
	out, one = beginShort(out, 1)
	out = appendUint(appendUint(out, 1, clock), 2, 0)
	if isIncremental {
		out = appendUint(out, 3, 1)
	}
	endShort(out, one)
	endShort(out, body)
	return out
}

// describe appends interned data of the sequence, which write appends to.
func (s *sequence) describe(out []byte, write func(out []byte) []byte) []byte {
	before := len(out)
	out, packet := begin(out, tracePacket)
	out = appendUint(out, packetSequence, s.id)
	out = appendUint(out, packetSequenceFlags, needsState)
	out, body := begin(out, packetInternedData)
	out = write(out)
	end(out, body)
	end(out, packet)
	s.repeats += int64(len(out) - before)
	return out
}

// track appends a packet that describes a track; fields appends what else it has. The engine looks its thread or process up at
// the packet's time (without one, at the latest time so far in the file, which may be before the fork).
func (s *sequence) track(out []byte, uuid, boottime uint64, fields func(out []byte) []byte) []byte {
	before := len(out)
	out, packet := begin(out, tracePacket)
	out = appendUint(out, packetTimestamp, boottime)
	out = appendUint(out, packetSequence, trackSequence)
	out, body := begin(out, packetTrackDescriptor)
	out = appendUint(out, 1, uuid)
	out = fields(out)
	end(out, body)
	end(out, packet)
	s.repeats += int64(len(out) - before)
	return out
}

// Fields of InternedData that hold categories, names of events, names of annotations and values of annotations.
const (
	internCategories  = 1
	internEventNames  = 2
	internAnnotations = 3
	internTexts       = 29
)

// name returns the id of an event's name.
func (s *sequence) name(out []byte, name string) ([]byte, uint64) {
	return s.intern(out, s.names, internEventNames, name)
}

// text returns the id of an annotation's value.
func (s *sequence) text(out []byte, text string) ([]byte, uint64) {
	return s.intern(out, s.texts, internTexts, text)
}

func appendName(out []byte, field, id uint64, name string) []byte {
	out, entry := begin(out, field)
	out = appendUint(out, 1, id)
	out = appendString(out, 2, name)
	end(out, entry)
	return out
}

func (s *sequence) intern(out []byte, known map[string]uint64, field uint64, text string) ([]byte, uint64) {
	if id, found := known[text]; found {
		return out, id
	}
	id := uint64(len(known)) + 1
	known[text] = id
	return s.describe(out, func(out []byte) []byte { return appendName(out, field, id, text) }), id
}

// Fields of TrackEvent, and the type of an instant.
const (
	eventCategory    = 3
	eventAnnotation  = 4
	eventType        = 9
	eventName        = 10
	eventTrack       = 11
	eventArrow       = 36
	eventArrowEnd    = 42
	eventCounter     = 44 // a double
	eventCorrelation = 53 // correlation_id_str: the user interface gives slices with the same one the same colour
	eventCallstack   = 56
	eventArgument    = 1950 // and an annotation's number: a number that annotates the event
	annotationNumber = 3
	annotationSigned = 4
	annotationFloat  = 5
	annotationPtr    = 7
	annotationText   = 17

	sliceBegin   = 1
	sliceEnd     = 2
	instant      = 3
	counterValue = 4
)

// start begins a TrackEvent; what is appended to it until put belongs to it. A track of 0 is the sequence's default, a
// name of 0 is none.
func (s *sequence) start(typ, track, name uint64) {
	b := append(s.body[:0], eventType<<3, byte(typ))
	if name != 0 {
		b = binary.AppendUvarint(append(b, eventName<<3), name)
	}
	if track != 0 {
		b = binary.AppendUvarint(append(b, eventTrack<<3), track)
	}
	s.body = b
}

// number annotates the event with a number; a is one of annotationNames.
func (s *sequence) number(a annotation, v uint64) {
	tag := (eventArgument + uint64(a)) << 3 // of two bytes
	s.body = binary.AppendUvarint(append(s.body, byte(tag)|0x80, byte(tag>>7)), v)
}

func (s *sequence) signed(a annotation, v int64) { s.number(a, uint64(v)) }

func (s *sequence) float(a annotation, v float64) {
	b, body := beginShort(s.body, eventAnnotation)
	b = appendDouble(appendUint(b, 1, uint64(a)), annotationFloat, v)
	endShort(b, body)
	s.body = b
}

// startCounter begins an event that gives a counter a value.
func (s *sequence) startCounter(track uint64, v float64) {
	s.start(counterValue, track, 0)
	s.body = appendDouble(s.body, eventCounter, v)
}

func appendDouble(b []byte, field uint64, v float64) []byte {
	const fixed64 = 1
	b = binary.AppendUvarint(b, field<<3|fixed64)
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// value annotates the event with a text that was described before.
func (s *sequence) value(a annotation, text uint64) { s.annotate(a, annotationText, text) }

// annotate appends an annotation, which has at most 127 bytes, with one of the fields of a value.
func (s *sequence) annotate(a annotation, field, v uint64) {
	b, body := beginShort(s.body, eventAnnotation)
	b = appendUint(appendUint(b, 1, uint64(a)), field, v)
	endShort(b, body)
	s.body = b
}

// arrow begins an arrow at the event, or ends one there.
func (s *sequence) arrow(field, id uint64) {
	s.body = appendUint(s.body, field, id)
}

// put appends the event as a packet. Times before the last reset are written with the trace's default clock.
func (s *sequence) put(out []byte, at uint64) []byte {
	var space [32]byte
	head := append(space[:0], packetTimestamp<<3)
	if at >= s.base {
		head = binary.AppendUvarint(head, at-s.base)
	} else {
		head = binary.AppendUvarint(head, at)
		head = appendUint(head, packetClock, clockBoottime)
	}
	head = binary.AppendUvarint(append(head, packetSequence<<3), s.id)
	head = append(head, packetSequenceFlags<<3, needsState, packetTrackEvent<<3|wireBytes)
	head = binary.AppendUvarint(head, uint64(len(s.body)))
	out = binary.AppendUvarint(append(out, tracePacket<<3|wireBytes), uint64(len(head)+len(s.body)))
	return append(append(out, head...), s.body...)
}

// finish appends the end of a slice.
func (s *sequence) finish(out []byte, track, at uint64) []byte {
	s.start(sliceEnd, track, 0)
	return s.put(out, at)
}
