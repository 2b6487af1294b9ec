package format

import (
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/proto"
)

// Finding is a place where a stream is not as FORMAT.md says.
type Finding struct {
	Offset int64 // of the block in the stream
	Text   string
}

// Checked is how much of a stream [Check] has seen.
type Checked struct {
	Sections, Blocks, Events, Bytes, Findings int64
	Losses                                    int64 // of the events
}

// Check reads a whole stream and reports what is wrong with it: damage, order, ids that do not resolve, headers, index
// and end blocks that do not tell what the blocks hold. Of findings of one sort it reports the first few of a section
// and then their number. The error is about input that cannot be judged: no stream, a newer one, or a failed read.
func Check(r io.Reader, report func(Finding)) (Checked, error) {
	c := &checker{voc: newTextVocabulary(), report: report, last: math.MinInt64}
	blocks := NewBlockReader(r)
	for {
		block, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.block(block)
		}
		if err != nil {
			return c.seen, err
		}
	}
	trailing, problem := blocks.Trailing()
	c.seen.Bytes += trailing
	if c.seen.Blocks == 0 {
		return c.seen, notStream(trailing, problem)
	}
	if trailing > 0 {
		c.at = c.seen.Bytes - trailing
		c.found("hole", "the last %d bytes belong to no whole block (%s)", trailing, problem)
	}
	c.endOfStream()
	return c.seen, nil
}

// sameFindings is how many findings of one sort are told one by one in a section.
const sameFindings = 5

// checker keeps what it must know of one section.
type checker struct {
	voc    *textVocabulary
	report func(Finding)
	seen   Checked
	at     int64 // offset of the block that is looked at
	repeat map[string]int64
	place  blockPlace
	last   int64    // time of the last event
	lived  *Session // the last whole session
	ended  *End     // its end block; nil: it has none yet
	reach  int64    // the time that the section before reached
	sectionCheck
}

// sectionCheck is what has been seen of one section.
type sectionCheck struct {
	inside   bool
	began    int64    // offset of its first block
	holed    bool     // bytes or blocks of it are missing
	session  *Session // nil: its header block is lost
	version  Version
	tally    textTally
	ids      idTable
	modules  moduleCheck
	types    textTypes
	state    stateCheck
	latest   int64 // time of the last event of the section
	hasIndex bool
}

// found reports a finding; sort says which ones are the same.
func (c *checker) found(sort, format string, args ...any) {
	c.seen.Findings++
	if c.repeat == nil {
		c.repeat = map[string]int64{}
	}
	if c.repeat[sort]++; c.repeat[sort] <= sameFindings {
		c.report(Finding{c.at, fmt.Sprintf(format, args...)})
	}
}

// tellRepeats reports how many findings were not told one by one.
func (c *checker) tellRepeats() {
	for _, sort := range sortedKeys(c.repeat) {
		if n := c.repeat[sort] - sameFindings; n > 0 {
			c.report(Finding{c.at, fmt.Sprintf("%d more findings of this sort until here: %s", n, sort)})
		}
	}
	c.repeat = nil
}

func (c *checker) block(block *Block) error {
	h := &block.Header
	c.at = block.Offset
	c.seen.Blocks++
	c.seen.Bytes = block.Offset + int64(BlockHeaderSize+len(block.Stored))
	if block.Skipped > 0 {
		c.found("hole", "%d bytes before here belong to no whole block (%s)", block.Skipped, block.Problem)
	}
	if h.Type == BlockHeaderType {
		return c.header(block)
	}
	c.order(h)
	c.holed = c.holed || block.Skipped > 0
	c.tally.offset = uint64(block.Offset - c.began)
	b := &textBlock{typ: h.Type}
	switch h.Type {
	case BlockDefinitions:
		c.definitions(block)
	case BlockEvents:
		c.events(block, b)
	case BlockIndex:
		c.index(block)
	case BlockEnd:
		c.end(block)
	}
	if h.Type != BlockEvents && (h.Events != 0 || h.First != 0 || h.Last != 0 || h.Earliest != 0) {
		c.found("header", "the header of a block without events tells of events")
	}
	c.tally.add(b, h, len(block.Stored))
	c.place.sequence = h.Sequence + 1
	return nil
}

