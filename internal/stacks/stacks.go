// Package stacks names the functions of call stacks, and detects stacks that are incomplete.
package stacks

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// Frame is a frame for [LooksCut].
type Frame struct {
	Function []byte // empty: its name is not known
	Placed   bool   // it is in a module
}

// FrameOf returns a frame for [LooksCut]; f is nil if its definition is missing.
func FrameOf(f *format.Frame) Frame {
	switch {
	case f == nil:
		return Frame{Placed: true}
	case len(f.Lines) == 0:
		return Frame{Placed: f.Module != 0}
	}
	return Frame{Function: f.Lines[len(f.Lines)-1].GetFunction(), Placed: true}
}

// End returns why the user part of a stack ends; a reason that this program does not know is [format.StackEnd_STACK_END_UNKNOWN].
func End(s *format.Stack) format.StackEnd {
	if s.UserEnd >= format.StackEnds {
		return format.StackEnd_STACK_END_UNKNOWN
	}
	return format.StackEnd(s.UserEnd)
}

// MayBeWhole reports whether only the name of its outermost function shows whether a stack is whole: it ended where a table was not
// loaded, or where nothing leads on, such as at the first instruction of a program.
func MayBeWhole(end format.StackEnd) bool {
	return end == format.StackEnd_STACK_END_NO_TABLE || end == format.StackEnd_STACK_END_NO_FRAME
}

// IsWholeByName reports whether a stack is whole because threads start in its outermost function.
func IsWholeByName(end format.StackEnd, outermost []byte) bool {
	return MayBeWhole(end) && startsThread(outermost)
}

// Settled returns the stack, or a whole one if it is that by name.
func Settled(s *format.Stack, outermost []byte) *format.Stack {
	if !IsWholeByName(End(s), outermost) {
		return s
	}
	whole := proto.CloneOf(s)
	whole.UserEnd = uint32(format.StackEnd_STACK_END_ROOT)
	whole.Cut = s.KernelFrames >= takenFrames-maxRemoved
	return whole
}

// EndsEarly reports whether the user part of a stack ends before the function with which its thread began, though it is not deeper than
// what is taken. Where that was not recorded, it does if it looks so. frames are those of the deeper part.
func EndsEarly(end format.StackEnd, isCut bool, frames int, looksCut bool) bool {
	if end == format.StackEnd_STACK_END_UNKNOWN || end >= format.StackEnds {
		return looksCut || MissesRoot(isCut, frames)
	}
	return format.AllStackEnds()[end].IsEarly
}

// MissesRoot reports whether a stack that is marked as cut ends before the function with which its thread began, though it is not
// as deep as what is taken. frames are those of its deeper part.
func MissesRoot(isCut bool, frames int) bool { return isCut && frames < takenFrames }

// takenFrames is the most that the recorder takes of the user's and of the kernel's part: STACK_FRAMES in bpf/records.h.
const takenFrames = 127

// maxRemoved is more frames of the recorder's own programs than a kernel stack has, which the recorder removes.
const maxRemoved = 16

// LooksCut reports whether the user part of a stack seems to end before the function with which its thread began: code
// without frame pointers ends a walk after a frame or two. depth is its number of frames, 0 if there is no user part;
// frame returns them, the outermost caller first. ends is the outermost frame that counts.
//
// Frames beyond the last caller in a module do not count: they are values that code without frame pointers keeps in the
// register. Where no frame is in a module, mappings are missing, and all frames count.
//
// Deeper stacks count as complete, because a walk that goes wrong does so at once.
func LooksCut(depth int, frame func(int) Frame) (ends int, cut bool) {
	for ends < depth && !frame(ends).Placed {
		ends++
	}
	if ends == depth {
		ends = 0
	}
	const shallow = 2
	callers := depth - ends
	return ends, callers > 0 && callers <= shallow && !startsThread(frame(ends).Function)
}

// OutermostNative returns the outermost frame that the walk of a stack has reached, from the frame ends on: an interpreter's frames further out
// come from the interpreter. If there are no others it is ends.
func OutermostNative(ends, depth int, isInterpreted func(int) bool) int {
	for i := ends; i < depth; i++ {
		if !isInterpreted(i) {
			return i
		}
	}
	return ends
}

// startsThread reports whether threads, or separate stacks, begin in a function. Versions (@@GLIBC_2.34) and the ABI
// that Go appends (.abi0) do not count.
func startsThread(function []byte) bool {
	name, _, _ := bytes.Cut(function, []byte("@"))
	name = bytes.TrimSuffix(name, []byte(".abi0"))
	if slices.Contains(startFunctions(), string(name)) || startsRust(name) {
		return true
	}
	return slices.ContainsFunc(startPrefixes(), func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) })
}

func startFunctions() []string {
	return []string{
		"_start", "_start_c", "_dl_start", "_dl_start_user", "__libc_start_call_main", // a program
		"start_thread", "thread_start", "clone", "clone3", // a thread
		"runtime.mcall", "runtime.systemstack", // Go code on the thread's own stack
	}
}

// startPrefixes returns prefixes of names that differ between versions and machines.
func startPrefixes() []string {
	return []string{
		"__libc_start_main", "__clone", "__GI___clone", "runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_",
	}
}

// startsRust reports whether a function is one of Rust's runtime, which was built without frame pointers: a walk ends there. The functions
// have moved from module to module, and how they are written depends on the mangling: with type arguments, with a type
// in angle brackets, and with an underscore less.
func startsRust(name []byte) bool {
	name = bytes.TrimPrefix(name, []byte("<"))
	if bytes.HasPrefix(name, []byte("std::rt::lang_start")) {
		return true
	}
	plain, _, _ := bytes.Cut(name, []byte("::<"))
	return bytes.HasPrefix(plain, []byte("std::sys")) &&
		(bytes.HasSuffix(plain, []byte("::thread_start")) || bytes.HasSuffix(plain, []byte("_rust_begin_short_backtrace")))
}
