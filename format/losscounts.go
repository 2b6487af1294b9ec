package format

import (
	"cmp"
	"slices"
	"strings"
)

// MaxLossCounts bounds the losses that are counted CPU by CPU; of more, the CPU is not kept, and of very many the kind neither.
const MaxLossCounts = 4096

// LossCounts are numbers of lost events by CPU, kind, cause and type.
type LossCounts map[lossKey]uint64

type lossKey struct {
	cpu, kind, cause uint32
	of               string // name of an event type, or of its group; "": not known
}

// Add adds a number of lost events.
func (c *LossCounts) Add(l *Loss) {
	if *c == nil {
		*c = make(LossCounts)
	}
	key := c.keyOf(lossKey{l.Cpu, l.Kind, l.Cause, string(l.Type)})
	(*c)[key] = Sum((*c)[key], l.Count)
}

// AddEvent adds an event of kind lost.
func (c *LossCounts) AddEvent(e *Event) {
	l := e.Lost()
	c.Add(&Loss{Cpu: e.CPU, Kind: uint32(l.What()), Cause: uint32(l.Cause()), Count: l.Count(), Type: l.TypeName()})
}

// AddAll adds those of an end block.
func (c *LossCounts) AddAll(more []*Loss) {
	for _, l := range more {
		c.Add(l)
	}
}

// keyOf returns what a loss is counted by.
func (c LossCounts) keyOf(key lossKey) lossKey {
	if _, known := c[key]; known || len(c) < MaxLossCounts {
		return key
	}
	key.cpu = AllCPUs
	if _, known := c[key]; known || len(c) < 2*MaxLossCounts {
		return key
	}
	return lossKey{cpu: AllCPUs, cause: key.cause % 256}
}

// List is what End.losses holds.
func (c LossCounts) List() []*Loss {
	all := make([]*Loss, 0, len(c))
	for key, n := range c {
		all = append(all, &Loss{Cpu: key.cpu, Kind: key.kind, Cause: key.cause, Count: n, Type: []byte(key.of)})
	}
	slices.SortFunc(all, func(a, b *Loss) int {
		return cmp.Or(cmp.Compare(a.Cpu, b.Cpu), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cause, b.Cause), strings.Compare(string(a.Type), string(b.Type)))
	})
	return all
}
