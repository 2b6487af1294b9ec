package spool

import "errors"

// Follow begins to read a spool. Of one that is still being written it is live, and the writer is not closed before end is
// called; without wantLive it is an error then.
func (s *Spool) Follow(wantLive bool) (live bool, end func(), err error) {
	if s.live == nil {
		return false, func() {}, nil // a short recording may have ended before
	}
	if !wantLive {
		return false, nil, errors.New("finalise the spool: it has not ended")
	}
	s.live.reading.Lock()
	if s.live.closed {
		s.live.reading.Unlock()
		return false, nil, errors.New("finalise the spool: it is closed")
	}
	return true, s.live.reading.Unlock, nil
}

// Whole is the offset in the file up to which a live spool has whole rounds, and whether nothing follows.
func (s *Spool) Whole() (limit int64, ended bool) {
	ended = s.live.ended.Load()
	return s.live.whole.Load(), ended
}

// Wait waits until [Spool.Whole] has changed.
func (s *Spool) Wait() { <-s.live.grown }

// MarkCut marks a live spool as one without an end.
func (s *Spool) MarkCut() { s.damage.Cut = true }

// Unlinked reports whether the file has no name, so that no other process reads parts that were given back.
func (s *Spool) Unlinked() bool { return s.punch }

// punchAtOnce is how much is given back with one call.
const punchAtOnce = 4 << 20

// GiveBack frees the disk space of a live spool between from, which its last call has returned, and done, except for what is
// read again later. It returns up to where space is freed.
func (s *Spool) GiveBack(from, done int64) int64 {
	// keep is read after done was determined: Cut sets it before it writes what done could have passed.
	done = min(done, s.live.keep.Load()) &^ (64<<10 - 1)
	if done-from < punchAtOnce {
		return from
	}
	s.live.copies.around(from, done, func(from, to int64) { punch(s.file, from, to-from) })
	return done
}
