package raw

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"wprof/format"
)

// Event is an event with what a newer version may have added to its record.
type Event struct {
	format.Event
	More      []byte  // bytes after the known fields; all of an unknown kind's
	MoreTimes []int64 // times after the known ones, absolute
}

// Records encodes or decodes the records of one block, and keeps the values for the block's header.
type Records struct {
	Times, Rest []byte // the two columns: decoded, what is left of them
	Now         int64  // time of the event before; at first the header's first time

	First, Last, Earliest int64
	Events                uint32

	claimed uint32 // events by the block's header, when decoding
	left    leftTable
}

var errMalformed = errors.New("malformed event block")

// leftTable has, within a block, the times at which threads left a CPU.
type leftTable [1 << 10]int64

// base is the time that since is a distance from, for a thread that takes a CPU over.
func (t *leftTable) base(thread uint64, event int64) int64 {
	if at := t[thread%uint64(len(t))]; at != 0 {
		return at
	}
	return event
}

// Add appends an event. A time before that of the event before it becomes a delta that wraps around.
func (c *Records) Add(info *format.KindInfo, e *Event) (size int, err error) {
	timesBefore, recordsBefore := len(c.Times), len(c.Rest)
	c.Times = binary.AppendUvarint(c.Times, uint64(e.Time-c.Now))
	c.Now = e.Time
	past := e.past(info)
	if len(past) >= math.MaxUint8 {
		return 0, errors.New("an event has at most 255 times")
	}
	for _, p := range past {
		c.Times = binary.AppendUvarint(c.Times, protowire.EncodeZigZag(c.base(p.base, e)-p.at))
	}
	c.count(e, past)
	record := []byte{byte(e.Kind), byte(1 + len(past))}
	record = binary.AppendUvarint(record, uint64(e.Flags))
	record = binary.AppendUvarint(record, uint64(e.CPU+1))
	record = binary.AppendUvarint(record, uint64(e.Task))
	for i, f := range info.Fields {
		switch {
		case f.Opt != 0 && e.Flags&f.Opt == 0 || f.Type == format.FieldTime:
		case f.Type == format.FieldBytes:
			record = append(binary.AppendUvarint(record, uint64(len(e.Data))), e.Data...)
		case f.Type == format.FieldSint:
			record = binary.AppendUvarint(record, protowire.EncodeZigZag(int64(e.Args[i])))
		default:
			record = binary.AppendUvarint(record, e.Args[i])
		}
	}
	record = append(record, e.More...)
	c.Rest = binary.AppendUvarint(c.Rest, uint64(len(record)))
	c.Rest = append(c.Rest, record...)
	return len(c.Times) - timesBefore + len(c.Rest) - recordsBefore, nil
}

// pastTime is a time that an event has besides its own, and what it is a distance from.
type pastTime struct {
	at   int64
	base format.Base
}

// past are the times of an event after its own, in the order of the column.
func (e *Event) past(info *format.KindInfo) []pastTime {
	var past []pastTime
	if e.Flags&format.FlagLate != 0 {
		past = append(past, pastTime{at: e.Own})
	}
	for i, f := range info.Fields {
		if f.Type == format.FieldTime && (f.Opt == 0 || e.Flags&f.Opt != 0) {
			past = append(past, pastTime{int64(e.Args[i]), f.Base})
		}
	}
	for _, t := range e.MoreTimes {
		past = append(past, pastTime{at: t})
	}
	return past
}

// base returns the time that another time of the event is a distance from.
func (c *Records) base(base format.Base, e *Event) int64 {
	if base == format.BaseLeft {
		return c.left.base(e.Args[0], e.Time)
	}
	return e.Time
}

// count adds an event to the values for the header, and stores when its thread left a CPU.
func (c *Records) count(e *Event, past []pastTime) {
	if c.Events == 0 {
		c.First, c.Last, c.Earliest = e.Time, e.Time, e.Time
	}
	c.Events++
	c.Last = max(c.Last, e.Time)
	c.Earliest = min(c.Earliest, e.Time)
	for _, p := range past {
		c.Earliest = min(c.Earliest, p.at)
	}
	if e.Kind == format.KindSwitch {
		c.left[e.Task%format.TaskID(len(c.left))] = e.Time
	}
}

// Payload is that of an event block.
func (c *Records) Payload() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(c.Times)))
	return append(append(b, c.Times...), c.Rest...)
}

