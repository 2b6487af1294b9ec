package format

import (
	"fmt"
	"math"
)

// SeekTime continues at the last state that begins at or before t, or at the beginning of the stream. The events
// that follow are complete from there: ids are defined, and the state reports who runs where. [Reader.Sections] counts
// the jump as the beginning of a section. Where something is missing from what it would jump over, it reads on from the
// beginning, which reports it. Of what it jumps over, the payloads of event blocks and those of definition blocks of
// earlier sections are not checked. On a pipe it does nothing.
func (r *Reader) SeekTime(t int64) error {
	if r.file == nil {
		return nil
	}
	sections, err := ReadSummary(r.file, r.file.size)
	if err != nil {
		return fmt.Errorf("seek to a time: %w", err)
	}
	target, state := findState(sections, t)
	r.restart()
	if state == nil || !r.jump(sections[:target+1], state) {
		r.restart()
		r.damage = Damage{} // it is found again
		r.open(r.file, 0)
		return r.begin()
	}
	return nil
}

// jump goes to a state in the last of the sections. It returns false where something is missing before it.
func (r *Reader) jump(sections []SectionSummary, state *IndexEntry) bool {
	last := len(sections) - 1
	for i := range last {
		s := &sections[i]
		if s.Session == nil || s.End == nil || s.Problem != "" || s.LacksEpoch(&sections[i+1]) {
			return false
		}
	}
	s := &sections[last]
	w := &walker{r: r.file}
	if s.Session == nil || s.Problem != "" && !w.isWholeUntil(s, state) {
		return false
	}
	r.lastReal = s.Session
	r.enter(s.Session, true, 0)
	r.section.newer = s.Version.Minor > Minor
	if !r.readDefinitions(w, s, state) {
		return false
	}
	r.now = state.First
	r.open(r.file, s.Offset+int64(state.Offset))
	return true
}

// findState finds the section and the block in it to continue at; no block means the section's beginning.
func findState(sections []SectionSummary, t int64) (int, *IndexEntry) {
	for i := len(sections) - 1; i >= 0; i-- {
		blocks := sections[i].Index.Blocks
		for j := len(blocks) - 1; j >= 0; j-- {
			e := blocks[j]
			if e.Type == uint32(BlockEvents) && e.Flags&uint32(BlockState) != 0 && e.First <= t {
				return i, e
			}
		}
	}
	return 0, nil
}

// restart resets the Reader to a state before the first block.
func (r *Reader) restart() {
	r.stopAhead()
	r.decoder.left, r.decoder.fault = 0, ""
	r.decoder.done()
	r.current, r.waiting, r.held, r.hole = nil, nil, false, false
	r.err, r.end = nil, nil
	r.section = inSection{}
	r.lastReal, r.prevEnd, r.reached, r.now = nil, math.MinInt64, math.MinInt64, math.MinInt64
}

// readDefinitions reads the definitions of the blocks that are jumped over. It returns false if one of them is damaged.
func (r *Reader) readDefinitions(w *walker, s *SectionSummary, state *IndexEntry) bool {
	h, err := w.header(s.Offset + int64(state.Offset))
	if err != nil {
		return false
	}
	for _, e := range s.Index.Blocks {
		if e.Offset >= state.Offset {
			break
		}
		r.section.events += uint64(e.Events)
		if e.Type != uint32(BlockDefinitions) {
			continue
		}
		payload, err := w.block(s.Offset+int64(e.Offset), BlockDefinitions)
		if err != nil || r.section.defs.add(payload) != nil {
			return false
		}
	}
	r.section.number, r.section.sequence = h.Section, h.Sequence-1
	return true
}
