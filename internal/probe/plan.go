package probe

import (
	"errors"
	"fmt"

	"wprof/format"
)

// Read is how the kernel program gets a value: it begins with a value at hand, and each step reads memory or adds to it.
type Read struct {
	From  From
	Steps []Step
	Leaf  Leaf
}

// From is the value that a read begins with.
type From struct {
	Kind     FromKind
	Register int   // of FromRegister: byte offset in struct pt_regs of the machine
	Number   int64 // of FromConstant; of FromWord the index of the word
	Offset   int   // of FromRecord: bytes
	Size     int   // bytes of the value: 1, 2, 4, 8; a register has its lowest ones
	Signed   bool
}

// FromKind is where a read begins.
type FromKind uint8

const (
	FromRegister FromKind = iota // a register of the thread at the probe
	FromConstant
	FromWord    // a word of the program's context: arguments of raw tracepoints, and of functions by fentry
	FromRecord  // a field of the kernel's record of a tracepoint
	FromContext // the address of the context itself
	FromText    // the address of a text in the kernel's record of a tracepoint, whose location is a field there
	FromSite    // the number of the function among those of a glob
	FromResult  // the result of a function of the kernel, or of a BPF program, by fexit
	FromComm    // the thread's name; only for LeafString
	FromProcess // the thread's process
	FromThread  // the thread
	FromCPU     // the CPU that it runs on
	FromWatched // what a breakpoint finds in the memory that it watches
	FromBefore  // the same at the hit before
)

// Step changes the value so far.
type Step struct {
	Kind   StepKind
	Number int64 // of StepAdd
	User   bool  // of StepLoad: user memory
	Size   int   // of StepLoad: 1, 2, 4, 8
	Signed bool  // of StepLoad
	// Of StepAddRegister: the register is multiplied by Scale and added.
	Register int
	Scale    int
}

// StepKind is what a step does.
type StepKind uint8

const (
	StepAdd         StepKind = iota // adds a number
	StepLoad                        // reads memory at the value, which becomes the result
	StepAddRegister                 // adds a register times a scale
)

// Leaf is what is written of the value to which the steps lead.
type Leaf struct {
	Kind       LeafKind
	Size       int                // of a number: bytes that are kept, 1, 2, 4 or 8; of LeafString: bytes that are read at most, with the 0; of LeafBytes: how many
	Signed     bool               // of a number
	Shift      int                // of a bit-field: bits to the right of it
	Bits       int                // of a bit-field; 0: it is none
	User       bool               // memory of LeafString to LeafSlice is the user's
	Bool       bool               // of a number
	Float      bool               // of a number: bits of a floating-point number of 4 or 8 bytes
	Names      []*format.EnumName // of a number: of an enumeration; nil: none
	Hex        bool               // of a number: it is an address
	LengthAt   int                // of LeafSlice: where its length is, bytes from the value
	AddressAt  int                // of LeafSlice: where the address of its text is
	LengthFrom *From              // of LeafSlice: where its length is instead; the value is the address of the text then
}

// WithType returns the leaf of the same value with the type that a definition gives; user says whose memory texts are in. Floating-point
// numbers are in memory and registers of processes only.
func (l Leaf) WithType(as Type, user bool) (Leaf, error) {
	row := as.Info()
	switch {
	case as == TypeAuto || as == TypeStr && l.Kind != LeafNumber:
		return l, nil
	case as == TypeStr && (l.Size != 8 || l.Bits > 0):
		return Leaf{}, errors.New("it is too small for the address of a text")
	case as == TypeStr:
		return Leaf{Kind: LeafString, Size: MaxString, User: user}, nil
	case l.Kind != LeafNumber:
		return Leaf{}, fmt.Errorf("it is a text, not a number of type %s", row.Words[0])
	case row.Float && !user:
		return Leaf{}, errors.New("it is no floating-point number")
	case row.Float && (l.Bits > 0 || row.Size > l.Size):
		return Leaf{}, fmt.Errorf("it has %d bytes, too few for %s", l.Size, row.Words[0])
	}
	l.Names, l.Bool = nil, false
	l.Size, l.Signed, l.Float, l.Hex = row.Size, row.Signed, row.Float, as == TypePtr
	return l, nil
}

// LeafKind is the kind of a value.
type LeafKind uint8

const (
	LeafNumber LeafKind = iota // the value itself
	LeafString                 // text at the value, which is an address, up to a 0
	LeafArray                  // a char array of Size bytes at the value, up to a 0
	LeafBytes                  // Size bytes at the value
	LeafSlice                  // text of some length: at the value are its address and its length, as of strings of Go, Rust and C++
)

// MaxString is how many bytes of a string are recorded, with a 0 at its end.
const MaxString = 256

// MaxGlob is how many characters besides * a text or a pattern has that strings are compared with: the kernel program has a bit for each.
const MaxGlob = 63

const (
	// MaxArgs is how many values a probe may have, and how many texts.
	MaxArgs = 16
	// MaxHitValues is how many values a breakpoint with arg:* may have, because of the registers: a word has a bit for each that could not be read.
	MaxHitValues = 32
)
