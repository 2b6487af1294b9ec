package spool

import (
	"encoding/binary"
	"slices"

	"wprof/format"
	"wprof/internal/ringdata"
)

// plainRecord says how an event of a plain kind is made of a record, which changes nothing of what is known of threads.
type plainRecord struct {
	kind   format.Kind
	size   int
	flags  uint8 // of the record, that the kind has too
	fields []plainField
}

type plainField struct {
	format.Field
	arg int
	at  []ringdata.Field // see [format.Field.RecordFields]
}

// plainRecords are those of all plain kinds. The generator of package ringdata has found all their fields.
func plainRecords() (all [format.MaxKind + 1]*plainRecord) {
	kinds := format.Kinds()
	for _, r := range ringdata.Records() {
		if k := &kinds[r.Kind-1]; k.IsPlain() {
			all[r.Kind] = newPlainRecord(k, &r)
		}
	}
	return all
}

func newPlainRecord(k *format.KindInfo, r *ringdata.Record) *plainRecord {
	p := &plainRecord{kind: k.Kind, size: r.Size}
	for i, f := range k.Fields {
		one := plainField{Field: f, arg: i}
		for _, name := range f.RecordFields() {
			at := slices.IndexFunc(r.Fields, func(f ringdata.Field) bool { return f.Name == name })
			one.at = append(one.at, r.Fields[at])
		}
		p.flags |= uint8(f.Opt)
		p.fields = append(p.fields, one)
	}
	for _, f := range k.Flags {
		p.flags |= uint8(f.Bit)
	}
	return p
}

// applyPlain writes the event of a record whose kind needs no more.
func (a *applier) applyPlain(p *plainRecord, b []byte, at int64) error {
	e := a.event(b)
	e.Flags |= format.Flags(b[ringdata.HdrFlags] & p.flags)
	if !a.tells(e, at) {
		return nil
	}
	e.Task = a.out.name(a.subject(b))
	for i := range p.fields {
		f := &p.fields[i]
		if e.Flags&f.Opt != f.Opt {
			continue
		}
		switch v := readNumber(b, &f.at[0]); f.Type {
		case format.FieldStack:
			e.Args[f.arg] = uint64(a.code.sampled(v, readNumber(b, &f.at[1]), at))
		case format.FieldTask:
			e.Args[f.arg] = uint64(a.out.name(a.thread(uint32(v))))
		case format.FieldState:
			e.Args[f.arg] = uint64(kernelState(uint32(v)))
		case format.FieldTime:
			e.Args[f.arg] = uint64(min(int64(v), at))
		case format.FieldBytes:
			from := f.at[0].Offset
			e.Data = b[from : from+int(min(readNumber(b, &f.at[1]), uint64(len(b)-from)))]
		default:
			e.Args[f.arg] = v
		}
	}
	return a.out.write(e, at)
}

// readNumber is a field of a record, sign-extended; 0: it is no number.
func readNumber(b []byte, f *ringdata.Field) uint64 {
	le := binary.LittleEndian
	b = b[f.Offset:]
	switch {
	case f.Size == 1 && f.Signed:
		return uint64(int64(int8(b[0])))
	case f.Size == 1:
		return uint64(b[0])
	case f.Size == 2 && f.Signed:
		return uint64(int64(int16(le.Uint16(b))))
	case f.Size == 2:
		return uint64(le.Uint16(b))
	case f.Size == 4 && f.Signed:
		return uint64(int64(int32(le.Uint32(b))))
	case f.Size == 4:
		return uint64(le.Uint32(b))
	case f.Size == 8:
		return le.Uint64(b)
	}
	return 0
}
