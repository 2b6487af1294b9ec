// Package check compares a whole stream with the rules of FORMAT.md.
package check

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// Finding is a violation of FORMAT.md in a stream.
type Finding struct {
	Offset int64 // of the block in the stream
	Text   string
}

// Seen is how much of a stream was checked.
type Seen struct {
	Sections, Blocks, Events, Bytes, Findings int64
	Losses                                    int64 // of the events
}

// Stream reads a whole stream and reports what is wrong with it: damage, order, ids that do not resolve, headers, index and
// end blocks that differ from what the blocks hold. Of findings of one type it reports the first few of a section and then
// their number. The error is about input that cannot be checked: not a stream, a newer one, or a failed read.
func Stream(r io.Reader, report func(Finding)) (Seen, error) {
	c := &checker{voc: spell.NewVocabulary(), words: map[protoreflect.Name]string{}, report: report, last: math.MinInt64}
	for _, d := range spell.Details() {
		if d.Parent == "Definitions" {
			c.words[d.Field] = d.Word
		}
	}
	blocks := format.NewBlockReader(r)
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
		return c.seen, blocks.NotStream()
	}
	if trailing > 0 {
		c.at = c.seen.Bytes - trailing
		c.found("hole", "the last %d bytes belong to no whole block (%s)", trailing, problem)
	}
	c.endOfStream()
	return c.seen, nil
}

// sameFindings is the number of findings of one type that are reported one by one in a section.
const sameFindings = 5

// checker has the state for checking one section.
type checker struct {
	voc    spell.Vocabulary
	words  map[protoreflect.Name]string // of definitions, by their field
	report func(Finding)
	seen   Seen
	at     int64 // offset of the current block
	repeat map[string]int64
	next   place           // of the next block
	last   int64           // time of the last event
	before *format.Session // the last whole session
	ended  *format.End     // its end block; nil: it has none yet
	reach  int64           // the time that the section before reached
	sectionCheck
}

// place is a block's section and number in it.
type place struct{ section, sequence uint32 }

// sectionCheck is what has been seen of one section.
type sectionCheck struct {
	inside   bool
	began    int64           // offset of its first block
	holed    bool            // bytes or blocks of it are missing
	session  *format.Session // nil: its header block is lost
	version  format.Version
	tally    raw.Tally
	members  uint64 // definitions
	types    int    // event types that can be used
	ids      idTable
	modules  moduleCheck
	state    format.StateCheck
	latest   int64 // time of the last event of the section
	hasIndex bool
}

// found reports a finding of a type.
func (c *checker) found(typ, text string, args ...any) {
	c.seen.Findings++
	if c.repeat == nil {
		c.repeat = map[string]int64{}
	}
	if c.repeat[typ]++; c.repeat[typ] <= sameFindings {
		c.report(Finding{c.at, fmt.Sprintf(text, args...)})
	}
}

// reportRepeats reports how many findings were not reported one by one.
func (c *checker) reportRepeats() {
	for _, typ := range slices.Sorted(maps.Keys(c.repeat)) {
		if n := c.repeat[typ] - sameFindings; n > 0 {
			c.report(Finding{c.at, fmt.Sprintf("%d more findings of this type up to here: %s", n, typ)})
		}
	}
	c.repeat = nil
}

func (c *checker) block(block *format.Block) error {
	h := &block.Header
	c.at = block.Offset
	c.seen.Blocks++
	c.seen.Bytes = block.Offset + int64(format.BlockHeaderSize+len(block.Stored))
	if block.Skipped > 0 {
		c.found("hole", "%d bytes before here belong to no whole block (%s)", block.Skipped, block.Problem)
	}
	if h.Type == format.BlockHeaderType {
		return c.header(block)
	}
	c.order(h)
	c.holed = c.holed || block.Skipped > 0
	c.tally.Offset = uint64(block.Offset - c.began)
	switch h.Type {
	case format.BlockDefinitions:
		c.definitions(block)
	case format.BlockEvents:
		c.events(block)
	case format.BlockIndex:
		c.index(block)
	case format.BlockEnd:
		c.end(block)
	}
	if h.Type != format.BlockEvents && (h.Events != 0 || h.First != 0 || h.Last != 0 || h.Earliest != 0) {
		c.found("header", "the header of a block without events has events, or times of them")
	}
	c.tally.Add(h, h.Type, len(block.Stored))
	c.next.sequence = h.Sequence + 1
	return nil
}

