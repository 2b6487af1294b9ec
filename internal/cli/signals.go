package cli

import (
	"os"
	"os/signal"
	"sync"
	"time"
)

// signals says what SIGINT, SIGTERM and SIGHUP do. By default the first one ends the tool. A tool that reads a pipe
// counts the first and goes on to the end of its input, because whoever writes the pipe was interrupted too; the
// recorder stops recording. The second one ends every tool by the signal.
type signals struct {
	mu       sync.Mutex
	stopped  chan struct{}
	count    int
	tolerate bool // the first one only closes stopped
	incoming chan os.Signal
}

func (inv *Invocation) watchSignals() {
	s := &inv.signals
	s.stopped = make(chan struct{})
	s.incoming = make(chan os.Signal, 4)
	signal.Notify(s.incoming, endingSignals()...)
	go func(incoming <-chan os.Signal) {
		for sig := range incoming {
			if s.countOne() {
				continue
			}
			inv.dieBy(sig)
		}
	}(s.incoming)
}

func (inv *Invocation) unwatchSignals() {
	signal.Stop(inv.signals.incoming)
	close(inv.signals.incoming)
}

// countOne counts a signal and says whether the tool goes on.
func (s *signals) countOne() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.count > 1 || !s.tolerate {
		return false
	}
	close(s.stopped)
	return true
}

// Stopped is closed by the first signal, for tools that go on after it.
func (inv *Invocation) Stopped() <-chan struct{} { return inv.signals.stopped }

// HandleStop says that the tool ends in order when Stopped is closed.
func (inv *Invocation) HandleStop() { inv.tolerateOne() }

// ReadsPipe says that the tool reads a pipe: after the first signal it goes on to the end of its input.
func (inv *Invocation) ReadsPipe() { inv.tolerateOne() }

func (inv *Invocation) tolerateOne() {
	inv.signals.mu.Lock()
	inv.signals.tolerate = true
	inv.signals.mu.Unlock()
}

// OnAbort adds something to be undone before the tool dies by a signal, such as a temporary file.
func (inv *Invocation) OnAbort(undo func()) {
	inv.mu.Lock()
	inv.cleanup = append(inv.cleanup, undo)
	inv.mu.Unlock()
}

// abort undoes, last first, but does not wait for ever.
func (inv *Invocation) abort() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		inv.mu.Lock()
		defer inv.mu.Unlock()
		for i := len(inv.cleanup) - 1; i >= 0; i-- {
			inv.cleanup[i]()
		}
		inv.cleanup = nil
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
}

func (inv *Invocation) dieBy(sig os.Signal) {
	inv.abort()
	raise(sig)
}
