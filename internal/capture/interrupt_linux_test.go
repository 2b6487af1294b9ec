package capture

import (
	"errors"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/spool"
)

// slowNames names what it is asked for, but never returns for a module without a path.
type slowNames struct{ asked chan string }

func (s slowNames) Names(m *format.Module, at []spool.Address, out []spool.Name) error {
	s.asked <- string(m.Path)
	if len(m.Path) == 0 {
		select {}
	}
	for i := range at {
		out[i] = spool.Name{Function: string(m.Path), OK: true}
	}
	return nil
}

func TestSignalLeavesNamesOut(t *testing.T) {
	stop := make(chan struct{})
	slow := slowNames{make(chan string, 10)}
	n := &interruptible{names: slow, stop: stop, limit: time.Hour}
	at, out := make([]spool.Address, 2), make([]spool.Name, 2)
	fast := &format.Module{Path: []byte("fast")}
	if err := n.Names(fast, at, out); err != nil || out[1].Function != "fast" {
		t.Fatalf("%v, %v", out, err)
	}
	go func() {
		<-slow.asked
		<-slow.asked
		close(stop)
	}()
	if err := n.Names(&format.Module{}, at, out); !errors.Is(err, errInterrupted) {
		t.Errorf("names that take for ever: %v", err)
	}
	if err := n.Names(fast, at, out); !errors.Is(err, errInterrupted) || len(slow.asked) > 0 {
		t.Errorf("after the signal: %v, and %d more modules were looked at", err, len(slow.asked))
	}
}

// TestFilesThatAreNeverReadLeaveNamesOut: without a signal, too, the recording is written.
func TestFilesThatAreNeverReadLeaveNamesOut(t *testing.T) {
	slow := slowNames{make(chan string, 10)}
	n := &interruptible{names: slow, limit: 10 * time.Millisecond}
	at, out := make([]spool.Address, 2), make([]spool.Name, 2)
	if err := n.Names(&format.Module{}, at, out); err == nil || !strings.Contains(err.Error(), "does its file system answer?") {
		t.Errorf("names that take for ever: %v", err)
	}
	if err := n.Names(&format.Module{Path: []byte("fast")}, at, out); !errors.Is(err, n.failed) || len(slow.asked) != 1 {
		t.Errorf("afterwards: %v, and %d modules were looked at", err, len(slow.asked))
	}
}
