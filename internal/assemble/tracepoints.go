package assemble

import (
	"encoding/binary"

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

// applyTracepoint writes an event of a tracepoint.
func (a *applier) applyTracepoint(e *format.Event, b []byte, at int64, number uint32) error {
	types := &a.out.types
	l := types.tracepoints.define(a.out, number)
	if l == nil {
		return nil
	}
	record := b[ringdata.TracepointBytes:]
	if length := binary.LittleEndian.Uint32(b[ringdata.TracepointLength:]); uint64(length) < uint64(len(record)) {
		record = record[:length]
	}
	e.Task = a.out.name(a.subject(b))
	v := e.Typed()
	v.SetType(uint64(l.Def.Id))
	e.Time = at
	var err error
	if types.data, err = l.Def.AppendTyped(types.data[:0], types.tracepoints.decoder.Values(l, record), e.TimeBase()); err != nil {
		return err
	}
	if len(types.data) > maxTracepointValues {
		return nil
	}
	v.SetValues(types.data)
	return a.out.write(e, at)
}
