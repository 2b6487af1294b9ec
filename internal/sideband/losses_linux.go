package sideband

import (
	"sync"
	"time"

	"wprof/internal/proc"
)

// losses are perf's reports of lost records while a few processes alone are recorded. perf does not say whose records they were, and most often
// they were those of others. So the mappings of the recorded processes are read again, and only if one of them cannot be read, a loss is left.
type losses struct {
	only   []uint32      // the processes
	found  chan struct{} // one element: there are losses
	ended  chan struct{}
	visits visitor

	settling sync.Mutex // held while mappings are read again
	gone     map[uint32]bool

	mu      sync.Mutex
	pending []Record
}

// settleEvery bounds how often mappings are read again.
const settleEvery = 20 * time.Millisecond

func newLosses(only []uint32) *losses {
	if len(only) == 0 {
		return nil
	}
	return &losses{only: only, found: make(chan struct{}, 1), ended: make(chan struct{}), gone: make(map[uint32]bool)}
}

// take takes a report. False: it is to be passed on as it is.
func (l *losses) take(r *Record) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	l.pending = append(l.pending, Record{Kind: KindLost, CPU: r.CPU, Count: r.Count})
	l.mu.Unlock()
	select {
	case l.found <- struct{}{}:
	default:
	}
	return true
}

// run settles losses until the watcher ends.
func (l *losses) run(w *Watcher) {
	for {
		select {
		case <-l.found:
		case <-l.ended:
			return
		}
		w.settleLosses()
		time.Sleep(settleEvery)
	}
}

// end ends run.
func (l *losses) end() {
	if l != nil {
		close(l.ended)
	}
}

// settleLosses reads mappings again if records were lost, and reports the losses if that failed.
func (w *Watcher) settleLosses() {
	l := w.losses
	if l == nil {
		return
	}
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	pending := l.pending
	l.pending = nil
	l.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	records, complete := w.readAgain()
	if !complete {
		now := proc.Monotonic()
		for i := range pending {
			pending[i].Time = now
			records = Append(records, &pending[i])
		}
	}
	w.Report(records)
}

// canReadAll reports whether the mappings of the recorded processes can still be read.
func (w *Watcher) canReadAll() bool {
	w.losses.settling.Lock()
	defer w.losses.settling.Unlock()
	_, complete := w.readAgain()
	return complete
}

// readAgain reads the mappings of the recorded processes. It is complete if all could be read that were there the time before.
func (w *Watcher) readAgain() (records []byte, complete bool) {
	l := w.losses
	var pids []int
	for _, pid := range l.only {
		if !l.gone[pid] {
			pids = append(pids, int(pid))
		}
	}
	var mu sync.Mutex
	read := make(map[uint32][]byte)
	l.visits.visit(pids, func(pid int, _ bool) {
		out := w.scanProcess(uint32(pid), false)
		mu.Lock()
		defer mu.Unlock()
		read[uint32(pid)] = out
	})
	mu.Lock()
	defer mu.Unlock()
	complete = true
	for _, pid := range pids {
		out, is := read[uint32(pid)]
		complete = complete && len(out) > 0
		if is && len(out) == 0 {
			l.gone[uint32(pid)] = true
		}
		records = append(records, out...)
	}
	return records, complete
}
