package profile

import (
	"slices"
	"strings"

	"wprof/internal/waits"
)

// findIdleWaits finds the time that a thread waited for work: see [waits.Places]. A place is the stacks with the same functions.
func (c *collector) findIdleWaits(t *thread) {
	var places waits.Places[uint32]
	places.Add(0, waits.Result{}, t.shortBlocked)
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassBlocked {
			places.Add(c.sameFunctions(cell.Stack), cell.Wait, cell.Ns)
		}
	}
	work := places.ForWork()
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassBlocked && work.Has(c.sameFunctions(cell.Stack), cell.Wait) {
			cell.Class = ClassIdle
			t.idle = append(t.idle, idlePlace{cell.Stack, cell.Wait})
		}
	}
}

// sameFunctions returns a number that all stacks with the same functions have: with Options.Addresses, Inline or Lines their nodes may differ.
func (c *collector) sameFunctions(id NodeID) uint32 {
	if !c.o.Addresses && !c.o.Inline && !c.o.Lines {
		return uint32(id)
	}
	if known, found := c.same[id]; found {
		return known
	}
	path := c.p.functionsOf(id)
	number, found := c.paths[path]
	if !found {
		number = uint32(len(c.paths))
		c.paths[path] = number
	}
	c.same[id] = number
	return number
}

// functionsOf returns the functions of a stack in one text, without what is inlined.
func (p *Profile) functionsOf(id NodeID) string {
	var path strings.Builder
	for ; id != 0; id = p.Nodes[id].Parent {
		path.WriteString(p.Frames[p.Nodes[id].Frame].Functions[0].Name)
		path.WriteByte(';')
	}
	return path.String()
}

// idlePlace is where a thread waits for work.
type idlePlace struct {
	stack NodeID
	wait  waits.Result
}

// idleTrail is a trail in which the pieces in idle places have ClassIdle.
type idleTrail struct {
	Trail
	idle []idlePlace
}

func (t idleTrail) Each(visit func(*Piece) error) error {
	return t.Trail.Each(func(p *Piece) error {
		if p.Class != ClassBlocked || !slices.Contains(t.idle, idlePlace{p.Stack, p.Wait}) {
			return visit(p)
		}
		idle := *p
		idle.Class = ClassIdle
		return visit(&idle)
	})
}

// ShareIdleWaits gives stacks that are waits for work in one of two profiles that class in both: a stack that is the usual
// place of a thread in one, and not quite in the other, must not look like a difference.
func ShareIdleWaits(a, b *Profile) {
	idle := make(map[string]bool)
	for _, p := range []*Profile{a, b} {
		p.eachWait(ClassIdle, func(_ *Cell, key string) { idle[key] = true })
	}
	for _, p := range []*Profile{a, b} {
		p.eachWait(ClassBlocked, func(c *Cell, key string) {
			if idle[key] {
				c.Class = ClassIdle
			}
		})
	}
}

// eachWait visits the cells of a class that may be waits for work, each with its thread's name and its
// functions in one text.
func (p *Profile) eachWait(class Class, visit func(c *Cell, key string)) {
	for _, t := range p.Threads {
		for i := range t.Cells {
			if c := &t.Cells[i]; c.Class == class && c.Wait.Idle != waits.Never {
				visit(c, p.Labels[c.Label].Comm+"\x00"+p.functionsOf(c.Stack))
			}
		}
	}
}
