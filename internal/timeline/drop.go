package timeline

import (
	"cmp"
	"slices"
)

// maxThreads bounds the threads of a Timeline, including ended ones that still have ids: a stream need not report the end of
// a thread. Ended threads are not removed from the tables before these have leastDue threads.
const (
	maxThreads = 96 << 10
	leastDue   = 16 << 10
)

// Memory is about how much memory a Timeline with spans uses, in bytes.
func (tl *Timeline) Memory() int {
	const perThread = 700 // with its definition and its entries in tables
	return tl.held * perThread
}

// DroppedThreads counts the threads that were dropped before their end, as far as known: those without events for the longest
// time.
func (tl *Timeline) DroppedThreads() int64 { return tl.droppedThreads }

// bound keeps the tables within their limit. It is called before each event.
func (tl *Timeline) bound() {
	if tl.held > tl.due {
		tl.clean()
	}
}

// clean removes ended threads from the tables of ids, and drops others if there are still too many. What a dropped thread
// did until it appears again is unknown.
func (tl *Timeline) clean() {
	if len(tl.live) > tl.most*3/4 {
		tl.dropOldest(len(tl.live) - tl.most/2)
	}
	for id, t := range tl.byID {
		if t != nil && t.Status == Dead {
			tl.byID[id] = nil
		}
	}
	for id, t := range tl.sparse {
		if t.Status == Dead {
			delete(tl.sparse, id)
		}
	}
	for _, t := range tl.live {
		if t.spanState != nil {
			t.spanState.dropDead()
		}
	}
	tl.held = len(tl.live)
	tl.due = min(tl.most, max(leastDue, tl.held/4*5))
}

// dropOldest drops n threads, but none that runs: there are no more of those than CPUs.
func (tl *Timeline) dropOldest(n int) {
	tl.sorted = append(tl.sorted[:0], tl.live...)
	slices.SortFunc(tl.sorted, func(a, b *Thread) int {
		return cmp.Or(cmp.Compare(a.shownAt(), b.shownAt()), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Start, b.Start))
	})
	for _, t := range tl.sorted {
		if n == 0 {
			break
		}
		if t.Status == Running {
			continue
		}
		if tl.spans != nil {
			tl.spans.drops(t)
		}
		tl.end(t)
		tl.droppedThreads++
		n--
	}
	clear(tl.sorted)
}

// shownAt returns the time of the latest event of a thread.
func (t *Thread) shownAt() int64 {
	at := max(t.ChangedAt, t.Woken)
	if t.spanState != nil {
		at = max(at, t.spanState.seen)
	}
	return at
}

// drops emits what is known of a thread that is dropped, then an unknown span until now. Spans of new threads begin now at the
// earliest: one of them may be this thread.
func (s *Spans) drops(t *Thread) {
	s.ends(t, s.now)
	s.dropped = s.now
}

// dropDead removes references to ended threads. Their ids stay.
func (sp *spanState) dropDead() {
	for _, w := range [...]*waking{&sp.waking, &sp.early} {
		if w.by != nil && w.by.Status == Dead {
			w.by = nil
		}
	}
	if sp.prev != nil && sp.prev.Status == Dead {
		sp.prev = nil
	}
}
