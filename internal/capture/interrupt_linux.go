package capture

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/proc"
	"wprof/internal/symbol"
)

// interruptible stops naming when stop is closed, or when the names of one module take too long. It leaves out modules whose
// file system does not respond. A goroutine of its own looks up the names of each module, because it may have to be abandoned:
// a file may be large, and its file system may never respond.
type interruptible struct {
	begin  func() source // called for the first module, and again after a hung one: an abandoned goroutine keeps its namer
	stop   <-chan struct{}
	limit  time.Duration // of one module
	poll   time.Duration // interval between checks of the thread that reads symbols
	names  source        // nil: begin has to be called
	hung   []string      // paths of the modules that were left out
	failed error         // why there are no more names
}

// source is where names and lines come from.
type source interface {
	assemble.Namer
	assemble.LineFinder
}

const (
	// namesLimit is for file systems that respond slowly: naming from the largest programs takes a second.
	namesLimit = time.Minute
	// A thread that sleeps for hungPolls polls without a break counts as hung: a slow disk completes each read sooner.
	hungPoll  = 500 * time.Millisecond
	hungPolls = 10
	// maxHung is how many modules may hang before naming ends.
	maxHung = 4
)

var (
	errInterrupted = errors.New("naming of functions was ended by a signal: the rest have no names; wprof-symbolize can name them")
	errHung        = errors.New("its file system does not respond")
)

// Names implements assemble.Namer.
func (n *interruptible) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	at = slices.Clone(at)
	found := make([]symbol.Name, len(at))
	done, err := n.look(m, func(names source) error { return names.Names(m, at, found) })
	if done {
		copy(out, found)
	}
	return err
}

// Lines implements assemble.LineFinder.
func (n *interruptible) Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line)) {
	at = slices.Clone(at)
	found := make([]*symbol.Line, len(at))
	done, _ := n.look(m, func(names source) error { // Names reports what ends it
		names.Lines(m, at, func(i int, line *symbol.Line) { found[i] = line })
		return nil
	})
	if !done {
		return
	}
	for i, line := range found {
		if line != nil {
			visit(i, line)
		}
	}
}

// look runs a look-up in a module. It returns false if that was abandoned, or not begun.
func (n *interruptible) look(m *format.Module, lookUp func(source) error) (bool, error) {
	if n.failed != nil {
		return false, n.failed
	}
	if slices.Contains(n.hung, string(m.Path)) {
		return false, errHung
	}
	if n.names == nil {
		n.names = n.begin()
	}
	done, thread := make(chan error, 1), make(chan int, 1)
	go func(names source) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		done <- lookUp(names)
	}(n.names)
	late := time.NewTimer(n.limit)
	defer late.Stop()
	polls := time.NewTicker(n.poll)
	defer polls.Stop()
	sleeper := sleeper{tid: <-thread}
	for {
		select {
		case err := <-done:
			return true, err
		case <-n.stop:
			n.failed = errInterrupted
		case <-late.C:
			n.failed = fmt.Errorf("naming of functions was ended, because the symbols of %q were not read within %s: the rest have no names; check its file system", m.Path, n.limit)
		case <-polls.C:
			if !sleeper.isHung() {
				continue
			}
			n.names, n.hung = nil, append(n.hung, string(m.Path))
			if len(n.hung) < maxHung {
				return false, errHung
			}
			n.failed = fmt.Errorf("naming of functions was ended, because %d files could not be read, %q the last: the rest have no names; check their file systems", maxHung, m.Path)
		}
		return false, n.failed
	}
}

// sleeper is a thread that may hang.
type sleeper struct {
	tid    int
	sleeps uint64
	polls  int // in a row that found it in the same sleep
}

// isHung polls the thread, and reports whether it has slept for hungPolls. Polls are counted instead of time, because this
// process may be stopped meanwhile.
func (s *sleeper) isHung() bool {
	sleeps, asleep, err := proc.Sleeps(s.tid)
	if err != nil || !asleep || sleeps != s.sleeps {
		s.sleeps, s.polls = sleeps, 0
		return false
	}
	s.polls++
	return s.polls >= hungPolls
}
