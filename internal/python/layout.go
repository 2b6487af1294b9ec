package python

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
)

// Layout is where the interpreter of a release keeps what a walk over frames reads: offsets in bytes.
type Layout struct {
	Minor        int  // of version 3
	FreeThreaded bool // it has no global lock

	Interpreters    uint64 // in the runtime: the first interpreter
	NextInterpreter uint64 // in an interpreter
	Threads         uint64 // in an interpreter: its first thread
	NextThread      uint64 // in a thread
	ThreadID        uint64 // in a thread: what pthread_self() returns there
	Frame           uint64 // in a thread: its innermost frame, or what Current is in
	HasCurrent      bool
	Current         uint64 // the innermost frame

	Code        uint64 // in a frame: its code object
	Previous    uint64 // in a frame: its caller
	Instruction uint64 // in a frame: where it is, an address if Instructions is set, else what that is in FirstUnits
	Copy        uint64 // in a frame: the number of the copy of the code that it executes; 0: there are no copies
	Owner       uint64 // in a frame: a byte that Ends compares
	Ends        Ends

	Filename     uint64 // in a code object, as the following
	Qualname     uint64 // the name, where there is no qualified one
	FirstLine    uint64
	Lines        uint64 // table of lines, a bytes object
	Instructions uint64 // 0: Frame.Instruction is no address
	Copies       uint64 // where the copies are, each for a thread, that builds without the global lock make; 0: there are none

	TextLength, TextState uint64 // in a str
	TextKind              uint64 // bits in TextState below the kind of its characters
	ASCII, Compact        uint64 // in a str: its characters, if they are ASCII and if not
	BytesLength, Bytes    uint64 // in a bytes

	GIL      GIL
	Awaiting Awaiting
}

// GIL is where the state of the global lock is, and what is where in it.
type GIL struct {
	At            uint64 // in the runtime
	InInterpreter bool   // At is in an interpreter, which has a pointer to the state there
	Bytes         uint64 // of the state
	Locked        uint64 // whether a thread has it: 1
	Holder        uint64 // the thread that has it
	NativeID      uint64 // in a thread: its tid; 0: it is not there
}

// Awaiting is what a walk over the coroutines of a task that awaits reads, in releases whose tasks know what awaits them; zero: others.
type Awaiting struct {
	Type                         uint64 // in an object
	StackTop                     uint64 // in a frame: the end of its values
	CoroutineFrame               uint64 // in a coroutine
	CoroutineState               uint64 // in a coroutine, a byte
	Suspended, SuspendedStates   uint8  // the first of the states in which it awaits, and how many there are
	Awaited                      uint8  // bytes before the end of its values: what it awaits
	SetUsed, SetEntries, SetMask uint64 // in a set
}

func (a *Awaiting) largest() uint64 {
	return max(a.Type, a.StackTop, a.CoroutineFrame, a.CoroutineState, a.SetUsed, a.SetEntries, a.SetMask)
}

// Ends is how the outermost frame that a call of the interpreter's loop executes is recognised. The loop executes calls from Python to
// Python itself since 3.11.
type Ends uint8

const (
	EndsAlways     Ends = iota // each call has one frame
	EndsAtEntry                // Owner is not 0
	EndsBeforeShim             // Owner of the next frame, which is none of Python's, is OwnedByCStack or more
)

// OwnedByCStack is the first value of enum _frameowner for frames that are none of Python's.
const OwnedByCStack = 3

// FrameBytes is how much of a frame is read.
func (l *Layout) FrameBytes() uint64 {
	return roundUp(max(l.Code+8, l.Previous+8, l.Instruction+4, l.Owner+1, l.Copy+4))
}

// CodeBytes is how much of a code object is read.
func (l *Layout) CodeBytes() uint64 {
	return roundUp(max(l.Filename+8, l.Qualname+8, l.Lines+8, l.FirstLine+4, l.Copies+8))
}

