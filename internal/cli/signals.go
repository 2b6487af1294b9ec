package cli

import (
	"os"
	"os/signal"
	"sync"
)

// signals says what SIGINT, SIGTERM and SIGHUP do. By default the first one ends the tool. A tool that reads a pipe
// counts the first and goes on to the end of its input, because whoever writes the pipe was interrupted too; the
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

// tolerated counts a signal and says whether the tool goes on.
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

// HandleStop says that the tool ends in order when Stopped is closed. A second signal ends the process by that signal.
func (inv *Invocation) HandleStop() { inv.tolerateOne() }

// ReadsPipe says that the tool reads a pipe: after the first signal it goes on to the end of its input. OpenInputs calls
// it where the input is one.
func (inv *Invocation) ReadsPipe() { inv.tolerateOne() }

func (inv *Invocation) tolerateOne() {
	inv.signals.mu.Lock()
	inv.signals.tolerate = true
	inv.signals.mu.Unlock()
}
