package python

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"

	"wprof/internal/symbol"
)

// Tasks is where the module _asyncio keeps what a walk over tasks reads: offsets in bytes.
type Tasks struct {
	Running   uint64 // in a thread: the task that it runs
	Coroutine uint64 // in a task
	Name      uint64 // in a task
	AwaitedBy uint64 // in a task or future: what awaits it, a task, a future, or a set of them
	IsTask    uint64 // in a task or future: a byte
	IsSet     uint64 // in a task or future: a byte, whether AwaitedBy is a set
}

const (
	tasksSection = ".AsyncioDebug"
	tasksCount   = 13 // numbers of 8 bytes in it: struct _Py_AsyncioModuleDebugOffsets
)

// ReadTasks returns what a file says that has the module _asyncio, and no interpreter; [ErrNone]: it is none, or one of a release before 3.14.
func ReadTasks(r io.ReaderAt) (in *Interpreter, err error) {
	defer symbol.RecoverTo(&err, "read Python's module _asyncio")
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read the ELF header: %w", err)
	}
	if tasks := tasksOf(f); tasks != nil {
		return &Interpreter{Tasks: tasks}, nil
	}
	return nil, ErrNone
}

// tasksOf returns what a file says of tasks; nil: nothing that can be used.
func tasksOf(f *elf.File) *Tasks {
	s := f.Section(tasksSection)
	if s == nil || f.Machine != machine {
		return nil
	}
	b, err := sectionBytes(s)
	if err != nil || len(b) < 8*tasksCount {
		return nil
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	const task, thread = 0, 9 // the sizes of structures, which are before their fields
	t := &Tasks{Name: at(1), AwaitedBy: at(2), IsTask: at(3), IsSet: at(4), Coroutine: at(5), Running: at(11)}
	last := max(t.Name, t.AwaitedBy, t.IsTask, t.IsSet, t.Coroutine)
	if at(task) > maxOther || at(thread) > maxDebugOffset || last >= at(task) || t.Running >= at(thread) {
		return nil
	}
	return t
}