func roundUp(n uint64) uint64 { return (n + 7) &^ 7 }

// layoutOf returns the layout of a release; nil: it is not known, or describes itself.
func layoutOf(version string) *Layout {
	all := layouts()
	i := slices.IndexFunc(all, func(l Layout) bool { return fmt.Sprintf("3.%d", l.Minor) == version })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// debugPlaces are the places of the numbers with which _PyRuntime begins since 3.13: struct _Py_DebugOffsets in pycore_debug_offsets.h. Each
// release adds some in between; those of cookie, version and freeThreaded stay.
type debugPlaces struct {
	minor                                                                              int
	runtimeHead, interpreterNext, threadsHead                                          int
	gilPointer, ownGIL, gilLocked, gilHolder, nativeID                                 int // ownGIL: the state that an interpreter may have itself
	threadNext, currentFrame, threadID                                                 int
	framePrevious, frameCode, frameAt, frameOwner, frameCopy                           int
	codeFilename, codeQualname, codeLines, codeFirstLine, codeInstructions, codeCopies int
	bytesSize, bytesValue, textState, textLength, textASCII                            int
	hasCopies                                                                          bool
	objectType, stackTop, coroutineFrame, coroutineState                               int // 0: tasks do not know what awaits them
	setUsed, setTable, setMask                                                         int
	suspended, suspendedStates                                                         uint8 // FRAME_SUSPENDED_YIELD_FROM of pycore_frame.h, and with _LOCKED
	awaited                                                                            uint8 // as SEND in bytecodes.c leaves the values
}

func debugLayouts() []debugPlaces {
	return []debugPlaces{
		{
			minor: 13, runtimeHead: 5, interpreterNext: 8, threadsHead: 9, threadNext: 21, currentFrame: 23, threadID: 24,
			gilPointer: 14, ownGIL: 15, gilLocked: 17, gilHolder: 18, nativeID: 25,
			framePrevious: 29, frameCode: 30, frameAt: 31, frameOwner: 33,
			codeFilename: 35, codeQualname: 37, codeLines: 38, codeFirstLine: 39, codeInstructions: 43,
			bytesSize: 65, bytesValue: 66, textState: 68, textLength: 69, textASCII: 70,
		},
		{
			minor: 14, runtimeHead: 5, interpreterNext: 8, threadsHead: 9, threadNext: 24, currentFrame: 26, threadID: 27,
			gilPointer: 15, ownGIL: 16, gilLocked: 18, gilHolder: 19, nativeID: 28,
			framePrevious: 32, frameCode: 33, frameAt: 34, frameOwner: 36, frameCopy: 38, hasCopies: true,
			codeFilename: 40, codeQualname: 42, codeLines: 43, codeFirstLine: 44, codeInstructions: 48, codeCopies: 49,
			bytesSize: 75, bytesValue: 76, textState: 78, textLength: 79, textASCII: 80,
			objectType: 51, stackTop: 37, coroutineFrame: 85, coroutineState: 86, setUsed: 63, setTable: 64, setMask: 65, suspended: 0xff, suspendedStates: 1, awaited: 8,
		},
		{
			minor: 15, runtimeHead: 5, interpreterNext: 8, threadsHead: 9, threadNext: 24, currentFrame: 26, threadID: 30,
			gilPointer: 15, ownGIL: 16, gilLocked: 18, gilHolder: 19, nativeID: 31,
			framePrevious: 40, frameCode: 41, frameAt: 42, frameOwner: 44, frameCopy: 46, hasCopies: true,
			codeFilename: 48, codeQualname: 50, codeLines: 51, codeFirstLine: 52, codeInstructions: 56, codeCopies: 57,
			bytesSize: 87, bytesValue: 88, textState: 90, textLength: 91, textASCII: 92,
			objectType: 59, stackTop: 45, coroutineFrame: 101, coroutineState: 102, setUsed: 75, setTable: 76, setMask: 77, suspended: 2, suspendedStates: 2, awaited: 16,
		},
	}
}

const (
	version        = 1
	freeThreaded   = 2
	debugCount     = 103 // up to the last place of the newest release
	debugBytes     = 8 * debugCount
	debugCookie    = "xdebugpy"
	compactHeader  = 16      // utf8_length and utf8, between the header of an ASCII str and the characters of others
	maxDebugOffset = 1 << 20 // in an interpreter; others are smaller
	maxFrame       = 127     // bytes that a walk reads of a frame, and of a code object
	maxCode        = 255
	maxOther       = 1 << 12 // of a str and a bytes
	gilBytes       = 208     // of the state of the global lock, which says nothing of its length
)

// Bits of the state of a str before the kind of its characters: whether it is interned, which is a byte where threads set it without a lock (3.14).
const (
	internedBits = 2
	internedByte = 8
)

// parseDebugOffsets returns the layout that an interpreter describes; nil: it is one that this code does not know.
func parseDebugOffsets(b []byte) *Layout {
	if len(b) < debugBytes || string(b[:8]) != debugCookie {
		return nil
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	all := debugLayouts()
	i := slices.IndexFunc(all, func(p debugPlaces) bool { return at(version)>>16 == 0x0300|uint64(p.minor) })
	if i < 0 || at(freeThreaded) > 1 {
		return nil
	}
	p := &all[i]
	for i := freeThreaded; i <= max(p.textASCII, p.coroutineState); i++ {
		if at(i) > maxDebugOffset {
			return nil
		}
	}
	l := &Layout{
		FreeThreaded: at(freeThreaded) != 0,
		Minor:        p.minor, Interpreters: at(p.runtimeHead), NextInterpreter: at(p.interpreterNext), Threads: at(p.threadsHead), NextThread: at(p.threadNext),
		ThreadID: at(p.threadID), Frame: at(p.currentFrame), Code: at(p.frameCode), Previous: at(p.framePrevious), Instruction: at(p.frameAt),
		Owner: at(p.frameOwner), Ends: EndsBeforeShim,
		Filename: at(p.codeFilename), Qualname: at(p.codeQualname), FirstLine: at(p.codeFirstLine), Lines: at(p.codeLines), Instructions: at(p.codeInstructions),
		TextLength: at(p.textLength), TextState: at(p.textState), TextKind: internedBits, ASCII: at(p.textASCII), Compact: at(p.textASCII) + compactHeader,
		BytesLength: at(p.bytesSize), Bytes: at(p.bytesValue),
		GIL: GIL{
			At: at(p.gilPointer), InInterpreter: true, Bytes: gilBytes, Locked: at(p.gilLocked) - at(p.ownGIL), Holder: at(p.gilHolder) - at(p.ownGIL),
			NativeID: at(p.nativeID),
		},
	}
	if p.coroutineFrame != 0 {
		l.Awaiting = Awaiting{
			Type: at(p.objectType), StackTop: at(p.stackTop), CoroutineFrame: at(p.coroutineFrame), CoroutineState: at(p.coroutineState),
			SetUsed: at(p.setUsed), SetEntries: at(p.setTable), SetMask: at(p.setMask), Suspended: p.suspended, SuspendedStates: p.suspendedStates, Awaited: p.awaited,
		}
	}
	if at(freeThreaded) != 0 && p.hasCopies {
		l.TextKind = internedByte
		l.Copy, l.Copies = at(p.frameCopy), at(p.codeCopies)
	}
	if l.FrameBytes() > maxFrame || l.CodeBytes() > maxCode || max(l.TextLength, l.TextState, l.Compact, l.BytesLength, l.Bytes, l.GIL.NativeID) > maxOther || l.Awaiting.largest() > maxOther || max(l.GIL.Locked, l.GIL.Holder) >= gilBytes {
		return nil
	}
	return l
}

// machine is the only one for which frames are walked.
const machine = elf.EM_X86_64
