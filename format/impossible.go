package format

import (
	"errors"
	"fmt"
	"math"
)

// A stream with correct checksums may still have impossible values. A Reader treats such an event as damage, and so
// does package check.

const futureTime = "an event has a time after its own"

// unknownValue returns the part of a value that is known. Unless a newer version wrote the value, it is also a
// fault.
func (d *eventDecoder) unknownValue(t FieldType, v uint64) uint64 {
	switch t {
	case FieldTask, FieldStack, FieldEventType, FieldWait:
		d.fault = "an event names an id of more than 32 bits"
		return 0
	case FieldState:
		if !d.newer {
			d.fault = "an event has an unknown state"
		}
		return v & uint64(KnownStates())
	case FieldCause:
		if !d.newer {
			d.fault = "a loss has an unknown cause"
		}
	case FieldKind:
		if !d.newer {
			d.fault = "a loss is of an unknown kind"
		}
	}
	return 0
}

// Problem returns what is impossible in a session; "": nothing.
func (s *Session) Problem() string {
	switch {
	case s.Close != 0 && s.Close < s.Open:
		return "the window closes before it opens"
	case s.WindowEnd() != 0 && s.WindowEnd() < s.WindowStart():
		return "the range that was kept ends before it begins"
	case s.Continues && s.Epoch == 0:
		return "the section continues a session, but as its first epoch"
	}
	return ""
}

// parsePossibleSession is [ParseHeaderPayload], but an impossible session is an error too.
func parsePossibleSession(payload []byte) (Version, *Session, error) {
	version, session, err := ParseHeaderPayload(payload)
	if err != nil {
		return version, nil, err
	}
	if problem := session.Problem(); problem != "" {
		return version, nil, errors.New(problem)
	}
	return version, session, nil
}

// Problem returns what is impossible in a frame of a module, which may be nil; "": nothing.
func (f *Frame) Problem(m *Module) string {
	kind, base := ModuleKind(m.GetKind()), m.GetBase()
	p := partOf(kind)
	switch {
	case kind == ModuleKind_MODULE_FILE && f.Offset > math.MaxInt64:
		return fmt.Sprintf("frame %d has offset %#x, which no file is long enough for", f.Id, f.Offset)
	case p == partKernel && f.Offset+base < base:
		return fmt.Sprintf("frame %d has offset %#x from base %#x, which is no address", f.Id, f.Offset, base)
	case kind == ModuleKind_MODULE_VDSO && f.Offset > math.MaxUint32:
		return fmt.Sprintf("frame %d has offset %#x, which is beyond the end of the vDSO", f.Id, f.Offset)
	case len(f.Lines) == 0 && f.FunctionOffset != 0:
		return fmt.Sprintf("frame %d is %d bytes into a function, but has no function", f.Id, f.FunctionOffset)
	case p != partEither && f.FunctionOffset > f.Offset:
		return fmt.Sprintf("frame %d has offset %#x, but is %d bytes into its function", f.Id, f.Offset, f.FunctionOffset)
	case f.Caller && f.Offset == 0 && p != partKernel:
		return fmt.Sprintf("frame %d is a return address at offset 0, with no code before it", f.Id)
	case f.Loop != 0 && p != partEither && !m.IsInterpreted():
		return fmt.Sprintf("frame %d stands in place of frame %d, but is none of an interpreter", f.Id, f.Loop)
	}
	return ""
}

// Problem returns what is impossible in a stack; "": nothing. module returns the module of a frame by its id; nil: not known.
func (s *Stack) Problem(module func(frame uint32) *Module) string {
	return s.ProblemOf(func(frame uint32) ModuleKind { return ModuleKind(module(frame).GetKind()) })
}

// ProblemOf is [Stack.Problem] for callers that keep no more than the kinds of modules.
func (s *Stack) ProblemOf(moduleKind func(frame uint32) ModuleKind) string {
	user := len(s.Frames) - int(s.KernelFrames)
	switch {
	case user < 0:
		return fmt.Sprintf("stack %d has %d frames, but claims %d kernel frames", s.Id, len(s.Frames), s.KernelFrames)
	case len(s.Frames) == 0 && !s.Cut:
		return fmt.Sprintf("stack %d has no frames", s.Id)
	}
	for i, frame := range s.Frames {
		if frame == 0 {
			return fmt.Sprintf("stack %d lists frame 0, which does not exist", s.Id)
		}
		should := partUser
		if i >= user {
			should = partKernel
		}
		if is := partOf(moduleKind(frame)); is != partEither && is != should {
			return fmt.Sprintf("frame %d of stack %d is among the %s frames, but is a %s frame", frame, s.Id, should, is)
		}
	}
	return ""
}

// part is the part of a stack that a frame belongs to.
type part uint8

const (
	partEither part = iota // not known
	partUser
	partKernel
)

func (p part) String() string { return [...]string{"either", "user", "kernel"}[p] }

// partOf returns the part of a stack that frames of a kind of module belong to.
func partOf(kind ModuleKind) part {
	switch kind {
	case ModuleKind_MODULE_KERNEL, ModuleKind_MODULE_KERNEL_MODULE:
		return partKernel
	case ModuleKind_MODULE_FILE, ModuleKind_MODULE_VDSO, ModuleKind_MODULE_JIT, ModuleKind_MODULE_ANON, ModuleKind_MODULE_PYTHON, ModuleKind_MODULE_PYTHON_AWAITING,
		ModuleKind_MODULE_RUBY:
		return partUser
	}
	return partEither
}
