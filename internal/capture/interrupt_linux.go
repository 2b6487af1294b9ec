package capture

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"wprof/format"
	"wprof/internal/spool"
)

// interruptible stops naming when stop is closed, or when the names of one module take too long. A goroutine looks them up,
// and is abandoned then: a file may be large, and its file system may never answer.
type interruptible struct {
	names  spool.Namer
	stop   <-chan struct{}
	limit  time.Duration // of one module
	failed error         // why there are no more names
}

// namesLimit is for file systems that do not answer: naming from the largest programs takes a second.
const namesLimit = time.Minute

var errInterrupted = errors.New("naming of functions was ended by a signal: the rest have no names; wprof-symbolize can name them")

// Names implements spool.Namer.
func (n *interruptible) Names(m *format.Module, at []spool.Address, out []spool.Name) error {
	if n.failed != nil {
		return n.failed
	}
	at = slices.Clone(at)
	found := make([]spool.Name, len(at))
	done := make(chan error, 1)
	go func() { done <- n.names.Names(m, at, found) }()
	late := time.NewTimer(n.limit)
	defer late.Stop()
	select {
	case err := <-done:
		copy(out, found)
		return err
	case <-n.stop:
		n.failed = errInterrupted
	case <-late.C:
		n.failed = fmt.Errorf("naming of functions was ended, because the symbols of %q were not read within %s: the rest have no names; check its file system", m.Path, n.limit)
	}
	return n.failed
}
