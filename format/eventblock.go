package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// MaxDataBytes is the maximum size of an event's bytes field.
const MaxDataBytes = 1 << 20

// recordBound is more than any record takes without its bytes field: size, kind, number of times, flags, CPU, task
// and every numeric field at its longest. timesBound is the same for the times column.
const (
	recordBound = 32 + MaxArgs*binary.MaxVarintLen64
	timesBound  = (MaxArgs + 2) * binary.MaxVarintLen64
)

// EventBlock encodes events into the payload of an event block. The times of all events are in one column and the
// rest of the records in another: if two events differ only in their times, the second record is then a
// repetition, which zstd finds.
//
// Measured on ping-pong data (BenchmarkEncode, BenchmarkDecodeBlock): 23 ns to encode an event, 31 ns to decode it, 2.9
// stored bytes at the fastest level of zstd.
type EventBlock struct {
	layouts *layouts
	times   []byte
	records []byte

	left leftTable

	first, last, earliest int64
	events                uint32
}

// NewEventBlock returns an empty block.
func NewEventBlock() *EventBlock { return &EventBlock{layouts: newLayouts()} }

// Add appends one event. Flags that its kind does not have are left out.
func (b *EventBlock) Add(e *Event) error {
	if e.Kind == 0 || e.Kind > MaxKind {
		return fmt.Errorf("event of unknown kind %d", e.Kind)
	}
	if len(e.Data) > MaxDataBytes {
		return fmt.Errorf("event with %d bytes of text, more than the %d that are allowed", len(e.Data), MaxDataBytes)
	}
	if b.events == 0 {
		b.first, b.last, b.earliest = e.Time, e.Time, e.Time
	}
	if e.Time < b.last {
		return fmt.Errorf("event at %d ns after one at %d ns", e.Time, b.last)
	}
	b.put(e)
	b.last = e.Time
	b.events++
	return nil
}

// put writes the record. It makes room for the longest possible one first, so that no further checks are needed.
func (b *EventBlock) put(e *Event) {
	l := &b.layouts[e.Kind]
	flags := e.Flags & l.flags
	if cap(b.records)-len(b.records) < recordBound+len(e.Data) || cap(b.times)-len(b.times) < timesBound {
		b.grow(len(e.Data))
	}
	rec, times := b.records[:cap(b.records)], b.times[:cap(b.times)]
	start, ti := len(b.records), len(b.times)

	ti = putUvarint(times, ti, uint64(e.Time-b.last))
	count := byte(1)
	if flags&FlagLate != 0 {
		b.earliest = min(b.earliest, e.Own)
		ti = putUvarint(times, ti, zigzag(e.Time-e.Own))
		count++
	}
	// One byte for the size; most records are shorter than 128 bytes.
	i := start + 3
	rec[start+1] = byte(e.Kind)
	i = putUvarint(rec, i, uint64(flags))
	i = putUvarint(rec, i, uint64(e.CPU+1))
	i = putUvarint(rec, i, uint64(e.Task))
	steps := l.steps
	for n := range steps {
		s := &steps[n]
		if flags&s.opt != s.opt {
			continue
		}
		switch s.typ {
		case FieldTime:
			base, value := e.Time, int64(e.Args[s.arg])
			if s.at == BaseLeft {
				base = b.left.base(e.Args[0], base)
			}
			b.earliest = min(b.earliest, value)
			ti = putUvarint(times, ti, zigzag(base-value))
			count++
		case FieldSint:
			i = putUvarint(rec, i, zigzag(int64(e.Args[s.arg])))
		case FieldBytes:
			i = putUvarint(rec, i, uint64(len(e.Data)))
			i += copy(rec[i:], e.Data)
		default:
			i = putUvarint(rec, i, e.Args[s.arg])
		}
	}
	if e.Kind == KindSwitch {
		b.left.leave(e.Task, e.Time)
	}
	rec[start+2] = count
	size := i - start - 1
	if size < 0x80 {
		rec[start] = byte(size)
	} else {
		i = widenSize(rec, start, i)
	}
	b.records, b.times = rec[:i], times[:ti]
}

// grow makes room for the longest possible record whose bytes field has this size.
func (b *EventBlock) grow(size int) {
	b.records = slices.Grow(b.records, recordBound+size)
	b.times = slices.Grow(b.times, timesBound)
}

// widenSize moves a record whose size does not fit into one byte and returns its new end.
func widenSize(rec []byte, start, end int) int {
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(end-start-1))
	copy(rec[start+n:], rec[start+1:end])
	copy(rec[start:], size[:n])
	return end + n - 1
}

// Len is the size of the payload so far.
func (b *EventBlock) Len() int { return 4 + len(b.times) + len(b.records) }

// Events is the number of events so far.
func (b *EventBlock) Events() int { return int(b.events) }

// Header is a block header with type, times and number of events set.
func (b *EventBlock) Header() BlockHeader {
	return BlockHeader{Type: BlockEvents, First: b.first, Last: b.last, Earliest: b.earliest, Events: b.events}
}

// AppendPayload appends the payload.
func (b *EventBlock) AppendPayload(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b.times)))
	dst = append(dst, b.times...)
	return append(dst, b.records...)
}

// Reset empties the block for the next one.
func (b *EventBlock) Reset() {
	b.times, b.records, b.events = b.times[:0], b.records[:0], 0
	clear(b.left[:])
}

// DecodeEvents calls f with each event of an event block, in order. The event is reused for the next call.
func DecodeEvents(b *Block, f func(*Event) error) error {
	if b.Header.Type != BlockEvents {
		return errors.New("not an event block")
	}
	var d eventDecoder
	d.layouts = newLayouts()
	if err := d.start(&b.Header, b.Payload); err != nil {
		return err
	}
	var e Event
	for {
		ok, err := d.next(&e)
		if !ok {
			return err
		}
		if err := f(&e); err != nil {
			return err
		}
	}
}
