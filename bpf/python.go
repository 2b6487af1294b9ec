//go:build linux

package bpf

import (
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"

	"wprof/internal/python"
	"wprof/internal/ruby"
)

// Python configures the frames of Python, or of Ruby, in user stacks: see python.h. They need tables.
type Python struct {
	On   bool
	PID  int32  // the only process whose frames are taken; 0: all
	Name string // glob on the names of processes whose frames are taken; "": all
}

// Interpreter is what interpreter a file has; the zero value: none.
type Interpreter struct {
	Python *python.Interpreter
	Ruby   *ruby.Interpreter
}

// HasLoop reports whether the file has the code that executes functions; one with Python's module _asyncio may not.
func (in Interpreter) HasLoop() bool {
	return in.Ruby != nil || in.Python != nil && len(in.Python.Loops) > 0
}

// interprets reports whether frames of any interpreter are taken.
func (o *Options) interprets() bool { return o.Unwind.Python.On || o.Unwind.Ruby.On }

// Dimensions of python.h.
const (
	pythonFiles     = 64
	pythonThreads   = 4096
	pythonProcesses = 4096
	nestingLevels   = 4
)

// sizePython gives the maps their sizes: little memory if they are not needed.
func (o *Options) sizePython(spec *ebpf.CollectionSpec) {
	if !o.interprets() {
		// The programs refer to them, but what would use them is left out when they are loaded.
		for _, name := range []string{"python_stacks", "python_listings"} {
			if m := spec.Maps[name]; m != nil {
				m.ValueSize, m.Key, m.Value = 8, nil, nil
			}
		}
		return
	}
	for name, entries := range map[string]uint32{"pythons": pythonFiles, "python_threads": pythonThreads, "python_processes": pythonProcesses, "python_stacks": nestingLevels} {
		if m := spec.Maps[name]; m != nil {
			m.MaxEntries = entries
		}
	}
}

func (o *Options) setPython(spec *ebpf.CollectionSpec) error {
	if !o.interprets() {
		return nil
	}
	if err := setVariables(spec, map[string]any{"python_enabled": true}); err != nil {
		return err
	}
	for language, p := range map[string]Python{"python": o.Unwind.Python, "ruby": o.Unwind.Ruby} {
		if spec.Variables[language+"_pid"] == nil {
			continue // Ruby's frames are not walked on this machine
		}
		var name [globBytes]byte
		if copy(name[:globBytes-1], p.Name) < len(p.Name) {
			return fmt.Errorf("the name of a process of %s has more than %d bytes: %s", language, globBytes-1, p.Name)
		}
		if err := setVariables(spec, map[string]any{language + "_pid": uint32(p.PID), language + "_named": p.Name != "", language + "_name": name}); err != nil {
			return err
		}
	}
	return nil
}

// pythonFile mirrors struct python in python.h.
type pythonFile struct {
	Runtime                                                                  uint64
	Begin, End                                                               [python.MaxLoops]uint64
	Interpreters, NextInterpreter, Threads, NextThread, ThreadID, Frame      uint32
	Current                                                                  int32
	Instructions                                                             uint32
	Code, Previous, Instruction, Owner                                       uint16
	Filename, Qualname, FirstLine, Lines                                     uint16
	TextLength, TextState, ASCII, Compact, BytesLength, Bytes, FrameB, CodeB uint16
	GIL                                                                      uint32
	GILBytes, GILLocked, GILHolder, NativeID                                 uint16
	Ends, Minor                                                              uint8
	Copy, Copies                                                             uint16
	TextKind, GILInInterpreter, ByShim                                       uint8
	Suspended, SuspendedStates, Awaited                                      uint8
	Type, StackTop, CoroutineFrame, CoroutineState                           uint16
	SetUsed, SetEntries, SetMask                                             uint16
	TaskCoroutine, TaskName, AwaitedBy, IsTask, IsSet                        uint16
	RunningTask                                                              uint32
	IsRuby                                                                   uint8
	_                                                                        [3]uint8
}

// addInterpreter stores an interpreter, or Python's module _asyncio, for the programs. It returns its number, and 1; 0: there is none, or there are too many.
func (u *UnwindTables) addInterpreter(in Interpreter) (uint16, error) {
	var f pythonFile
	switch {
	case u.pythons == nil:
		return 0, nil
	case in.Python != nil:
		f = pythonFileOf(in.Python)
	case in.Ruby != nil:
		f = rubyFileOf(in.Ruby)
	default:
		return 0, nil
	}
	if i := slices.Index(u.interpreters, f); i >= 0 {
		return uint16(i) + 1, nil
	}
	number := uint32(len(u.interpreters))
	if number >= pythonFiles {
		return 0, nil
	}
	if err := u.pythons.Put(number, f); err != nil {
		return 0, fmt.Errorf("store an interpreter for the kernel programs: %w", err)
	}
	u.interpreters = append(u.interpreters, f)
	return uint16(number) + 1, nil
}

