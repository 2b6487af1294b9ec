package format

import "fmt"

// inSection is a Reader's state for the current section.
type inSection struct {
	session  *Session
	real     bool // the session was read; false: its header block is lost
	begun    bool
	ended    bool
	number   uint32
	sequence uint32 // of the last block
	events   uint64 // delivered or skipped because of their kind
	defs     definitions

	holed      bool   // parts of it are missing
	lastEvents uint32 // sequence number of the last event block
	newer      bool   // its version is a newer minor one, or its header block is lost
}

// takesLate reports whether a block that stands behind later ones is of use there. Definitions are: those that are known
// already stay. Events are if they are not behind later ones.
func (s *inSection) takesLate(h *BlockHeader) bool {
	return h.Type == BlockDefinitions || h.Type == BlockEvents && h.Sequence > s.lastEvents
}

// Follows reports whether a section may follow another one in a stream; the error wraps [ErrOverlap] if not. prevEnd is the
// time up to which the section before is known to reach.
func Follows(prev, next *Session, prevEnd int64) error {
	switch {
	case next.Continues && next.Id == prev.Id && next.Epoch > prev.Epoch:
		return nil
	case prev.BootId == "" && next.BootId != "":
		return nil // the header of the one before was lost: they may belong together
	case next.BootId != prev.BootId:
		return fmt.Errorf("%w: they were recorded on different machines or between different boots (%s and %s); take each one by itself",
			ErrOverlap, hostName(prev), hostName(next))
	case next.WindowStart() < max(prev.WindowEnd(), prevEnd):
		return fmt.Errorf("%w: the window of a later one opens before the window of the one before it has closed; order them by time or take each one by itself",
			ErrOverlap)
	}
	return nil
}

// SameRecording reports whether a section belongs to the recording of the one before it: as an epoch, or as another stretch of it that a
// filter kept.
func SameRecording(prev, next *Session) bool {
	return next.Id == prev.Id && (next.Continues || next.RangeStart != 0 && next.BootId == prev.BootId)
}

// WindowStart is when the window opened, or the part of it that a time filter kept, CLOCK_MONOTONIC ns.
func (s *Session) WindowStart() int64 {
	if s.RangeStart == 0 {
		return s.Open // may be negative
	}
	return max(s.Open, s.RangeStart)
}

// WindowEnd is when the window closed, or the part of it that a time filter kept, CLOCK_MONOTONIC ns; 0: not known.
func (s *Session) WindowEnd() int64 {
	if s.RangeEnd != 0 && (s.Close == 0 || s.RangeEnd < s.Close) {
		return s.RangeEnd
	}
	return s.Close
}

// WindowEndOr is [Session.WindowEnd], or a section's close where that is not known.
func (s *Session) WindowEndOr(close int64) int64 {
	if t := s.WindowEnd(); t != 0 {
		return t
	}
	return close
}

func hostName(s *Session) string {
	if s.Host == "" {
		return "an unnamed one"
	}
	return s.Host
}
