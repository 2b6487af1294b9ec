package format

import (
	"encoding/binary"
	"math"
)

// eventDecoder decodes the two columns of an event block.
type eventDecoder struct {
	layouts *layouts
	times   cursor
	records cursor
	now     int64
	last    int64
	left    uint32
	leaving leftTable
	repeats repeats
	unknown int64 // events of kinds unknown to this version, skipped

	// newer: the block may be from a newer version, so unknown values are no faults.
	newer bool
	// fault is what is impossible in the event that was decoded last; "": nothing. Its reader clears it.
	fault string
}

func (d *eventDecoder) start(h *BlockHeader, payload []byte) error {
	d.left, d.fault = 0, ""
	if len(payload) < 4 || h.Last < h.First {
		return errMalformed
	}
	n := binary.LittleEndian.Uint32(payload)
	rest := payload[4:]
	if uint64(n) > uint64(len(rest)) {
		return errMalformed
	}
	d.times = cursor{b: rest[:n:n]}
	d.records = cursor{b: rest[n:]}
	clear(d.leaving[:])
	d.now, d.last, d.left = h.First, h.Last, h.Events
	return nil
}

// next decodes the next event of a known kind. It returns false at the end and, with errMalformed, where the
// columns do not hold what they should.
func (d *eventDecoder) next(e *Event) (bool, error) {
	for d.left > 0 {
		d.left--
		known, ok := d.record(e)
		if !ok {
			d.left = 0
			return false, errMalformed
		}
		if known {
			return true, nil
		}
		d.unknown++
	}
	return false, nil
}

// done ends a block. It returns how many events were skipped, and whether times are left over.
func (d *eventDecoder) done() (unknown int64, hasTimes bool) {
	unknown, hasTimes = d.unknown, d.times.i < len(d.times.b)
	d.unknown, d.times = 0, cursor{}
	return unknown, hasTimes
}

// record decodes one record, and skips it if its kind is unknown.
func (d *eventDecoder) record(e *Event) (known, ok bool) {
	size, start := uvarint(d.records.b, d.records.i)
	if size < 2 || size > uint64(len(d.records.b)-start) || d.times.i >= len(d.times.b) {
		return false, false
	}
	end := start + int(size)
	d.records.i = end
	rec := d.records.b[start:end:end]
	kind, times := Kind(rec[0]), int(rec[1])
	// Every time takes at least one byte, so none of the reads below meets the end of its column.
	if times == 0 || times > len(d.times.b)-d.times.i {
		return false, false
	}
	now := d.now + int64(d.times.uvarint())
	if now < d.now || now > d.last {
		return false, false
	}
	d.now = now
	if kind == 0 || kind > MaxKind {
		d.skipTimes(times - 1)
		return false, !d.times.bad()
	}
	return true, d.fields(e, rec, kind, times-1)
}

func (d *eventDecoder) fields(e *Event, rec []byte, kind Kind, times int) bool {
	l := &d.layouts[kind]
	e.Time, e.Own, e.Kind, e.Data = d.now, 0, kind, nil
	if key, ok := keyOf(rec); !ok {
		if !d.numbers(e, rec, l) {
			return false
		}
	} else if r := d.repeats.find(key); r.key == key {
		e.Flags, e.CPU, e.Task, e.Args = r.flags, r.cpu, r.task, r.args
	} else {
		if !d.numbers(e, rec, l) {
			return false
		}
		if d.fault == "" && !d.newer && e.Data == nil {
			*r = repeat{key, e.Flags, e.CPU, e.Task, e.Args}
		}
	}
	if e.Flags&FlagLate != 0 {
		e.Own = d.time(&times, d.now)
		if e.Own >= d.now {
			d.fault = futureTime
		}
	}
	for n := range l.times {
		s := &l.times[n]
		if e.Flags&s.opt != s.opt {
			continue
		}
		base := d.now
		if s.at == BaseLeft {
			base = d.leaving.base(e.Args[0], base)
		}
		e.Args[s.arg] = uint64(d.time(&times, base))
	}
	if kind == KindSwitch {
		d.leaving.leave(e.Task, d.now)
	}
	if e.Flags&FlagsVisible == 0 {
		d.fault = "neither side of an event is visible"
	}
	d.skipTimes(times)
	return !d.times.bad()
}

// numbers decodes a record: all of an event but its times, which are in a column of their own.
func (d *eventDecoder) numbers(e *Event, rec []byte, l *layout) bool {
	bits, i := uvarint(rec, 2)
	cpu, i := uvarint(rec, i)
	task, i := uvarint(rec, i)
	if bits|cpu|task > math.MaxUint32 {
		return false
	}
	flags := Flags(bits) & l.flags
	e.Flags, e.CPU, e.Task = flags, uint32(cpu)-1, TaskID(task)
	clear(e.Args[:])
	var v uint64
	steps := l.numbers
	for n := range steps {
		s := &steps[n]
		if flags&s.opt != s.opt {
			continue
		}
		at := i
		if v, i = shortUvarint(rec, at); i == 0 {
			v, i = longUvarint(rec, at)
		}
		switch s.typ {
		case FieldSint:
			v = uint64(unzigzag(v))
		case FieldBytes:
			if i > len(rec) || v > uint64(len(rec)-i) || v > MaxDataBytes {
				return false
			}
			e.Data = rec[i : i+int(v) : i+int(v)]
			i += int(v)
			continue
		default:
			if v > s.most {
				v = d.unknownValue(s.typ, v)
			}
		}
		e.Args[s.arg] = v
	}
	return i <= len(rec)
}

// time reads the next time of the event, a distance from base; if the record does not have it, it is the event's own.
func (d *eventDecoder) time(left *int, base int64) int64 {
	if *left == 0 {
		return d.now
	}
	*left--
	t := base - unzigzag(d.times.uvarint())
	if t > d.now || t < -MaxTime {
		if !isTime(t) {
			d.times.i = len(d.times.b) + 1
		}
		d.fault = futureTime
	}
	return t
}

func (d *eventDecoder) skipTimes(n int) {
	for range n {
		d.times.uvarint()
	}
}
