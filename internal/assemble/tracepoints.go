package assemble

import (
	"encoding/binary"
	"slices"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/tracepoint"
)

// firstTracepoint is the id of the first tracepoint's event type. Those of the table of sources and of system calls are below.
const firstTracepoint = 4096

// maxTracepointValues is what an event may have: only fields of a damaged layout, which are all in the same place, have more.
const maxTracepointValues = 64 << 10

// tracepointTypes are the event types of tracepoints, by their numbers.
type tracepointTypes struct {
	encoded func() []byte // reads the layouts from the spool; nil: they have been read
	all     []tracepointType
	decoder tracepoint.Decoder
}

type tracepointType struct {
	*tracepoint.Layout
	section uint32 // number of the section in which it is defined
}

// read reads the layouts: when the first event needs them, and before their place in the spool is given back.
func (t *tracepointTypes) read() {
	if t.encoded == nil {
		return
	}
	layouts, err := tracepoint.ParseLayouts(t.encoded())
	t.encoded = nil
	if err != nil {
		return // the spool is damaged, which is reported
	}
	for i, l := range layouts {
		l.Def.Id = firstTracepoint + uint32(i)
		t.all = append(t.all, tracepointType{Layout: l})
	}
}

// hasLongStacks reports whether events may name stacks that were taken long before: at the begin of a span, or where they were counted.
func (t *tracepointTypes) hasLongStacks() bool {
	t.read()
	return slices.ContainsFunc(t.all, func(of tracepointType) bool {
		_, isCounted := of.Def.Counts()
		return (isCounted || of.Def.Shape == uint32(format.TypeShape_SHAPE_SPAN)) && slices.ContainsFunc(of.Def.Fields, func(f *format.TypeField) bool {
			return f.Is(format.ValueType_VALUE_STACK)
		})
	})
}

// define returns the layout of a tracepoint, whose type it defines if the section does not have it yet; nil: it is not known.
func (t *tracepointTypes) define(s *stream, number uint32) *tracepoint.Layout {
	t.read()
	if int64(number) >= int64(len(t.all)) {
		return nil
	}
	of := &t.all[number]
	if of.section != s.section {
		of.section = s.section
		_ = s.w.DefineType(of.Def) // an error stays with the Writer
		s.defined()
	}
	return of.Layout
}

// applyTracepoint writes an event of a tracepoint, or a span of a user-defined probe.
func (a *applier) applyTracepoint(e *format.Event, b []byte, at int64, number uint32) error {
	record := b[ringdata.TracepointBytes:]
	if length := binary.LittleEndian.Uint32(b[ringdata.TracepointLength:]); uint64(length) < uint64(len(record)) {
		record = record[:length]
	}
	e.Time = at
	start := int64(binary.LittleEndian.Uint64(b[ringdata.TracepointStart:]))
	var of *thread
	if b[ringdata.HdrFlags]&ringdata.FlagOpen != 0 {
		var ended int64
		if of, ended = a.endOf(number, binary.LittleEndian.Uint32(b[ringdata.HdrTID:]), start); of != nil {
			if ended == 0 {
				return nil
			}
			e.Time = min(ended, at)
		}
	}
	return a.applyLaidOut(e, b, record, number, start, of)
}

// applyInstant writes an event of a user-defined probe.
func (a *applier) applyInstant(b []byte, at int64) error {
	_ = b[ringdata.InstantSize-1]
	e := a.event(b)
	e.Kind = format.KindTyped
	number := binary.LittleEndian.Uint32(b[ringdata.InstantType:])
	if number < ringdata.TypeTracepoint || !a.isWritten(e, at) {
		return nil
	}
	e.Time = at
	return a.applyLaidOut(e, b, b[ringdata.InstantBytes:], number-ringdata.TypeTracepoint, 0, nil)
}

// applyLaidOut writes an event whose values are where the layout with a number has them; start is 0 unless it is a span. of is its thread; nil:
// the record's.
func (a *applier) applyLaidOut(e *format.Event, b, record []byte, number uint32, start int64, of *thread) error {
	types := &a.out.types
	l := types.tracepoints.define(a.out, number)
	if l == nil {
		return nil
	}
	if l.Def.On != uint32(format.TypeTrack_TRACK_GLOBAL) {
		if of == nil {
			of = a.subject(b)
		}
		e.Task = a.out.name(of)
	}
	v := e.Typed()
	v.SetType(uint64(l.Def.Id))
	if start != 0 {
		v.SetStart(max(0, min(start, e.Time)))
	}
	values := types.tracepoints.decoder.Values(l, record)
	for i := range values {
		if values[i].Field.Hint == uint32(format.ValueHint_HINT_COUNTS) {
			if values[i].Bytes = a.countsOf(values[i].Bytes); !a.seesCounts(e.CPU, start) {
				values[i].Bytes = nil
			}
			continue
		}
		a.refer(&values[i], &l.Places[i], record, e.Time)
	}
	var err error
	if types.data, err = l.Def.AppendTyped(types.data[:0], values, e.TimeBase()); err != nil {
		return err
	}
	if len(types.data) > maxTracepointValues {
		return nil
	}
	v.SetValues(types.data)
	return a.out.write(e, e.Time)
}

// refer turns a value of a record that refers to a stack or a thread into one of the stream.
func (a *applier) refer(v *format.Value, p *tracepoint.Place, record []byte, at int64) {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_STACK:
		if p.Offset+ringdata.StacksSize <= len(record) {
			user, kernel := stackIDs(record[p.Offset:])
			v.Number = uint64(a.code.stack(user, kernel, at))
		}
	case format.ValueType_VALUE_TASK:
		if v.Number != 0 {
			v.Number = uint64(a.out.name(a.thread(uint32(v.Number))))
		}
	}
}
