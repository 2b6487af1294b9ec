package cli

import (
	"os"
	"os/signal"
	"sync"
	"time"
)

// signals handles SIGINT, SIGTERM and SIGHUP. By default the first one ends the tool. After it, a tool that reads a pipe
// continues to the end of its input, because the writer of the pipe was interrupted too; the
// recorder stops recording. The second one ends every tool by the signal, and so does the first SIGQUIT. The same signal twice
// at once is one: timeout(1) sends its signal to the tool, and then to the tool's process group.
type signals struct {
	incoming chan os.Signal
	stopped  chan struct{}

	mu      sync.Mutex
	first   os.Signal // nil: none has come
	at      time.Time // when the first one came
	handled bool      // the first one only closes stopped
}

func (inv *Invocation) watchSignals() {
	s := &inv.signals
	s.stopped = make(chan struct{})
	s.incoming = make(chan os.Signal, 4)
	signal.Notify(s.incoming, endingSignals()...)
	go func() {
		for sig := range s.incoming {
			if isQuit(sig) || !s.stop(sig) {
				inv.endBySignal(sig)
			}
		}
	}()
}

func (inv *Invocation) unwatchSignals() {
	signal.Stop(inv.signals.incoming)
	close(inv.signals.incoming)
}

// oneSignal is how long after the first signal the same one is no second. Nobody presses Ctrl-C twice as fast.
const oneSignal = 50 * time.Millisecond

// stop closes stopped at the first signal, and reports whether the tool continues.
func (s *signals) stop(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.handled {
		return false
	}
	if s.first != nil {
		return sig == s.first && time.Since(s.at) < oneSignal
	}
	s.first, s.at = sig, time.Now()
	close(s.stopped)
	return true
}

// Stopped is closed by the first SIGINT, SIGTERM or SIGHUP, if the tool continues after it: see [Invocation.HandleStop].
func (inv *Invocation) Stopped() <-chan struct{} { return inv.signals.stopped }

// HandleStop makes the first signal close Stopped instead of ending the process; the second one ends it. OpenInputs calls it if
// an input is a pipe: the tool then continues to the end of its input.
func (inv *Invocation) HandleStop() {
	inv.signals.mu.Lock()
	inv.signals.handled = true
	inv.signals.mu.Unlock()
}
