package capture

import (
	"errors"
	"slices"

	"wprof/format"
	"wprof/internal/spool"
)

// interruptible gives no more names once it is told to stop. The names are looked for in a goroutine, which is then left
// behind: a file may be large, and its file system may never answer.
type interruptible struct {
	names   spool.Namer
	stop    <-chan struct{}
	stopped bool
}

var errInterrupted = errors.New("names were left out because of a signal")

// Names implements spool.Namer.
func (n *interruptible) Names(m *format.Module, at []spool.Address, out []spool.Name) error {
	if n.stopped {
		return errInterrupted
	}
	at = slices.Clone(at)
	found := make([]spool.Name, len(at))
	done := make(chan error, 1)
	go func() { done <- n.names.Names(m, at, found) }()
	select {
	case err := <-done:
		copy(out, found)
		return err
	case <-n.stop:
		n.stopped = true
		return errInterrupted
	}
}
