package raw

import (
	"math"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// Types are the event types of the section that can be used.
type Types struct {
	byID   map[uint32]*format.EventType
	latest []*format.EventType // not in byID yet
	weight int                 // bytes of memory of those in byID, at most
}

// Add enters a definition; undump may still be adding fields to the latest ones.
func (t *Types) Add(defined *format.EventType) {
	if len(t.latest) >= format.MaxSectionTypes {
		t.enter()
	}
	t.latest = append(t.latest, defined)
}

// enter moves the latest types to byID, up to the memory limit.
func (t *Types) enter() {
	if t.byID == nil {
		t.byID = make(map[uint32]*format.EventType)
	}
	for _, defined := range t.latest {
		weight := format.TypeMemory * proto.Size(defined)
		if t.byID[defined.Id] == nil && len(t.byID) < format.MaxSectionTypes && t.weight+weight <= format.MaxSectionDefinitionBytes && defined.Problem() == "" {
			t.byID[defined.Id] = defined
			t.weight += weight
		}
	}
	t.latest = t.latest[:0]
}

// Of returns the type of a typed event; nil: it is not defined, or cannot be used.
func (t *Types) Of(e *format.Event) *format.EventType {
	if e.Kind != format.KindTyped || e.Args[format.TypedType] > math.MaxUint32 {
		return nil
	}
	if len(t.latest) > 0 {
		t.enter()
	}
	return t.byID[e.TypeID()]
}
