package cli

import (
	"os"
	"os/signal"
	"sync"
)

// signals handles SIGINT, SIGTERM and SIGHUP. By default the first one ends the tool. A tool that reads a pipe
// counts the first and continues to the end of its input, because the writer of the pipe was interrupted too; the
// recorder stops recording. The second one ends every tool by the signal, and so does the first SIGQUIT.
type signals struct {
	incoming chan os.Signal
	stopped  chan struct{}

	mu       sync.Mutex
	seen     bool
	tolerate bool // the first one only closes stopped
}

func (inv *Invocation) watchSignals() {
	s := &inv.signals
	s.stopped = make(chan struct{})
	s.incoming = make(chan os.Signal, 4)
	signal.Notify(s.incoming, endingSignals()...)
	go func() {
		for sig := range s.incoming {
			if isQuit(sig) || !s.tolerated() {
				inv.die(sig)
			}
		}
	}()
}

func (inv *Invocation) unwatchSignals() {
	signal.Stop(inv.signals.incoming)
	close(inv.signals.incoming)
}

// tolerated counts a signal and reports whether the tool continues.
func (s *signals) tolerated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen || !s.tolerate {
		return false
	}
	s.seen = true
	close(s.stopped)
	return true
}

// Stopped is closed by the first SIGINT, SIGTERM or SIGHUP, if the tool goes on after it: see [Invocation.HandleStop] and
// [Invocation.ReadsPipe].
func (inv *Invocation) Stopped() <-chan struct{} { return inv.signals.stopped }

// HandleStop declares that the tool ends by itself when Stopped is closed. A second signal ends the process by that signal.
func (inv *Invocation) HandleStop() { inv.tolerateOne() }

// ReadsPipe declares that the tool reads a pipe: after the first signal it continues to the end of its input. OpenInputs calls
// it if an input is one.
func (inv *Invocation) ReadsPipe() { inv.tolerateOne() }

func (inv *Invocation) tolerateOne() {
	inv.signals.mu.Lock()
	inv.signals.tolerate = true
	inv.signals.mu.Unlock()
}