// order looks at whether this is the next block of the section.
func (c *checker) order(h *BlockHeader) {
	switch {
	case h.Section != c.place.section || c.seen.Sections == 0:
		c.found("order", "the header block of section %d is missing", h.Section)
		c.begin(nil, h.Section)
		c.holed = true
	case !c.inside:
		c.found("order", "a block stands after the end of its section")
	case h.Sequence != c.place.sequence:
		c.holed = true
		c.found("order", "block %d of the section stands here, but block %d should", h.Sequence, c.place.sequence)
	}
}

func (c *checker) begin(s *Session, section uint32) {
	c.tellRepeats()
	c.seen.Sections++
	c.sectionCheck = sectionCheck{inside: true, began: c.at, session: s, latest: math.MinInt64}
	c.tally.begin(s)
	c.place = blockPlace{section: section}
}

// header looks at a header block and at how its section follows the one before it.
func (c *checker) header(block *Block) error {
	version, session, err := ParseHeaderPayload(block.Payload)
	if errors.Is(err, ErrNewer) {
		return err
	}
	if err != nil {
		c.found("header block", "%v", err)
		return nil
	}
	if c.inside {
		c.found("order", "a section begins before the one before it has ended")
	}
	c.follows(session)
	c.begin(session, block.Header.Section)
	c.version = version
	c.sources(session)
	if problem := sessionProblem(session); problem != "" {
		c.found("session", "%s", problem)
	}
	if block.Header.Sequence != 0 {
		c.found("order", "the header block has the number %d, not 0", block.Header.Sequence)
	}
	c.lived, c.ended = session, nil
	c.tally.add(&textBlock{typ: BlockHeaderType}, &block.Header, len(block.Stored))
	c.place.sequence = block.Header.Sequence + 1
	return nil
}

func (c *checker) follows(s *Session) {
	if c.lived == nil {
		return
	}
	if err := follows(c.lived, s, c.reach); err != nil {
		c.found("overlap", "%v", err)
	}
	same := s.Id == c.lived.Id && s.Continues
	if c.ended != nil && c.ended.Last && same {
		c.found("epoch", lateEpoch)
	}
	if c.ended != nil && !c.ended.Last && !same {
		c.found("epoch", otherSession)
	}
	// A filter leaves out the epochs before its time range, all but the first.
	if isNext := s.Epoch == c.lived.Epoch+1; same && !isNext && !(s.RangeStart != 0 && s.Epoch > c.lived.Epoch) {
		c.found("epoch", "epoch %d follows after epoch %d", s.Epoch, c.lived.Epoch)
	}
}

// index holds an index against the blocks before it. Where bytes are missing, so may be what an entry is about.
func (c *checker) index(block *Block) {
	c.hasIndex = true
	blocks, entries := c.tally.index, 0
	unlisted := func(until uint64) {
		for len(blocks) > 0 && blocks[0].offset < until {
			c.found("index", "the index does not list the block at byte %d", c.began+int64(blocks[0].offset))
			blocks = blocks[1:]
		}
	}
	err := c.voc.eachMember(new(Index).ProtoReflect(), block.Payload, func(m member) {
		if m.m == nil {
			return
		}
		entry := m.m.Interface().(*IndexEntry)
		unlisted(entry.Offset)
		switch {
		case len(blocks) > 0 && blocks[0].offset == entry.Offset:
			if !proto.Equal(entry, blocks[0].message()) {
				c.found("index", "entry %d of the index does not tell what the block is", entries)
			}
			blocks = blocks[1:]
		case !c.holed:
			c.found("index", "entry %d of the index lists a block where none begins", entries)
		}
		entries++
	})
	if err != nil {
		c.found("index", "%v", err)
		return
	}
	unlisted(math.MaxUint64)
}

// endOfStream looks at how the last section stopped.
func (c *checker) endOfStream() {
	if c.inside {
		c.found("order", "the stream stops before the end block of its last section")
	} else if c.ended != nil && !c.ended.Last {
		c.found("epoch", lastMissing)
	}
	c.tellRepeats()
}
