package assemble

import (
	"bytes"
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

// typeTable keeps event types, and texts of two generations, as a [waitTable] does waits.
type typeTable struct {
	byNumber          []*typeDef
	current, previous map[uint64]*textDef
	last              uint32 // id of a text that was given last in this section
	values            []format.Value
	data              []byte
	tracepoints       tracepointTypes
	mark              markType
}

type typeDef struct {
	of      sources.Type
	section uint32 // number of the section in which it is defined
	counted bool   // the field with counts was added to it
}

// markType is the type of marks.
type markType struct {
	def     *format.EventType // nil: there was none
	section uint32            // number of the section in which it is defined
}

type textDef struct {
	text    string
	section uint32
	id      uint32
}

// maxTexts bounds the texts of a generation.
const maxTexts = 1 << 14

func (t *typeTable) rotate() { t.previous, t.current = t.current, nil }

// keep keeps the content of a rec_text.
func (t *typeTable) keep(b []byte) {
	id := binary.LittleEndian.Uint64(b[ringdata.TextID:])
	if t.current[id] != nil || len(t.current) >= maxTexts {
		return
	}
	text, _, _ := bytes.Cut(b[ringdata.TextText:], []byte{0}) // those of the recorder itself may be longer
	d := t.previous[id]
	if d == nil || d.text != string(text) {
		d = &textDef{text: string(text)}
	}
	t.put(id, d)
}

func (t *typeTable) put(id uint64, d *textDef) {
	if t.current == nil {
		t.current = make(map[uint64]*textDef)
	}
	t.current[id] = d
}

// text returns the id of a text in the stream; 0: it is not known.
func (t *typeTable) text(s *stream, id uint64) uint64 {
	d := t.current[id]
	if d == nil {
		if d = t.previous[id]; d == nil {
			return 0
		}
		t.put(id, d)
	}
	return uint64(t.defineText(s, d))
}

// defineText returns the id of a text, which it defines if the section does not have it yet; d may be nil.
func (t *typeTable) defineText(s *stream, d *textDef) uint32 {
	if d == nil {
		return 0
	}
	if d.section != s.section {
		t.last++
		d.id, d.section = t.last, s.section
		_ = s.w.DefineText(&format.Text{Id: d.id, Text: []byte(d.text)}) // an error stays with the Writer
		s.defined()
	}
	return d.id
}

// known returns a type by its number; nil: this version does not know it.
func (t *typeTable) known(number uint32) *typeDef {
	if t.byNumber == nil {
		for _, of := range sources.Table() {
			for int(of.Number) >= len(t.byNumber) {
				t.byNumber = append(t.byNumber, nil)
			}
			of.Def.Id = of.Number
			t.byNumber[of.Number] = &typeDef{of: of}
		}
	}
	if int(number) >= len(t.byNumber) {
		return nil
	}
	return t.byNumber[number]
}

// lostName names what a loss is of, by its number in [spool.Loss]; "": not known.
func (t *typeTable) lostName(number uint32) string {
	switch number {
	case ringdata.MissingTypeTracepoint:
		return sources.Tracepoints
	case ringdata.MissingTypePmu:
		return format.GroupPMU
	case ringdata.MissingTypeProbe:
		return sources.Probes
	}
	if d := t.known(number); d != nil {
		return string(d.of.Def.Name)
	}
	return ""
}

// define returns a type, which it defines if the section does not have it yet; nil: this version does not know it. Its id is its number.
func (t *typeTable) define(s *stream, number uint32) *sources.Type {
	d := t.known(number)
	if d == nil {
		return nil
	}
	if d.section != s.section {
		d.section = s.section
		if d.of.Counted && !d.counted && len(s.session.Counters) > 0 {
			d.counted, d.of.Def.Fields = true, append(d.of.Def.Fields, sources.Counts())
		}
		_ = s.w.DefineType(d.of.Def)
		s.defined()
	}
	return &d.of
}

// maxDelay bounds durations: a record may be damaged.
const maxDelay = int64(1e15)

// typedNumber returns what a value of a record is in the stream.
func (a *applier) typedNumber(f *format.TypeField, n uint64) uint64 {
	switch format.ValueType(f.Type) {
	case format.ValueType_VALUE_TEXT:
		return a.out.types.text(a.out, n)
	case format.ValueType_VALUE_DURATION:
		return uint64(max(0, min(int64(n), maxDelay)))
	case format.ValueType_VALUE_BOOL:
		return min(n, 1)
	case format.ValueType_VALUE_TASK:
		if n == 0 {
			return 0
		}
		return uint64(a.out.name(a.thread(uint32(n))))
	}
	return n
}

// applyTyped writes an event of a type of its own; open is format.FlagOpen or 0.
func (a *applier) applyTyped(b []byte, at int64, open format.Flags) error {
	_ = b[ringdata.TypedSize-1]
	le := binary.LittleEndian
	e := a.event(b)
	if !a.isWritten(e, at) {
		return nil
	}
	e.Flags |= open
	if le.Uint32(b[ringdata.TypedType:]) == ringdata.TypeSyscall {
		return a.applyCall(e, b, at, open)
	}
	types := &a.out.types
	if number := le.Uint32(b[ringdata.TypedType:]); number >= ringdata.TypeTracepoint {
		return a.applyTracepoint(e, b, at, number-ringdata.TypeTracepoint)
	}
	t := types.define(a.out, le.Uint32(b[ringdata.TypedType:]))
	if t == nil {
		return nil
	}
	if !t.HasNoThread(le.Uint32(b[ringdata.HdrTID:])) {
		e.Task = a.out.name(a.typedSubject(t, b))
	}
	v := e.Typed()
	v.SetType(uint64(t.Number))
	e.Time = at
	if start := int64(le.Uint64(b[ringdata.TypedStart:])); start != 0 {
		v.SetStart(max(0, min(start, at)))
	}
	var ok bool
	if isPacket(t.Number) {
		types.values, ok = a.packetValues(types.values[:0], t, b)
	} else {
		types.values, ok = a.typedValues(types.values[:0], t, b, at)
	}
	if !ok {
		return nil
	}
	if t.Number == ringdata.TypeCgroup {
		a.setPaths(a.subject(b), types.values)
	}
	var err error
	if types.data, err = t.Def.AppendTyped(types.data[:0], types.values, e.TimeBase()); err != nil {
		return err
	}
	v.SetValues(types.data)
	return a.out.write(e, at)
}

// typedSubject is the thread of a record. What a process has written itself says nothing of what its CPU ran at that moment.
func (a *applier) typedSubject(t *sources.Type, b []byte) *thread {
	if t.Number == ringdata.TypePython || t.Number == ringdata.TypeTorch {
		return a.thread(binary.LittleEndian.Uint32(b[ringdata.HdrTID:]))
	}
	return a.subject(b)
}

// typedValues appends the values of a record with a word or more for each field, and perhaps counts; ok false: the record is damaged.
func (a *applier) typedValues(values []format.Value, t *sources.Type, b []byte, at int64) (all []format.Value, ok bool) {
	if len(b) < ringdata.TypedValues+8*t.Words() {
		return nil, false
	}
	for words, i := b[ringdata.TypedValues:], 0; i < len(t.Def.Fields); i++ {
		f := t.Def.Fields[i]
		v := format.Value{Field: f}
		switch format.ValueType(f.Type) {
		case format.ValueType_VALUE_STACK:
			user, kernel := stackIDs(words)
			v.Number = uint64(a.code.stack(user, kernel, at))
		case format.ValueType_VALUE_STRING:
			v.Bytes = endpoint(words)
		case format.ValueType_VALUE_BYTES:
			if a.seesCounts(uint32(binary.LittleEndian.Uint16(b[ringdata.HdrCPU:])), int64(binary.LittleEndian.Uint64(b[ringdata.TypedStart:]))) {
				v.Bytes = a.countsOf(words)
			}
		default:
			v.Number = a.typedNumber(f, binary.LittleEndian.Uint64(words))
		}
		values = append(values, v)
		words = words[8*sources.Words(f):]
	}
	return values, true
}

// setPaths sets the first two values to the cgroups from and to which a thread was moved.
func (a *applier) setPaths(t *thread, values []format.Value) {
	values[0].Number = uint64(a.out.types.defineText(a.out, t.movedFrom))
	values[1].Number = uint64(a.out.types.defineText(a.out, t.cgroup))
}

// endpoint is the text of a struct rec_endpoint.
func endpoint(b []byte) []byte {
	size := 16
	if binary.LittleEndian.Uint16(b[ringdata.EndpointFamily:]) == familyIPv4 {
		size = 4
	}
	return address(b[ringdata.EndpointAddress:][:size], binary.LittleEndian.Uint16(b[ringdata.EndpointPort:]))
}