// order checks that this is the next block of the section.
func (c *checker) order(h *format.BlockHeader) {
	switch {
	case h.Section != c.next.section || c.seen.Sections == 0:
		c.found("order", "the header block of section %d is missing", h.Section)
		c.orphan(h)
	case !c.inside:
		c.found("order", "a block stands after the end of its section")
		c.orphan(h)
	case h.Sequence != c.next.sequence:
		c.holed = true
		c.found("order", "block %d of the section stands here, but block %d should", h.Sequence, c.next.sequence)
	}
}

// orphan begins a section whose header is missing.
func (c *checker) orphan(h *format.BlockHeader) {
	c.begin(nil, h.Section)
	c.holed = true
}

func (c *checker) begin(s *format.Session, section uint32) {
	c.reportRepeats()
	c.seen.Sections++
	c.sectionCheck = sectionCheck{inside: true, began: c.at, session: s, tally: raw.NewTally(s), latest: math.MinInt64}
	c.next = place{section: section}
}

// header checks a header block and that its section follows the one before it.
func (c *checker) header(block *format.Block) error {
	version, session, err := format.ParseHeaderPayload(block.Payload)
	if errors.Is(err, format.ErrNewer) {
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
	c.topology(session)
	if problem := session.Problem(); problem != "" {
		c.found("session", "%s", problem)
	}
	if block.Header.Sequence != 0 {
		c.found("order", "the header block has the number %d, not 0", block.Header.Sequence)
	}
	c.before, c.ended = session, nil
	c.tally.Add(&block.Header, format.BlockHeaderType, len(block.Stored))
	c.next.sequence = block.Header.Sequence + 1
	return nil
}

func (c *checker) follows(s *format.Session) {
	if c.before == nil {
		return
	}
	if err := format.Follows(c.before, s, c.reach); err != nil {
		c.found("overlap", "%v", err)
	}
	same := s.Id == c.before.Id && s.Continues
	if c.ended != nil && c.ended.Last && same {
		c.found("epoch", format.EpochAfterLast)
	}
	if c.ended != nil && !c.ended.Last && !same {
		c.found("epoch", format.NoNextEpoch)
	}
	// A filter leaves out the epochs before its time range, all but the first.
	if isNext := s.Epoch == c.before.Epoch+1; same && !isNext && !(s.RangeStart != 0 && s.Epoch > c.before.Epoch) {
		c.found("epoch", "epoch %d follows after epoch %d", s.Epoch, c.before.Epoch)
	}
}

// index compares an index with the blocks before it. Where bytes are missing, so may be the block of an entry.
func (c *checker) index(block *format.Block) {
	c.hasIndex = true
	blocks, entries := c.tally.Index, 0
	unlisted := func(until uint64) {
		for len(blocks) > 0 && blocks[0].Offset < until {
			c.found("index", "the index does not list the block at byte %d", c.began+int64(blocks[0].Offset))
			blocks = blocks[1:]
		}
	}
	err := raw.EachMember(new(format.Index).ProtoReflect(), block.Payload, func(m raw.Member) {
		if m.Message == nil {
			return
		}
		entry := m.Message.Interface().(*format.IndexEntry)
		unlisted(entry.Offset)
		switch {
		case len(blocks) > 0 && blocks[0].Offset == entry.Offset:
			if !proto.Equal(entry, blocks[0].Entry()) {
				c.found("index", "entry %d of the index differs from its block", entries)
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

// endOfStream checks how the last section ended.
func (c *checker) endOfStream() {
	if c.inside {
		c.found("order", "the stream stops before the end block of its last section")
	} else if c.ended != nil && !c.ended.Last {
		c.found("epoch", format.NoLastEpoch)
	}
	c.reportRepeats()
}
