package unwind

import (
	"debug/elf"

	"wprof/internal/symbol"
)

// Frame is where the canonical frame address (CFA) of a place in the code is: a register plus Offset, or, if Load is set, the word there plus
// Add.
type Frame struct {
	Register uint64 // DWARF's number
	Offset   int64
	Load     bool
	Add      int64
}

// FrameAt returns the frame at an address of a file's code by the file's call frame information, of any machine. It fails if that has
// nothing about the address, or computes it in other ways.
func FrameAt(f *elf.File, address uint64) (frame Frame, ok bool) {
	var err error
	defer func() { ok = ok && err == nil }()
	defer symbol.RecoverTo(&err, "read call frame information")
	for _, name := range frameSections() {
		s, failed := framesIn(f, name)
		if s == nil || failed != nil {
			continue
		}
		_ = s.entries(func(e entry) { // entries before malformed bytes are used
			if !ok && address >= e.begin && address < e.end {
				frame, ok = e.frame(address)
			}
		})
		if ok {
			break
		}
	}
	return frame, ok
}

// frame executes the instructions of an entry up to an address.
func (e *entry) frame(address uint64) (Frame, bool) {
	var m machine
	var at state
	known := false
	m.run(e, func(pc uint64, _ Rule) {
		if pc <= address {
			at, known = m.now, true
		}
	})
	frame := Frame{Register: at.cfaRegister, Offset: int64(at.cfa.Offset)}
	if at.cfaComputed {
		frame.Load, frame.Add = true, int64(at.cfa.Add)
		switch at.cfa.Base {
		case AtSP:
			frame.Register = regSP
		case AtFP:
			frame.Register = regFP
		default:
			return Frame{}, false
		}
	}
	return frame, known
}

// Functions returns the ranges of addresses that entries of a file's call frame information are of, each of one function or of a part of it.
func Functions(f *elf.File) (all [][2]uint64, err error) {
	defer symbol.RecoverTo(&err, "read call frame information")
	s, err := framesOf(f)
	if err != nil {
		return nil, err
	}
	_ = s.entries(func(e entry) { all = append(all, [2]uint64{e.begin, e.end}) }) // entries before malformed bytes are used
	return all, nil
}
