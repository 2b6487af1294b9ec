package timeline

import (
	"cmp"
	"slices"
)

// maxThreads bounds how many threads a Timeline keeps, with those that have ended and are still named by ids:
// nothing makes a stream report the end of a thread. With what renderers keep of each, these take some 150 MiB.
const maxThreads = 1 << 17

// Forgotten is how many threads were alive, as far as was known, when they were forgotten, because no event had shown them for
// the longest.
func (tl *Timeline) Forgotten() int64 { return tl.forgotten }

// clean drops threads that have ended from the tables of ids, and forgets others if there are still too many. A thread that
// comes back is unknown until then.
func (tl *Timeline) clean() {
	if len(tl.live) > tl.most*3/4 {
		tl.forgetOldest(len(tl.live) - tl.most/2)
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
		if t.track != nil {
			t.track.dropDead()
		}
	}
	tl.held = len(tl.live)
}

// forgetOldest forgets threads, but none that runs: there are no more of these than CPUs.
func (tl *Timeline) forgetOldest(n int) {
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
			tl.spans.forgets(t)
		}
		tl.die(t)
		tl.forgotten++
		n--
	}
	clear(tl.sorted)
}

// shownAt is when an event said something of a thread last.
func (t *Thread) shownAt() int64 {
	at := max(t.told, t.Woken)
	if t.track != nil {
		at = max(at, t.track.seen)
	}
	return at
}

// forgets tells what is known of a thread, and that nothing is from there on until now. Spans of threads that come from now
// on begin here at the earliest: one of them may be this one.
func (s *Spans) forgets(t *Thread) {
	s.dies(t, s.now)
	s.forgot = s.now
}

// dropDead lets go of threads that have ended. Their ids stay.
func (tr *track) dropDead() {
	for _, w := range [...]*waking{&tr.waking, &tr.early} {
		if w.by != nil && w.by.Status == Dead {
			w.by = nil
		}
	}
	if tr.prev != nil && tr.prev.Status == Dead {
		tr.prev = nil
	}
}
