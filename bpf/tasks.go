//go:build linux

package bpf

import (
	"fmt"
	"io"
	"runtime"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// TaskSlice is the size of the buffer for [TaskList.Read]: the kernel fills this much at once, 315 threads, which takes
// 0.1 to 0.4 ms.
const TaskSlice = 32 << 10

// TaskList is a list of all live threads that is read in slices. Threads that begin or end meanwhile may be in it or not; they
// are in the records of the kernel programs.
type TaskList struct {
	tracer *Tracer
	list   io.ReadCloser
}

// ListTasks begins a list of all live threads. The next one can begin when it is closed.
func (t *Tracer) ListTasks() (*TaskList, error) { return t.list(t.tasks) }

func (t *Tracer) list(iterator *link.Iter) (*TaskList, error) {
	t.reading.Lock()
	list, err := iterator.Open()
	if err != nil {
		t.reading.Unlock()
		return nil, fmt.Errorf("open the task iterator: %w", err)
	}
	return &TaskList{t, list}, nil
}

// Read reads the next slice, whole struct rec_tasks back to back. After the last one it returns io.EOF.
func (l *TaskList) Read(b []byte) (int, error) {
	// The iterator reads the scheduler's clock of the CPU that it runs on, and yielding updates it there.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0); errno != 0 {
		return 0, fmt.Errorf("yield: %w", errno)
	}
	return l.list.Read(b)
}

// Close ends the list; it may be called before its last slice.
func (l *TaskList) Close() error {
	defer l.tracer.reading.Unlock()
	return l.list.Close()
}

// ReadTasks writes a struct rec_task for each live thread, back to back.
func (t *Tracer) ReadTasks(w io.Writer) error { return t.readIterator(t.tasks, w) }

func (t *Tracer) readIterator(iterator *link.Iter, w io.Writer) error {
	list, err := t.list(iterator)
	if err != nil {
		return err
	}
	defer list.Close()
	if _, err := io.CopyBuffer(w, list, make([]byte, TaskSlice)); err != nil {
		return fmt.Errorf("read the tasks: %w", err)
	}
	return nil
}
