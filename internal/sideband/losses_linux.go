package sideband

import (
	"sync"
	"time"

	"wprof/internal/proc"
)

// losses are perf's reports of lost records while only a few processes are recorded. perf does not say whose records were lost; most often they were
// those of other processes. So the mappings of the recorded ones are read again, and a loss is reported only if those of one cannot be read.
type losses struct {
	only   []uint32      // the processes
	found  chan struct{} // one element: there are losses
	ended  chan struct{}
	visits visitor

	settling sync.Mutex      // held while mappings are read again
	gone     map[uint32]bool // processes whose mappings could not be read any more

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

// take keeps a report until [Watcher.settleLosses]. False: losses are reported as they are.
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

// run settles losses until [losses.end].
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

// settleLosses reads the mappings again if records were lost, and reports the losses if some could not be read.
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

// readAgain reads the mappings of the recorded processes; complete is false if those of a process cannot be read that could be before.
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
		out, ok := read[uint32(pid)]
		complete = complete && len(out) > 0
		if ok && len(out) == 0 {
			l.gone[uint32(pid)] = true
		}
		records = append(records, out...)
	}
	return records, complete
}
