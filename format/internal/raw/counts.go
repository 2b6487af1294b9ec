package raw

import "wprof/format"

// Counts are the counts of events for an end block: of one block, or of a section.
type Counts struct {
	kinds  map[format.Kind]kindCount
	typed  map[uint32]uint64 // events of each type
	late   uint64
	losses format.LossCounts
}

type kindCount struct{ events, bytes uint64 }

// Event counts an event whose record has this size. types are those that the section has defined so far.
func (c *Counts) Event(e *Event, size int, types *Types) {
	c.kind(e.Kind, kindCount{1, uint64(size)})
	if t := types.Of(&e.Event); t != nil {
		c.ofType(t.Id, 1)
	}
	if e.Flags&format.FlagLate != 0 {
		c.late++
	}
	if e.Kind == format.KindLost {
		c.losses.AddEvent(&e.Event)
	}
}

func (c *Counts) add(more *Counts) {
	for kind, n := range more.kinds {
		c.kind(kind, n)
	}
	for id, n := range more.typed {
		c.ofType(id, n)
	}
	c.late += more.late
	c.losses.AddAll(more.losses.List())
}

func (c *Counts) kind(k format.Kind, more kindCount) {
	if c.kinds == nil {
		c.kinds = map[format.Kind]kindCount{}
	}
	sum := c.kinds[k]
	c.kinds[k] = kindCount{sum.events + more.events, sum.bytes + more.bytes}
}

func (c *Counts) ofType(id uint32, more uint64) {
	if c.typed == nil {
		c.typed = map[uint32]uint64{}
	}
	c.typed[id] += more
}
