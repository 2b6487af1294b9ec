package profile

import "math/bits"

// spread divides the time on the CPU of a thread evenly among all of its samples, separately for each name and CPU that is
// kept apart. Span by span, only times on the CPU with a sample have a stack, which overstates long ones; this is right on
// average for both. The sum does not change.
func (c *collector) spread(t *thread) {
	type group struct {
		label LabelID
		cpu   uint32
	}
	type share struct {
		ns    int64
		count uint64
	}
	sums := make(map[group]*share)
	eachOnCPU := func(visit func(*Cell, *share)) {
		for i := range t.Cells {
			cell := &t.Cells[i]
			if cell.Class != ClassOnCPU {
				continue
			}
			g := group{cell.Label, cell.CPU}
			if sums[g] == nil {
				sums[g] = new(share)
			}
			visit(cell, sums[g])
		}
	}
	eachOnCPU(func(cell *Cell, sum *share) {
		sum.ns += cell.Ns
		sum.count += cell.Count
	})
	given := make(map[*share]share)
	eachOnCPU(func(cell *Cell, sum *share) {
		if sum.count == 0 {
			return
		}
		so := given[sum]
		before := scaled(sum.ns, so.count, sum.count)
		so.count += cell.Count
		cell.Ns = scaled(sum.ns, so.count, sum.count) - before
		given[sum] = so
	})
}

// scaled returns the part of a time for count out of all.
func scaled(ns int64, count, all uint64) int64 {
	hi, lo := bits.Mul64(uint64(ns), count)
	q, _ := bits.Div64(hi, lo, all)
	return int64(q)
}
