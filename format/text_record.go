package format

import (
	"encoding/binary"
	"errors"
	"math"
)

// The text form has a record codec of its own, straight from the table: it writes faults that the Writer refuses,
// shows what the Reader skips, and is slow. That both read each other's streams is tested.

// recordCoder encodes or decodes the records of one block, and keeps what the block's header says of them.
type recordCoder struct {
	times, records []byte
	now            int64 // time of the event before; at first what the header calls the first time
	left           leftTable

	first, last, earliest int64
	events                uint32
	claimed               uint32 // events by the block's header, when decoding
}

// add appends an event. A time before that of the event before it becomes a delta that wraps around.
func (c *recordCoder) add(info *KindInfo, e *textEvent) (size int, err error) {
	timesBefore, recordsBefore := len(c.times), len(c.records)
	c.times = binary.AppendUvarint(c.times, uint64(e.Time-c.now))
	c.now = e.Time
	past := e.past(info)
	if len(past) >= math.MaxUint8 {
		return 0, errors.New("an event has at most 255 times")
	}
	for _, p := range past {
		c.times = binary.AppendUvarint(c.times, zigzag(c.from(p.base, e)-p.at))
	}
	c.span(e, past)
	record := []byte{byte(e.Kind), byte(1 + len(past))}
	record = binary.AppendUvarint(record, uint64(e.Flags))
	record = binary.AppendUvarint(record, uint64(e.CPU+1))
	record = binary.AppendUvarint(record, uint64(e.Task))
	for i, f := range info.Fields {
		switch {
		case f.Opt != 0 && e.Flags&f.Opt == 0 || f.Type == FieldTime:
		case f.Type == FieldBytes:
			record = append(binary.AppendUvarint(record, uint64(len(e.Data))), e.Data...)
		case f.Type == FieldSint:
			record = binary.AppendUvarint(record, zigzag(int64(e.Args[i])))
		default:
			record = binary.AppendUvarint(record, e.Args[i])
		}
	}
	record = append(record, e.more...)
	c.records = binary.AppendUvarint(c.records, uint64(len(record)))
	c.records = append(c.records, record...)
	return len(c.times) - timesBefore + len(c.records) - recordsBefore, nil
}

// pastTime is a time that an event tells besides its own, and what it is told from.
type pastTime struct {
	at   int64
	base Base
}

// past are the times of an event after its own, in the order of the column.
func (e *textEvent) past(info *KindInfo) []pastTime {
	var past []pastTime
	if e.Flags&FlagLate != 0 {
		past = append(past, pastTime{at: e.Own})
	}
	for i, f := range info.Fields {
		if f.Type == FieldTime && (f.Opt == 0 || e.Flags&f.Opt != 0) {
			past = append(past, pastTime{int64(e.Args[i]), f.Base})
		}
	}
	for _, t := range e.moreTimes {
		past = append(past, pastTime{at: t})
	}
	return past
}

// from is the time that another one is told from.
func (c *recordCoder) from(base Base, e *textEvent) int64 {
	if base == BaseLeft {
		return c.left.base(e.Args[0], e.Time)
	}
	return e.Time
}

// span counts an event, and remembers who left a CPU at it.
func (c *recordCoder) span(e *textEvent, past []pastTime) {
	if c.events == 0 {
		c.first, c.last, c.earliest = e.Time, e.Time, e.Time
	}
	c.events++
	c.last = max(c.last, e.Time)
	c.earliest = min(c.earliest, e.Time)
	for _, p := range past {
		c.earliest = min(c.earliest, p.at)
	}
	if e.Kind == KindSwitch {
		c.left.leave(e.Task, e.Time)
	}
}

// payload is that of an event block.
func (c *recordCoder) payload() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(c.times)))
	return append(append(b, c.times...), c.records...)
}

// newRecordDecoder takes the columns of an event block apart.
func newRecordDecoder(h *BlockHeader, payload []byte) (*recordCoder, error) {
	if len(payload) < 4 {
		return nil, errMalformed
	}
	n, rest := binary.LittleEndian.Uint32(payload), payload[4:]
	if uint64(n) > uint64(len(rest)) {
		return nil, errMalformed
	}
	return &recordCoder{times: rest[:n], records: rest[n:], now: h.First, claimed: h.Events}, nil
}

// done reports whether both columns are used up. Columns of a newer version may follow the last event: they are what is
// left of records.
func (c *recordCoder) done() bool {
	return len(c.times) == 0 && (len(c.records) == 0 || c.events >= c.claimed)
}

// next takes an event off the front of the columns.
func (c *recordCoder) next(kindInfo func(Kind) KindInfo, e *textEvent) (size int, err error) {
	timesBefore, recordsBefore := len(c.times), len(c.records)
	*e = textEvent{}
	records := cursor{b: c.records}
	length := records.uvarint()
	if records.bad() || length < 2 || length > uint64(len(c.records)-records.i) {
		return 0, errMalformed
	}
	record := cursor{b: c.records[records.i+2 : records.i+int(length)]}
	e.Kind = Kind(c.records[records.i])
	times, err := c.nextTimes(int(c.records[records.i+1]))
	if err != nil {
		return 0, err
	}
	c.records = c.records[records.i+int(length):]
	flags, cpu, task := record.uvarint(), record.uvarint(), record.uvarint()
	if max(flags, cpu, task) > math.MaxUint32 {
		return 0, errMalformed
	}
	e.Time, e.Flags, e.CPU, e.Task = c.now, Flags(flags), uint32(cpu)-1, TaskID(task)
	info := kindInfo(e.Kind)
	if !c.fill(e, &info, times, &record) {
		return 0, errMalformed
	}
	c.span(e, e.past(&info))
	return timesBefore - len(c.times) + recordsBefore - len(c.records), nil
}

// nextTimes takes the times of one event: its own into now, the distances of the others into the result.
func (c *recordCoder) nextTimes(n int) ([]int64, error) {
	column := cursor{b: c.times}
	if n == 0 || n > len(c.times) {
		return nil, errMalformed
	}
	c.now += int64(column.uvarint())
	distances := make([]int64, n-1)
	for i := range distances {
		distances[i] = unzigzag(column.uvarint())
	}
	c.times = c.times[column.i:]
	if column.bad() {
		return nil, errMalformed
	}
	return distances, nil
}

// fill spreads times and record over the event's fields and keeps what is left over. What an older record does not
// have is 0, or the event's own time.
func (c *recordCoder) fill(e *textEvent, info *KindInfo, distances []int64, record *cursor) bool {
	nextTime := func(base Base) int64 {
		if len(distances) == 0 {
			return e.Time
		}
		d := distances[0]
		distances = distances[1:]
		return c.from(base, e) - d
	}
	if e.Flags&FlagLate != 0 {
		e.Own = nextTime(BaseEvent)
	}
	for i, f := range info.Fields {
		switch {
		case f.Opt != 0 && e.Flags&f.Opt == 0:
		case f.Type == FieldTime:
			e.Args[i] = uint64(nextTime(f.Base))
		case f.Type == FieldSint:
			e.Args[i] = uint64(unzigzag(record.uvarint()))
		case f.Type == FieldBytes:
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
		e.moreTimes = append(e.moreTimes, nextTime(BaseEvent))
	}
	e.more = record.b[record.i:]
	return !record.bad()
}
