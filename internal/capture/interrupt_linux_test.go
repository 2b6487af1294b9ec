package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/symbol"
)

// slowNames names every address, but never returns for a module without a path.
type slowNames struct{ requests chan string }

func (s slowNames) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	s.requests <- string(m.Path)
	if len(m.Path) == 0 {
		select {}
	}
	for i := range at {
		out[i] = symbol.Name{Function: string(m.Path), OK: true}
	}
	return nil
}

func (s slowNames) Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line)) {
	s.requests <- string(m.Path)
	if len(m.Path) == 0 {
		select {}
	}
	visit(len(at)-1, &symbol.Line{File: string(m.Path)})
}

func (s slowNames) interruptible(limit, poll time.Duration) *interruptible {
	return &interruptible{begin: func() source { return s }, limit: limit, poll: poll}
}

func TestSignalLeavesNamesOut(t *testing.T) {
	stop := make(chan struct{})
	slow := slowNames{make(chan string, 10)}
	n := slow.interruptible(time.Hour, time.Hour)
	n.stop = stop
	at, out := make([]symbol.Address, 2), make([]symbol.Name, 2)
	fast := &format.Module{Path: []byte("fast")}
	if err := n.Names(fast, at, out); err != nil || out[1].Function != "fast" {
		t.Fatalf("%v, %v", out, err)
	}
	go func() {
		<-slow.requests
		<-slow.requests
		close(stop)
	}()
	if err := n.Names(&format.Module{}, at, out); !errors.Is(err, errInterrupted) {
		t.Errorf("names that take forever: %v", err)
	}
	if err := n.Names(fast, at, out); !errors.Is(err, errInterrupted) || len(slow.requests) > 0 {
		t.Errorf("after the signal: %v, and %d more modules were requested", err, len(slow.requests))
	}
}

func TestSignalLeavesLinesOut(t *testing.T) {
	stop := make(chan struct{})
	slow := slowNames{make(chan string, 10)}
	n := slow.interruptible(time.Hour, time.Hour)
	n.stop = stop
	lines := func(m *format.Module) (found []string) {
		n.Lines(m, make([]symbol.Address, 2), func(i int, line *symbol.Line) { found = append(found, fmt.Sprint(i, line.File)) })
		return found
	}
	fast := &format.Module{Path: []byte("fast")}
	if got := lines(fast); !slices.Equal(got, []string{"1fast"}) {
		t.Errorf("got %q", got)
	}
	go func() {
		<-slow.requests
		<-slow.requests
		close(stop)
	}()
	if got := lines(&format.Module{}); len(got) > 0 {
		t.Errorf("lines that take forever: %q", got)
	}
	if got := lines(fast); len(got) > 0 || !errors.Is(n.failed, errInterrupted) {
		t.Errorf("after the signal: %q, %v", got, n.failed)
	}
}

// TestFilesThatAreNeverReadLeaveNamesOut: the recording is written even without a signal.
func TestFilesThatAreNeverReadLeaveNamesOut(t *testing.T) {
	slow := slowNames{make(chan string, 10)}
	n := slow.interruptible(10*time.Millisecond, time.Hour)
	at, out := make([]symbol.Address, 2), make([]symbol.Name, 2)
	if err := n.Names(&format.Module{}, at, out); err == nil || !strings.Contains(err.Error(), "check its file system") {
		t.Errorf("names that take forever: %v", err)
	}
	if err := n.Names(&format.Module{Path: []byte("fast")}, at, out); !errors.Is(err, n.failed) || len(slow.requests) != 1 {
		t.Errorf("afterwards: %v, and %d modules were requested", err, len(slow.requests))
	}
}

func TestFileThatHangsLosesItsOwnNamesOnly(t *testing.T) {
	slow := slowNames{make(chan string, 10)}
	n := slow.interruptible(time.Hour, time.Millisecond)
	at, out := make([]symbol.Address, 1), make([]symbol.Name, 1)
	for range 2 {
		if err := n.Names(&format.Module{}, at, out); !errors.Is(err, errHung) {
			t.Errorf("a file that hangs: %v", err)
		}
	}
	if err := n.Names(&format.Module{Path: []byte("fast")}, at, out); err != nil || out[0].Function != "fast" || len(slow.requests) != 2 {
		t.Errorf("afterwards: %v, %v, and %d modules were requested", err, out, len(slow.requests))
	}
}
