package symbol

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// span is the address range of one function before it is added to a table.
type span struct {
	start, end uint64
	rank       uint32 // symbol: hasSize and its number in the file; line of a perf map: its number
	name       uint32 // position in names
}

// hasSize is the highest bit of the rank of a symbol with a size. The lower bits are its number.
const hasSize = 1 << 31

// precedence reports whether a is preferred to b for an address in both.
type precedence func(a, b *span) bool

// innermost prefers the function that begins last, as functions of a file nest. Of several with the same start,
// as in llvm-symbolizer, one with a size is preferred to one without, then the largest, then the last in the file.
func innermost(a, b *span) bool {
	if a.start != b.start {
		return a.start > b.start
	}
	if x, y := a.rank&hasSize, b.rank&hasSize; x != y {
		return x > y
	}
	if a.end != b.end {
		return a.end > b.end
	}
	return a.rank > b.rank
}

// latest prefers the last line of a map, because a line replaces those before it.
func latest(a, b *span) bool { return a.rank > b.rank }

// newTable makes a table of functions. Each address belongs to the preferred one of the functions that hold it. It reorders the
// spans.
func newTable(spans []span, wins precedence, n names) *Table {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	t := &Table{names: n}
	t.starts = make([]uint64, 0, len(spans))
	t.pieces = make([]piece, 0, len(spans))
	open := &openSpans{wins: wins}
	for i := 0; i < len(spans); {
		at := spans[i].start
		t.close(open, at)
		for ; i < len(spans) && spans[i].start == at; i++ {
			heap.Push(open, &spans[i])
		}
		t.begin(open, at)
	}
	t.close(open, math.MaxUint64)
	return t
}

// close ends the spans that end at or before an address, and continues those around them.
func (t *Table) close(open *openSpans, until uint64) {
	for len(open.spans) > 0 && open.spans[0].end <= until {
		at := open.spans[0].end
		for len(open.spans) > 0 && open.spans[0].end <= at {
			heap.Pop(open)
		}
		if at < until {
			t.begin(open, at)
		}
	}
}

// begin adds a piece of the preferred open span, unless the last piece is of the same span.
func (t *Table) begin(open *openSpans, at uint64) {
	if len(open.spans) == 0 {
		return
	}
	s := open.spans[0]
	into := at - s.start
	size := s.end - s.start
	if into > math.MaxUint32 {
		return // no code is that large
	}
	next := piece{size: uint32(min(size, math.MaxUint32)), into: uint32(into), name: s.name}
	if last := len(t.starts) - 1; last >= 0 {
		start, _ := t.span(last)
		if start == s.start && t.pieces[last].name == next.name && t.pieces[last].size == next.size {
			return
		}
	}
	t.starts = append(t.starts, at)
	t.pieces = append(t.pieces, next)
}

// openSpans is a heap with the preferred span on top. Ended spans are removed only when they reach the top.
type openSpans struct {
	spans []*span
	wins  precedence
}

func (o *openSpans) Len() int           { return len(o.spans) }
func (o *openSpans) Less(i, j int) bool { return o.wins(o.spans[i], o.spans[j]) }
func (o *openSpans) Swap(i, j int)      { o.spans[i], o.spans[j] = o.spans[j], o.spans[i] }
func (o *openSpans) Push(s any)         { o.spans = append(o.spans, s.(*span)) }
func (o *openSpans) Pop() any {
	last := len(o.spans) - 1
	s := o.spans[last]
	o.spans = o.spans[:last]
	return s
}
