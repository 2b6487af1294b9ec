package sideband

import "sync"

// codeRoom counts the functions of jitdumps, which are bounded: those of programs that run, and of programs that have ended and may still be
// needed.
type codeRoom struct {
	mu    sync.Mutex
	used  int
	ended []endedCodes // in the order of time
}

// endedCodes are the functions of a program that has ended.
type endedCodes struct {
	at    int64 // CLOCK_MONOTONIC ns
	count int
}

func (r *codeRoom) taken() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

func (r *codeRoom) take(count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used += count
}

// end notes that a program with functions has ended.
func (r *codeRoom) end(at int64, count int) {
	if count == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, endedCodes{at, count})
}

// forget releases the room of programs that ended before a time.
func (r *codeRoom) forget(before int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for ; n < len(r.ended) && r.ended[n].at < before; n++ {
		r.used -= r.ended[n].count
	}
	r.ended = append(r.ended[:0], r.ended[n:]...)
}
