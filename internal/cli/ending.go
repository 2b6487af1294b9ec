package cli

import (
	"os"
	"slices"
	"sync"
	"time"
)

// abortLimit bounds the time for cleaning up before a signal ends the tool.
const abortLimit = 2 * time.Second

// ending makes sure that a run ends only once. Either the tool's Run returns, or a signal or a closed pipe
// ends the process; the first of the two locks out the other one. So errors that the clean-up causes in the running tool
// are not printed, and do not change the exit status.
type ending struct {
	lock sync.Mutex // held for ever by the goroutine that ends the process
	over bool       // Run has returned

	mu      sync.Mutex
	cleanup []*func()
}

// OnAbort adds a clean-up for when a signal or a closed pipe ends the process, such as removing a temporary file. The last
// one added runs first. All together have two seconds. They run while the tool's own goroutines still do. forget takes it away again.
func (inv *Invocation) OnAbort(undo func()) (forget func()) {
	e := &inv.ending
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cleanup = append(e.cleanup, &undo)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.cleanup = slices.DeleteFunc(e.cleanup, func(one *func()) bool { return one == &undo })
	}
}

// endBySignal ends the process by a signal's default action, unless the run is over anyway.
func (inv *Invocation) endBySignal(sig os.Signal) {
	inv.ending.lock.Lock()
	if inv.ending.over {
		inv.ending.lock.Unlock()
		return
	}
	inv.ending.abort()
	raise(sig)
}

func (e *ending) abort() {
	e.mu.Lock()
	undo := e.cleanup
	e.cleanup = nil
	e.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := len(undo) - 1; i >= 0; i-- {
			(*undo[i])()
		}
	}()
	select {
	case <-done:
	case <-time.After(abortLimit):
	}
}

// end closes a run whose Run has returned. It does not return if a signal is ending the process.
func (inv *Invocation) end() {
	inv.ending.lock.Lock()
	inv.ending.over = true
	inv.ending.lock.Unlock()
	inv.unwatchSignals()
	inv.downstream.release()
}
