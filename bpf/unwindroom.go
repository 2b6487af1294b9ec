package bpf

import (
	"slices"

	"wprof/internal/unwind"
)

// wordRange is a part of the words of the unwind tables, see unwindtable.h.
type wordRange struct{ at, end uint32 }

// room hands out ranges of words. Ranges are multiples of a rule, so that rules are aligned.
type room struct {
	free []wordRange // before end, sorted, not adjacent
	end  uint32      // of what was handed out
}

// alloc returns the first range of a number of words below a limit.
func (r *room) alloc(words, limit uint32) (wordRange, bool) {
	if words > limit {
		return wordRange{}, false
	}
	words = (words + unwind.RuleWords - 1) &^ (unwind.RuleWords - 1)
	for i, f := range r.free {
		if f.end-f.at < words {
			continue
		}
		got := wordRange{f.at, f.at + words}
		if r.free[i].at = got.end; got.end == f.end {
			r.free = slices.Delete(r.free, i, i+1)
		}
		return got, true
	}
	if uint64(r.end)+uint64(words) > uint64(limit) {
		return wordRange{}, false
	}
	got := wordRange{r.end, r.end + words}
	r.end = got.end
	return got, true
}

// release takes a range back, and merges it with free ones beside it.
func (r *room) release(f wordRange) {
	i, _ := slices.BinarySearchFunc(r.free, f, func(a, b wordRange) int { return int(int64(a.at) - int64(b.at)) })
	r.free = slices.Insert(r.free, i, f)
	if i+1 < len(r.free) && r.free[i].end == r.free[i+1].at {
		r.free[i].end = r.free[i+1].end
		r.free = slices.Delete(r.free, i+1, i+2)
	}
	if i > 0 && r.free[i-1].end == r.free[i].at {
		r.free[i-1].end = r.free[i].end
		r.free = slices.Delete(r.free, i, i+1)
	}
	if last := len(r.free) - 1; last >= 0 && r.free[last].end == r.end {
		r.end = r.free[last].at
		r.free = r.free[:last]
	}
}
