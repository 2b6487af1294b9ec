package tracepoint

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// MaxTracepoints bounds the tracepoints of a recording.
const MaxTracepoints = 4096

// AppendLayouts appends layouts as a spool holds them: for each the length of the event type, the event type, the base, and for each field
// its place.
func AppendLayouts(b []byte, all []*Tracepoint) ([]byte, error) {
	for _, t := range all {
		def, err := proto.Marshal(t.Def)
		if err != nil {
			return nil, fmt.Errorf("encode the event type %s: %w", t.FullName(), err)
		}
		b = append(binary.AppendUvarint(b, uint64(len(def))), def...)
		b = binary.AppendUvarint(b, uint64(t.Base))
		for _, p := range t.Places {
			signed := uint64(0)
			if p.Signed {
				signed = 1
			}
			for _, n := range [...]uint64{uint64(p.Offset), uint64(p.Size), uint64(p.Count), signed, uint64(p.Kind)} {
				b = binary.AppendUvarint(b, n)
			}
		}
	}
	return b, nil
}

var errLayouts = errors.New("the list of tracepoints is damaged")

// ParseLayouts reads what AppendLayouts has written.
func ParseLayouts(b []byte) (all []*Layout, err error) {
	r := layoutReader{b: b}
	for len(r.b) > 0 && !r.failed {
		if len(all) >= MaxTracepoints {
			return nil, errLayouts
		}
		all = append(all, r.layout())
	}
	if r.failed {
		return nil, errLayouts
	}
	return all, nil
}

type layoutReader struct {
	b      []byte
	failed bool
}

// number reads a number up to 65,535.
func (r *layoutReader) number() int {
	n, length := binary.Uvarint(r.b)
	if length <= 0 || n > 1<<16-1 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[length:]
	return int(n)
}

func (r *layoutReader) layout() *Layout {
	l := &Layout{Def: new(format.EventType)}
	size, length := binary.Uvarint(r.b)
	if length <= 0 || size > uint64(len(r.b)-length) || proto.Unmarshal(r.b[length:length+int(size)], l.Def) != nil || l.Def.Problem() != "" {
		r.failed = true
		return nil
	}
	r.b = r.b[length+int(size):]
	l.Base = r.number()
	for range l.Def.Fields {
		p := Place{Offset: r.number(), Size: r.number(), Count: r.number(), Signed: r.number() != 0, Kind: PlaceKind(r.number())}
		l.Places = append(l.Places, p)
	}
	return l
}