// NewRecords takes the columns of an event block apart.
func NewRecords(h *format.BlockHeader, payload []byte) (*Records, error) {
	if len(payload) < 4 {
		return nil, errMalformed
	}
	n, rest := binary.LittleEndian.Uint32(payload), payload[4:]
	if uint64(n) > uint64(len(rest)) {
		return nil, errMalformed
	}
	return &Records{Times: rest[:n], Rest: rest[n:], Now: h.First, claimed: h.Events}, nil
}

// Done reports whether both columns are used up. Columns of a newer version may follow the last event: they are what is
// left of Rest.
func (c *Records) Done() bool {
	return len(c.Times) == 0 && (len(c.Rest) == 0 || c.Events >= c.claimed)
}

// Next takes an event off the front of the columns.
func (c *Records) Next(kindInfo func(format.Kind) format.KindInfo, e *Event) (size int, err error) {
	timesBefore, recordsBefore := len(c.Times), len(c.Rest)
	*e = Event{}
	records := cursor{b: c.Rest}
	length := records.uvarint()
	if records.bad() || length < 2 || length > uint64(len(c.Rest)-records.i) {
		return 0, errMalformed
	}
	record := cursor{b: c.Rest[records.i+2 : records.i+int(length)]}
	e.Kind = format.Kind(c.Rest[records.i])
	times, err := c.nextTimes(int(c.Rest[records.i+1]))
	if err != nil {
		return 0, err
	}
	c.Rest = c.Rest[records.i+int(length):]
	flags, cpu, task := record.uvarint(), record.uvarint(), record.uvarint()
	if max(flags, cpu, task) > math.MaxUint32 {
		return 0, errMalformed
	}
	e.Time, e.Flags, e.CPU, e.Task = c.Now, format.Flags(flags), uint32(cpu)-1, format.TaskID(task)
	info := kindInfo(e.Kind)
	if !c.fill(e, &info, times, &record) {
		return 0, errMalformed
	}
	c.count(e, e.past(&info))
	return timesBefore - len(c.Times) + recordsBefore - len(c.Rest), nil
}

// nextTimes takes the times of one event: its own into now, the distances of the others into the result.
func (c *Records) nextTimes(n int) ([]int64, error) {
	column := cursor{b: c.Times}
	if n == 0 || n > len(c.Times) {
		return nil, errMalformed
	}
	c.Now += int64(column.uvarint())
	distances := make([]int64, n-1)
	for i := range distances {
		distances[i] = protowire.DecodeZigZag(column.uvarint())
	}
	c.Times = c.Times[column.i:]
	if column.bad() {
		return nil, errMalformed
	}
	return distances, nil
}

// fill spreads times and record over the event's fields and keeps what is left over. What an older record does not
// have is 0, or the event's own time.
func (c *Records) fill(e *Event, info *format.KindInfo, distances []int64, record *cursor) bool {
	nextTime := func(base format.Base) int64 {
		if len(distances) == 0 {
			return e.Time
		}
		d := distances[0]
		distances = distances[1:]
		return c.base(base, e) - d
	}
	if e.Flags&format.FlagLate != 0 {
		e.Own = nextTime(format.BaseEvent)
	}
	for i, f := range info.Fields {
		switch {
		case f.Opt != 0 && e.Flags&f.Opt == 0:
		case f.Type == format.FieldTime:
			e.Args[i] = uint64(nextTime(f.Base))
		case f.Type == format.FieldSint:
			e.Args[i] = uint64(protowire.DecodeZigZag(record.uvarint()))
		case f.Type == format.FieldBytes:
			n := record.uvarint()
			if n > uint64(len(record.b)-record.i) {
				return false
			}
			e.Data = record.b[record.i:][:n]
			record.i += int(n)
		default:
			e.Args[i] = record.uvarint()
		}
	}
	for len(distances) > 0 {
		e.MoreTimes = append(e.MoreTimes, nextTime(format.BaseEvent))
	}
	e.More = record.b[record.i:]
	return !record.bad()
}

// cursor reads numbers from a column.
type cursor struct {
	b []byte
	i int
}

// uvarint reads the next number. At the end of the column it reads zeros, so that a field that an older writer did not have
// is 0; after a number that is cut or too long, the cursor is bad.
func (c *cursor) uvarint() uint64 {
	if c.i >= len(c.b) {
		return 0
	}
	if b := c.b[c.i]; b < 0x80 { // the common case
		c.i++
		return uint64(b)
	}
	v, n := binary.Uvarint(c.b[c.i:])
	if n <= 0 {
		c.i = len(c.b) + 1
		return 0
	}
	c.i += n
	return v
}

func (c *cursor) bad() bool { return c.i > len(c.b) }
