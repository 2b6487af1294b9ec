package flame

import "math"

// Compare makes the graph of a profile beside that of another one, for WriteSVG and others to show the difference. Scale is
// how long p was recorded for one second of base.
func Compare(p, base *Profile, v View, scale float64) *Graph {
	b := newGrapher(v, p, base)
	b.cells()
	return b.compared(scale)
}

func (b *grapher) compared(scale float64) *Graph {
	var own, base Weight
	for i := range b.g.BaseSelf {
		own.add(b.g.Self[i])
		base.add(b.g.BaseSelf[i])
	}
	// Times of both are added, and scale may make those of base too long for that.
	if most, total := float64(math.MaxInt64/2-own.Ns()/2), float64(base.Ns()); total*scale > most {
		scale = most / total
	}
	// Each is scaled before it is added up, so that sums stay exact.
	for i := range b.g.BaseSelf {
		b.g.BaseSelf[i] = b.g.BaseSelf[i].scaled(scale)
	}
	return b.end()
}

// agreeOnIdle makes a wait for work in one profile one in the other as well: what is nine tenths of a thread's waits in one
// and a little less in the other has not changed its nature.
func agreeOnIdle(a, b *Profile) {
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

// eachWait visits the cells of a class that are in system calls that wait for work, each with its thread's name and its
// functions in one text.
func (p *Profile) eachWait(class Class, visit func(c *Cell, key string)) {
	for _, t := range p.Threads {
		for i := range t.Cells {
			if c := &t.Cells[i]; c.Class == class && p.Waits[c.Stack] != "" {
				visit(c, p.Labels[c.Label].Comm+"\x00"+p.functionsOf(c.Stack))
			}
		}
	}
}

// scaled is the weight of a time that is so many times as long.
func (w Weight) scaled(by float64) Weight {
	ns := func(v int64) int64 { return int64(float64(v)*by + 0.5) }
	return Weight{On: ns(w.On), Off: ns(w.Off), Unknown: ns(w.Unknown), Count: uint64(float64(w.Count)*by + 0.5)}
}
