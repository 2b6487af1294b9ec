package ruby

// Layout is where a release keeps what a walk over frames reads: offsets in bytes.
//
// The same in all of them: an execution context begins with its stack, the number of words in it, and the innermost frame; a frame with pc, sp,
// iseq, self and ep; ep points to the frame's flags; the third word of an iseq is its body.
type Layout struct {
	Minor      int    // of version 3; since 2 a string has its length before its bytes, and the first line is a plain number
	FrameBytes uint64 // of a frame, of which the outer one is the next

	// In the body of an iseq: type and size, and the address of its instructions, come first.
	Path, Label, FirstLine uint64
	Lines                  uint64 // entries, positions, the number of entries, and an index of them
	EntryBytes             uint64 // of an entry, which begins with its line
}

// CodeBytes is how much of a body is read.
func (l *Layout) CodeBytes() uint64 { return l.Lines + 32 }

// layouts are those of vm_core.h and iseq.h of each release: rb_control_frame_t, rb_iseq_constant_body, rb_iseq_location_t and iseq_insn_info_entry.
func layouts() map[string]Layout {
	return map[string]Layout{
		"3.1": {Minor: 1, FrameBytes: 64, Path: 64, Label: 80, FirstLine: 88, Lines: 120, EntryBytes: 12},
		"3.3": {Minor: 3, FrameBytes: 56, Path: 64, Label: 80, FirstLine: 88, Lines: 112, EntryBytes: 12},
	}
}
