package raw

import (
	"math"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// maxDecoded bounds the memory of decoded types.
const maxDecoded = 16 << 20

// Types are the event types of the section that can be used. Most are kept as they are stored, which takes a fraction of the
// memory of decoded ones.
type Types struct {
	latest  *format.EventType // undump may still be adding fields to it
	stored  map[uint32][]byte
	bytes   int // in stored
	decoded map[uint32]*format.EventType
	memory  int // of decoded
}

// Add enters a definition.
func (t *Types) Add(defined *format.EventType) {
	t.storeLatest()
	t.latest = defined
}

// storeLatest stores the latest type. The first one of an id stays, as in a Reader, and one that exceeds the bounds of a section is
// left out.
func (t *Types) storeLatest() {
	d := t.latest
	t.latest = nil
	if d == nil || t.stored[d.Id] != nil || len(t.stored) >= format.MaxSectionTypes || d.Problem() != "" {
		return
	}
	b, err := proto.Marshal(d)
	if err != nil || t.bytes+len(b) > format.MaxSectionDefinitionBytes {
		return
	}
	if t.stored == nil {
		t.stored, t.decoded = make(map[uint32][]byte), make(map[uint32]*format.EventType)
	}
	t.stored[d.Id] = b
	t.bytes += len(b)
}

// Of returns the type of a typed event; nil: it is not defined, or cannot be used.
func (t *Types) Of(e *format.Event) *format.EventType {
	if e.Kind != format.KindTyped || e.Args[format.TypedType] > math.MaxUint32 {
		return nil
	}
	return t.byID(e.TypeID())
}

func (t *Types) byID(id uint32) *format.EventType {
	t.storeLatest()
	if d := t.decoded[id]; d != nil {
		return d
	}
	b := t.stored[id]
	if b == nil {
		return nil
	}
	d := new(format.EventType)
	if err := proto.Unmarshal(b, d); err != nil {
		return nil // impossible: storeLatest made it
	}
	t.memory += d.Memory()
	for other, one := range t.decoded {
		if t.memory <= maxDecoded {
			break
		}
		t.memory -= one.Memory()
		delete(t.decoded, other)
	}
	t.decoded[id] = d
	return d
}
