package cli

import (
	"os"
	"sync"
	"time"
)

// abortLimit bounds the time for cleaning up before the tool dies by a signal.
const abortLimit = 2 * time.Second

// ending makes sure that a run ends in one way only. Either the tool's Run returns, or a signal or a closed pipe
// ends the process; whichever comes first locks the other out, so that errors that the clean-up causes in the running tool
// are never printed, and do not change the exit status.
type ending struct {
	once sync.Mutex // held for ever by the goroutine that ends the process
	over bool       // Run has returned

	mu      sync.Mutex
	cleanup []func()
}

// OnAbort adds a clean-up for when the process dies by a signal or a closed pipe, such as removing a temporary file. The last
// one added runs first. All together have two seconds. They run while the tool's own goroutines still do.
func (inv *Invocation) OnAbort(undo func()) {
	inv.ending.mu.Lock()
	inv.ending.cleanup = append(inv.ending.cleanup, undo)
	inv.ending.mu.Unlock()
}

// die ends the process by a signal's default action, unless the run is over anyway.
func (inv *Invocation) die(sig os.Signal) {
	inv.ending.once.Lock()
	if inv.ending.over {
		inv.ending.once.Unlock()
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
			undo[i]()
		}
	}()
	select {
	case <-done:
	case <-time.After(abortLimit):
	}
}

// end closes a run whose Run has returned. It does not return if the process is dying.
func (inv *Invocation) end() {
	inv.ending.once.Lock()
	inv.ending.over = true
	inv.ending.once.Unlock()
	inv.unwatchSignals()
	inv.downstream.release()
}
