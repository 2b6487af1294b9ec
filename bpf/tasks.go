//go:build linux

package bpf

import (
	"fmt"
	"io"
	"runtime"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// ReadTasks writes a struct rec_task for each live thread, back to back. Threads that begin or end meanwhile may be
// among them or not; the programs tell of those.
func (t *Tracer) ReadTasks(w io.Writer) error { return t.readIterator(t.tasks, w) }

func (t *Tracer) readIterator(iterator *link.Iter, w io.Writer) error {
	t.reading.Lock()
	defer t.reading.Unlock()
	// The iterator learns the scheduler's clock from the CPU that it runs on, and yielding has it updated there.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, err := iterator.Open()
	if err != nil {
		return fmt.Errorf("open the task iterator: %w", err)
	}
	defer r.Close()
	if _, _, errno := unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0); errno != 0 {
		return fmt.Errorf("yield: %w", errno)
	}
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("read the tasks: %w", err)
	}
	return nil
}
