package records

import (
	"iter"
	"math"
	"strconv"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
	"wprof/internal/symbol"
)

// Stack is one stack: where in the code a thread was.
type Stack struct {
	ID     int64 // unique in all sections
	Frames []Frame
	Cut    bool // it was deeper than the recorder takes
}

// Place is where the code of a frame runs.
type Place uint8

const (
	User Place = iota
	Kernel
	Python
	Awaiting // a coroutine of Python that does not run
	Ruby
)

// Frame is one function on a stack. Strings are valid UTF-8.
type Frame struct {
	Place    Place
	Function string // "": not known
	Offset   uint64 // bytes from the function's start; for a frame without a name, from the module's
	Inlined  bool   // into the previous frame
	File     string // "": not known
	Line     uint32 // 0: not known
	Module   string // path of the file, [kernel], …; "": not known
}

// maxFrames bounds the definitions of frames whose functions are kept. Most frames are in many stacks.
const maxFrames = 1 << 15

// Unknown is written for an unknown name.
const Unknown = "<unknown>"

// AppendName appends the frame as the schema writes it: "[U] main+0x1a".
func (f *Frame) AppendName(b []byte) []byte {
	switch f.Place {
	case Kernel:
		b = append(b, "[K] "...)
	case Python:
		b = append(b, "[Py] "...)
	case Awaiting:
		b = append(b, "[Await] "...)
	case Ruby:
		b = append(b, "[Rb] "...)
	default:
		b = append(b, "[U] "...)
	}
	switch {
	case f.Function == "":
		return append(b, Unknown...)
	case f.Inlined:
		return append(append(b, f.Function...), " (inlined)"...)
	}
	b = append(b, f.Function...)
	if f.Offset != 0 && f.Place != Python && f.Place != Awaiting && f.Place != Ruby {
		b = strconv.AppendUint(append(b, "+0x"...), f.Offset, 16)
	}
	return b
}

// AppendSource appends "path:line", or nothing.
func (f *Frame) AppendSource(b []byte) []byte {
	if f.File == "" {
		return b
	}
	b = append(b, f.File...)
	if f.Line != 0 {
		b = strconv.AppendUint(append(b, ':'), uint64(f.Line), 10)
	}
	return b
}

// Stacks builds stacks from the definitions of a stream, section by section.
type Stacks struct {
	r      *format.Reader
	texts  Texts
	base   int64 // of the current section's ids
	last   int64 // highest id so far
	frames *bounded.Map[uint32, []Frame]
	stack  Stack
	python stacks.PythonView
	ids    []uint32 // reused
	onDone []func()
}

// NewStacks returns the Stacks of a stream. It must be called before the stream is read.
func NewStacks(r *format.Reader, python stacks.PythonView) *Stacks {
	s := &Stacks{r: r, python: python, frames: bounded.NewMap[uint32, []Frame](maxFrames)}
	r.OnSectionDone(s.endSection)
	return s
}

// OnSectionDone sets a function to call when all stacks of a section have been read: before the next section, and at the end.
func (s *Stacks) OnSectionDone(f func()) { s.onDone = append(s.onDone, f) }

// endSection makes the ids of the next section follow those of this one.
func (s *Stacks) endSection() {
	for _, f := range s.onDone {
		f()
	}
	for id := range s.r.StackIDs() {
		s.last = max(s.last, s.base+int64(id))
	}
	s.base = s.last
	s.frames.Clear()
}

// ID returns the id of a stack of the current section; 0 if it is not defined.
func (s *Stacks) ID(id format.StackID) int64 {
	if id == 0 || s.r.Stack(id) == nil {
		return 0
	}
	return s.base + int64(id)
}

// All returns the stacks of the current section so far. Each is valid until the next one.
func (s *Stacks) All() iter.Seq[*Stack] {
	return func(yield func(*Stack) bool) {
		for id := range s.r.StackIDs() {
			if !yield(s.of(s.r.Stack(format.StackID(id)))) {
				return
			}
		}
	}
}

// Get returns the stack with the id in a record; nil if it is of another section than the current one. It is valid until
// the next one.
func (s *Stacks) Get(id int64) *Stack {
	if id <= s.base || id > s.base+math.MaxUint32 {
		return nil
	}
	d := s.r.Stack(format.StackID(id - s.base))
	if d == nil {
		return nil
	}
	return s.of(d)
}

func (s *Stacks) of(d *format.Stack) *Stack {
	s.stack = Stack{ID: s.base + int64(d.Id), Frames: s.stack.Frames[:0], Cut: d.Cut}
	ids, inKernel := s.python.Frames(s.ids, d, s.r)
	if s.python != stacks.PythonCombined {
		s.ids = ids
	}
	if len(ids) > stacks.MaxFrames {
		ids, s.stack.Cut = ids[len(ids)-stacks.MaxFrames:], true
	}
	kernel := len(ids) - min(inKernel, len(ids))
	for i, id := range ids {
		for _, f := range s.framesAt(id) {
			if i >= kernel {
				f.Place = Kernel
			}
			s.stack.Frames = append(s.stack.Frames, f)
		}
	}
	return &s.stack
}

// framesAt returns the functions at one place in the code: the function there, then those inlined into it.
func (s *Stacks) framesAt(id uint32) []Frame {
	if known, found := s.frames.Get(id); found {
		return known
	}
	frames := s.describe(s.r.Frame(id))
	s.frames.Put(id, frames)
	return frames
}

func (s *Stacks) describe(f *format.Frame) []Frame {
	if f == nil {
		return []Frame{{}}
	}
	var module string
	var place Place
	if m := s.r.Module(f.Module); m != nil {
		module = s.name(m.Path)
		switch {
		case m.IsAwaiting():
			place = Awaiting
		case m.IsRuby():
			place = Ruby
		case m.IsPython():
			place = Python
		}
	}
	lines := f.Lines[:min(len(f.Lines), stacks.MaxInlined)]
	if len(lines) == 0 {
		return []Frame{{Place: place, Offset: f.Offset, Module: module}}
	}
	all := make([]Frame, 0, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		l := lines[i]
		at := Frame{
			Place: place, Function: s.function(l.Function), Inlined: i < len(lines)-1, File: s.name(l.File), Line: l.Line, Module: module,
		}
		if !at.Inlined {
			at.Offset = f.FunctionOffset
		}
		all = append(all, at)
	}
	return all
}

func (s *Stacks) function(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	return s.name([]byte(symbol.Demangle(string(raw), symbol.DefaultForm)))
}

// name bounds a name, so that a hostile one does not cause megabytes for each stack.
func (s *Stacks) name(raw []byte) string { return s.texts.Clip(raw) }
