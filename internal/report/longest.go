package report

import (
	"cmp"
	"slices"
)

// longWait is the longest wait of a thread for one thing in one place.
type longWait struct {
	interval
	thread *who
	site   uint32
}

// longest are the longest waits.
type longest struct{ all []longWait }

func (l *longest) add(one longWait, limit int) {
	l.all = append(l.all, one)
	if len(l.all) > 4*limit+64 {
		l.shrink(limit)
	}
}

func (l *longest) shrink(limit int) {
	slices.SortFunc(l.all, func(a, b longWait) int {
		return cmp.Or(cmp.Compare(b.to-b.from, a.to-a.from), cmp.Compare(a.from, b.from), cmp.Compare(a.thread.tid, b.thread.tid))
	})
	l.all = l.all[:min(limit, len(l.all))]
}
