package assemble

import (
	"encoding/binary"
	"slices"

	"wprof/format"
	"wprof/internal/ringdata"
)

// plainRecord describes how records of a plain kind are decoded. They do not change the state of threads.
type plainRecord struct {
	kind   format.Kind
	flags  uint8 // of the record, that the kind has too
	fields []plainField
}

type plainField struct {
	format.Field
	arg int
	at  []ringdata.Field // see [format.Field.RecordFields]
}

// plainRecords returns the decoders by kind. The generator of package ringdata has checked that all fields exist.
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
	p := &plainRecord{kind: k.Kind}
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

// applyPlain writes the event of a plain record.
func (a *applier) applyPlain(p *plainRecord, b []byte, at int64) error {
	e := a.event(b)
	e.Flags |= format.Flags(b[ringdata.HdrFlags] & p.flags)
	if !a.isWritten(e, at) {
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

// readNumber reads an integer field, sign-extended; 0: the field is not an integer.
func readNumber(b []byte, f *ringdata.Field) uint64 {
	if f.Size > 8 {
		return 0
	}
	var raw [8]byte
	copy(raw[:], b[f.Offset:][:f.Size])
	v, unused := binary.LittleEndian.Uint64(raw[:]), 64-8*f.Size
	if f.Signed {
		return uint64(int64(v<<unused) >> unused)
	}
	return v
}