// rubyFileOf is what ruby.h uses of a file.
func rubyFileOf(in *ruby.Interpreter) pythonFile {
	l := &in.Layout
	return pythonFile{
		Runtime: in.Context, Begin: [python.MaxLoops]uint64{in.Loop.Begin}, End: [python.MaxLoops]uint64{in.Loop.End}, IsRuby: 1, Minor: uint8(l.Minor),
		Filename: uint16(l.Path), Qualname: uint16(l.Label), FirstLine: uint16(l.FirstLine), Lines: uint16(l.Lines), Bytes: uint16(l.EntryBytes),
		FrameB: uint16(l.FrameBytes), CodeB: uint16(l.CodeBytes()),
	}
}

// pythonFileOf is what python.h uses of a file.
func pythonFileOf(in *python.Interpreter) pythonFile {
	l := &in.Layout
	f := pythonFile{
		Runtime:      in.Runtime,
		Interpreters: uint32(l.Interpreters), NextInterpreter: uint32(l.NextInterpreter), Threads: uint32(l.Threads), NextThread: uint32(l.NextThread),
		ThreadID: uint32(l.ThreadID), Frame: uint32(l.Frame), Current: -1, Instructions: uint32(l.Instructions),
		Code: uint16(l.Code), Previous: uint16(l.Previous), Instruction: uint16(l.Instruction), Owner: uint16(l.Owner),
		Filename: uint16(l.Filename), Qualname: uint16(l.Qualname), FirstLine: uint16(l.FirstLine), Lines: uint16(l.Lines),
		TextLength: uint16(l.TextLength), TextState: uint16(l.TextState), ASCII: uint16(l.ASCII), Compact: uint16(l.Compact),
		BytesLength: uint16(l.BytesLength), Bytes: uint16(l.Bytes), Ends: uint8(l.Ends), Minor: uint8(l.Minor),
		Copy: uint16(l.Copy), Copies: uint16(l.Copies), TextKind: uint8(l.TextKind),
	}
	g := &l.GIL
	f.GIL, f.GILBytes, f.GILLocked, f.GILHolder, f.NativeID = uint32(g.At), uint16(g.Bytes), uint16(g.Locked), uint16(g.Holder), uint16(g.NativeID)
	if g.InInterpreter {
		f.GILInInterpreter = 1
	}
	if in.ByShim {
		f.ByShim = 1
	}
	if l.HasCurrent {
		f.Current = int32(l.Current)
	}
	f.FrameB, f.CodeB = uint16(l.FrameBytes()), uint16(l.CodeBytes())
	for i, loop := range in.Loops[:min(len(in.Loops), python.MaxLoops)] {
		f.Begin[i], f.End[i] = loop.Begin, loop.End
	}
	f.addTasks(in)
	return f
}

// addTasks adds where what awaits a task is.
func (f *pythonFile) addTasks(in *python.Interpreter) {
	a := &in.Awaiting
	f.Suspended, f.SuspendedStates, f.Awaited, f.Type, f.StackTop = a.Suspended, a.SuspendedStates, a.Awaited, uint16(a.Type), uint16(a.StackTop)
	f.CoroutineFrame, f.CoroutineState = uint16(a.CoroutineFrame), uint16(a.CoroutineState)
	f.SetUsed, f.SetEntries, f.SetMask = uint16(a.SetUsed), uint16(a.SetEntries), uint16(a.SetMask)
	if t := in.Tasks; t != nil {
		f.TaskCoroutine, f.TaskName, f.AwaitedBy, f.IsTask, f.IsSet = uint16(t.Coroutine), uint16(t.Name), uint16(t.AwaitedBy), uint16(t.IsTask), uint16(t.IsSet)
		f.RunningTask = uint32(t.Running)
	}
}

// writeListedCode writes the code objects that the iterator over blocked threads has met: see blockedpython.h.
func (t *Tracer) writeListedCode(w io.Writer) error {
	var used uint32
	if err := t.collection.Variables["python_listed"].Get(&used); err != nil || used == 0 {
		return err
	}
	listing := make([]byte, t.collection.Maps["python_listings"].ValueSize())
	if err := t.collection.Maps["python_listings"].Lookup(uint32(0), &listing); err != nil {
		return fmt.Errorf("read the code objects of blocked threads: %w", err)
	}
	_, err := w.Write(listing[:min(int(used), len(listing))])
	return err
}

// PythonCounts are statistics of walks over Python's frames: python_counts in python.h.
type PythonCounts struct {
	Stacks, Frames uint64
	Searches       uint64 // for a thread's state
	Codes          uint64 // code objects that were written
	Ns             uint64
}

// PythonCounts returns the counts since the programs were loaded.
func (t *Tracer) PythonCounts() (c PythonCounts, err error) {
	if err := t.collection.Variables["python_counts"].Get(&c); err != nil {
		return c, fmt.Errorf("read the statistics of Python's frames: %w", err)
	}
	return c, nil
}

func (c PythonCounts) String() string {
	return fmt.Sprintf("%d stacks with %d frames, %d ns each stack; %d searches for a thread, %d code objects", c.Stacks, c.Frames, c.Ns/max(c.Stacks, 1), c.Searches, c.Codes)
}
