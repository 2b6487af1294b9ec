package format

import (
	"fmt"
	"math"
)

// SeekTime continues at the last state that begins at or before t, or at the beginning of the stream. The events
// that follow are complete from there: ids are defined, and the state tells who runs where. [Reader.Sections] counts
// the jump as the beginning of a section. On a pipe it does nothing.
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
	s := &sections[target]
	if state == nil || s.Session == nil {
		r.open(r.file.from(s.Offset))
		return r.begin()
	}
	r.lastReal = s.Session
	r.enter(s.Session, true, 0)
	if err := r.readDefinitions(s, state); err != nil {
		return err
	}
	r.now = state.First
	r.open(r.file.from(s.Offset + int64(state.Offset)))
	return nil
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

// restart forgets where the reader stood. What was damaged stays known.
func (r *Reader) restart() {
	r.stopAhead()
	r.decoder.left, r.decoder.unknown = 0, 0
	r.current, r.waiting, r.held, r.hole = nil, nil, false, false
	r.err, r.end = nil, nil
	r.section = inSection{}
	r.lastReal, r.prevEnd, r.reached, r.now = nil, math.MinInt64, math.MinInt64, math.MinInt64
}

// readDefinitions reads the definitions of the blocks that are jumped over.
func (r *Reader) readDefinitions(s *SectionSummary, state *IndexEntry) error {
	w := &walker{r: r.file}
	h, err := w.header(s.Offset + int64(state.Offset))
	if err != nil {
		return fmt.Errorf("seek to a time: %w", err)
	}
	for _, e := range s.Index.Blocks {
		if e.Offset >= state.Offset {
			break
		}
		if e.Type != uint32(BlockDefinitions) {
			continue
		}
		_, payload, err := w.block(s.Offset+int64(e.Offset), BlockDefinitions)
		if err == nil {
			err = r.section.defs.add(payload)
		}
		if err != nil {
			r.damaged(fmt.Sprintf("definitions in a block at byte %d: %v", s.Offset+int64(e.Offset), err))
			r.hole = false
		}
	}
	r.section.number, r.section.sequence = h.Section, h.Sequence-1
	return nil
}
