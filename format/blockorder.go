package format

import "fmt"

// BlockOrder checks that the block headers of a stream follow each other. Its zero value is for the beginning of a
// stream.
type BlockOrder struct {
	begun, ended bool
	section      uint32
	next         uint32 // sequence number
	events       uint64 // of the section's event blocks, as their headers claim
}

// Next is called with each header. It returns whether a section begins with it, and what is wrong with its place in the
// section; "": nothing. It does not report a missing header block.
func (o *BlockOrder) Next(h *BlockHeader) (begins bool, problem string) {
	begins = h.Type == BlockHeaderType || !o.begun || o.ended || h.Section != o.section
	if begins {
		*o = BlockOrder{begun: true, section: h.Section, next: h.Sequence}
	}
	if h.Sequence != o.next {
		problem = fmt.Sprintf("block %d of the section stands where block %d should", h.Sequence, o.next)
	}
	o.next = h.Sequence + 1
	switch h.Type {
	case BlockEvents:
		o.events += uint64(h.Events)
	case BlockEnd:
		o.ended = true
	}
	return begins, problem
}

// CountProblem returns what is wrong with the counts of the end block that was passed to Next last; "": nothing.
func (o *BlockOrder) CountProblem(end *End) string {
	if n := countEvents(end); n != o.events {
		return fmt.Sprintf("the end block counts %d events, but the blocks of its section have %d", n, o.events)
	}
	return ""
}
