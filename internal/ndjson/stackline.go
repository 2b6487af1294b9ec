package ndjson

import "wprof/internal/records"

// stackLine is a stack as it is written. The tags are the only list of its fields; doc is for the schema.
type stackLine struct {
	ID      int64    `json:"id" doc:"id in the stack_id, offcpu_stack_id and waker_stack_id of events; unique in the output"`
	Frames  []string `json:"frames" doc:"functions, outermost caller first, user frames before kernel frames: [U] name+0x1a, [K] name+0x4b, [Py] name, [Await] name for a coroutine of Python that does not run; (inlined) instead of an offset for a function that is inlined into the one before it; no offset when it is zero; <unknown> for a function without a name"`
	Srcs    []string `json:"srcs,omitempty" doc:"parallel to frames: path:line, path alone if the line is not known, or empty; absent if none is known"`
	Modules []string `json:"modules" doc:"parallel to frames: the file or kernel module that the function is in, or empty"`
}

// stackLines writes stacks. Most frames are in many of them.
type stackLines struct {
	l    *layout
	line stackLine
	text []byte
}

func (s *stackLines) append(b []byte, stack *records.Stack) ([]byte, error) {
	s.line.ID = stack.ID
	s.line.Frames, s.line.Srcs, s.line.Modules = s.line.Frames[:0], s.line.Srcs[:0], s.line.Modules[:0]
	if s.line.Frames == nil {
		s.line.Frames, s.line.Modules = []string{}, []string{}
	}
	hasSource := false
	for i := range stack.Frames {
		f := &stack.Frames[i]
		s.text = f.AppendName(s.text[:0])
		s.line.Frames = append(s.line.Frames, string(s.text))
		s.line.Modules = append(s.line.Modules, f.Module)
		s.text = f.AppendSource(s.text[:0])
		s.line.Srcs = append(s.line.Srcs, string(s.text))
		hasSource = hasSource || len(s.text) > 0
	}
	shown := s.line
	if !hasSource {
		shown.Srcs = nil
	}
	return s.l.line(b, s.l.before, &shown)
}
