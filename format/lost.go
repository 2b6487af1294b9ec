package format

// Placeholders that a filter writes for definitions that were lost to damage and of which only the id is known. Without
// them, readers of the filter's output would report damage.

// LostTask stands for a thread. Its tid is one that no thread has, and differs from those of other lost tasks.
func LostTask(id TaskID) *Task {
	return &Task{
		Id: uint32(id), Tid: -1, Start: -int64(id), Comm: []byte("(lost)"), ProcessComm: []byte("(lost)"),
		Flags: uint32(TaskFlag_TASK_FLAG_UNKNOWN),
	}
}

// IsLost reports whether nothing but an id is known of a thread.
func (t *Task) IsLost() bool { return t == nil || t.Tid < 0 }

// IsIdle reports whether it is the idle thread. Those of all CPUs share one definition.
func (t *Task) IsIdle() bool {
	return t != nil && (t.Tid == 0 || t.Flags&uint32(TaskFlag_TASK_FLAG_IDLE) != 0)
}

// LostStack stands for a stack: it has no frames.
func LostStack(id StackID) *Stack { return &Stack{Id: uint32(id), Cut: true} }

// IsLost reports whether nothing but an id is known of a stack. It is shown as "(lost)".
func (s *Stack) IsLost() bool { return s == nil || len(s.Frames) == 0 }

// LostFrame stands for a frame: in no module, at 0, named "(lost)".
func LostFrame(id uint32) *Frame {
	return &Frame{Id: id, Lines: []*Line{{Function: []byte("(lost)")}}}
}

// IsLost reports whether nothing but an id is known of a frame.
func (f *Frame) IsLost() bool {
	return f == nil || f.Module == 0 && f.Offset == 0 && len(f.Lines) == 1 && string(f.Lines[0].GetFunction()) == "(lost)"
}

// LostModule stands for a module. What the offsets of its frames count from is not known.
func LostModule(id uint32) *Module { return &Module{Id: id, Path: []byte("(lost)")} }

// IsLost reports whether nothing but an id is known of a module.
func (m *Module) IsLost() bool {
	return m == nil || m.Kind == uint32(ModuleKind_MODULE_UNKNOWN) && string(m.Path) == "(lost)"
}

// LostCommand stands for a command line: it has no words.
func LostCommand(id uint32) *Command { return &Command{Id: id, Cut: true} }

// LostEventType stands for an event type: it has no name and no fields.
func LostEventType(id uint32) *EventType { return &EventType{Id: id} }

// LostText stands for a text.
func LostText(id uint32) *Text { return &Text{Id: id, Text: []byte("(lost)")} }

// LostWait stands for what a thread was waiting for.
func LostWait(id WaitID) *Wait { return &Wait{Id: uint32(id), Number: -1} }

// IsLost reports whether nothing but an id is known of an event type.
func (t *EventType) IsLost() bool { return t == nil || len(t.Name) == 0 }

// IsLost reports whether nothing but an id is known of a command line.
func (c *Command) IsLost() bool { return c == nil || len(c.Args) == 0 && c.Cut }
