package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
)

// SectionSummary is the header and end block of a section.
type SectionSummary struct {
	Session *Session // nil: its header block is lost
	Index   *Index   // its own, or rebuilt from the block headers
	End     *End     // nil: it has none
	Offset  int64    // in the file
	Size    int64
	Version Version
	Rebuilt bool   // the index is not the file's own
	Problem string // what is wrong with its index or its block headers, or stands behind its end; "": nothing
}

// ReadSummary reads headers, indices and ends of all sections of a file, from its footers, and the headers of all blocks
// that the indices list. Where these do not fit together, it goes from block header to block header and rebuilds the
// index. Payloads of other blocks are not read.
func ReadSummary(r io.ReaderAt, size int64) ([]SectionSummary, error) {
	return readSummary(r, size, true)
}

func readSummary(r io.ReaderAt, size int64, indices bool) ([]SectionSummary, error) {
	w := &walker{r: r, indices: indices}
	var tail []SectionSummary
	end := size
	for end > 0 {
		s, err := w.byFooter(end)
		if errors.Is(err, ErrNewer) {
			return nil, err
		}
		if err != nil {
			break
		}
		tail = append(tail, *s)
		end = s.Offset
	}
	slices.Reverse(tail)
	if end == 0 {
		return tail, nil
	}
	head, problem, err := w.walk(0, end)
	if err != nil {
		return nil, err
	}
	if len(head)+len(tail) == 0 {
		return nil, notStream(size, startProblem(r))
	}
	if len(head) == 0 {
		tail[0].Problem = cmp.Or(problem, tail[0].Problem)
	}
	return append(head, tail...), nil
}

// startProblem returns what is wrong with the first bytes of a file in which there is no block.
func startProblem(r io.ReaderAt) string {
	b := make([]byte, BlockHeaderSize)
	n, _ := r.ReadAt(b, 0)
	if _, err := ParseBlockHeader(b[:n]); err != nil {
		return "at byte 0: " + err.Error()
	}
	return "at byte 0: the block is not whole"
}

// CheckTimeline reports whether the sections of a stream share a timeline, in this order: the error wraps [ErrOverlap] if
// not. Sections whose header is lost are not compared.
func CheckTimeline(sections []SectionSummary) error {
	var prev *SectionSummary
	for i := range sections {
		s := &sections[i]
		if s.Session == nil {
			continue
		}
		if prev != nil && !(prev.End == nil && proto.Equal(prev.Session, s.Session)) { // a header may stand twice
			if err := Follows(prev.Session, s.Session, prev.Session.WindowEndOr(prev.End.GetClose())); err != nil {
				return err
			}
		}
		prev = s
	}
	return nil
}

// LacksEpoch reports whether the epoch that the end block of a section announces does not follow. next is the section that
// follows; nil: none.
func (s *SectionSummary) LacksEpoch(next *SectionSummary) bool {
	if s.Session == nil || s.End == nil || s.End.Last {
		return false
	}
	return next == nil || next.Session != nil && !(next.Session.Continues && next.Session.Id == s.Session.Id)
}

// walker finds the parts of sections in a file.
type walker struct {
	r       io.ReaderAt
	indices bool // otherwise only sessions and ends are read
	scratch [BlockHeaderSize]byte
	cache   readCache
	unpack  BlockReader
}

// byFooter reads the section whose footer ends at end.
func (w *walker) byFooter(end int64) (*SectionSummary, error) {
	var b [FooterSize]byte
	if end < FooterSize {
		return nil, errNoMarker
	}
	if _, err := w.r.ReadAt(b[:], end-FooterSize); err != nil {
		return nil, err
	}
	f, err := ParseFooter(b[:])
	if err != nil {
		return nil, err
	}
	if f.Section > uint64(end) {
		return nil, errors.New("the footer leads beyond the beginning of the file")
	}
	s := &SectionSummary{Offset: end - int64(f.Section), Size: int64(f.Section)}
	if err := w.session(s); err != nil {
		return nil, err
	}
	endAt := end - int64(f.End)
	if err := w.end(s, endAt); err != nil {
		return nil, err
	}
	if !w.indices {
		return s, nil
	}
	if f.Index != 0 && w.index(s, end-int64(f.Index)) == nil && w.isWhole(s) {
		return s, nil
	}
	walked, _, err := w.walk(s.Offset, end)
	if err != nil || len(walked) != 1 {
		return nil, errors.New("the index is missing and the section is damaged")
	}
	if f.Index != 0 && walked[0].Problem == "" {
		walked[0].Problem = fmt.Sprintf("at byte %d: the index is damaged", end-int64(f.Index))
	}
	return &walked[0], nil
}

// isWhole reports whether the headers of a section's blocks are there: first those that its index lists, then those of
// the index and the end block.
func (w *walker) isWhole(s *SectionSummary) bool {
	var order BlockOrder
	at, until := s.Offset, s.Offset+s.Size
	for i := 0; at+BlockHeaderSize <= until; i++ {
		h, err := w.header(at)
		if err != nil {
			return false
		}
		e := indexEntry{h, uint64(at - s.Offset)}
		isListed := i < len(s.Index.Blocks) && e.isOf(s.Index.Blocks[i])
		if !isListed && (i < len(s.Index.Blocks) || h.Type != BlockIndex && h.Type != BlockEnd) {
			return false
		}
		if begins, problem := order.Next(&h); problem != "" || begins != (i == 0) {
			return false
		}
		at += BlockHeaderSize + int64(h.Stored)
	}
	return at == until && order.ended && order.CountProblem(s.End) == ""
}

// isWholeUntil reports whether the blocks of a section follow each other without a hole up to one of them.
func (w *walker) isWholeUntil(s *SectionSummary, until *IndexEntry) bool {
	var order BlockOrder
	at, end := s.Offset, s.Offset+int64(until.Offset)
	for at <= end {
		h, err := w.header(at)
		if err != nil {
			return false
		}
		if begins, problem := order.Next(&h); problem != "" || begins != (at == s.Offset) {
			return false
		}
		if at == end {
			return true
		}
		at += BlockHeaderSize + int64(h.Stored)
	}
	return false
}

func (w *walker) session(s *SectionSummary) error {
	payload, err := w.block(s.Offset, BlockHeaderType)
	if err != nil {
		return err
	}
	if s.Version, s.Session, err = parsePossibleSession(payload); err != nil {
		return err
	}
	if !w.indices {
		s.Session.keepTimeline()
	}
	return nil
}

// keepTimeline drops what [CheckTimeline] does not compare: a long recording has thousands of sections, and each lists its
// CPUs and, in its end block, processes again.
func (s *Session) keepTimeline() {
	s.Cpus, s.Config, s.Command, s.History, s.Metadata, s.Clocks, s.Sources = nil, nil, nil, nil, nil, nil, nil
}

func (w *walker) end(s *SectionSummary, offset int64) error {
	payload, err := w.block(offset, BlockEnd)
	if err != nil {
		return err
	}
	if s.End, _, err = ParseEndPayload(payload); err == nil && !w.indices {
		s.End = &End{Close: s.End.Close, Last: s.End.Last}
	}
	return err
}

func (w *walker) index(s *SectionSummary, offset int64) error {
	payload, err := w.block(offset, BlockIndex)
	if err != nil {
		return err
	}
	s.Index, err = ParseIndexPayload(payload, offset-s.Offset)
	return err
}

func (w *walker) header(offset int64) (BlockHeader, error) {
	if b := w.cache.at(offset); len(b) >= BlockHeaderSize {
		return ParseBlockHeader(b)
	}
	if _, err := w.r.ReadAt(w.scratch[:], offset); err != nil {
		return BlockHeader{}, err
	}
	return ParseBlockHeader(w.scratch[:])
}

// block reads the payload of a block of a known type.
func (w *walker) block(offset int64, want BlockType) ([]byte, error) {
	h, err := w.header(offset)
	if err != nil {
		return nil, err
	}
	if h.Type != want {
		return nil, fmt.Errorf("a block of type %d stands where one of type %d should be", h.Type, want)
	}
	stored, err := io.ReadAll(io.NewSectionReader(w.r, offset+BlockHeaderSize, int64(h.Stored)))
	if err != nil {
		return nil, err
	}
	if len(stored) != int(h.Stored) || blockCRC(stored) != h.CRC {
		return nil, errors.New("the checksum of the block does not match")
	}
	return w.unpack.unpack(nil, h, stored)
}

// walk goes through the blocks between two offsets, from header to header, and over damage to the next one. The problem
// is what is wrong if it found no section.
func (w *walker) walk(from, to int64) (found []SectionSummary, problem string, _ error) {
	var current *SectionSummary
	var order BlockOrder
	reached := from
	for at := from; at+BlockHeaderSize <= to; {
		h, err := w.header(at)
		if err != nil || at+BlockHeaderSize+int64(h.Stored) > to {
			problem = cmp.Or(problem, fmt.Sprintf("at byte %d: there is no whole block", at))
			if at, err = w.resync(at+1, to); err != nil {
				return found, problem, err
			}
			continue
		}
		next := at + BlockHeaderSize + int64(h.Stored)
		reached = next
		begins, misplaced := order.Next(&h)
		if begins {
			found = append(found, SectionSummary{Offset: at, Index: &Index{}, Rebuilt: true})
			current = &found[len(found)-1]
		}
		if misplaced != "" {
			problem = cmp.Or(problem, fmt.Sprintf("at byte %d: %s", at, misplaced))
		}
		if err := w.visit(current, h, at); errors.Is(err, ErrNewer) {
			return found, problem, err
		} else if err != nil {
			problem = cmp.Or(problem, fmt.Sprintf("at byte %d: %v", at, err))
		}
		if h.Type == BlockEnd && current.End != nil && w.indices {
			if wrong := order.CountProblem(current.End); wrong != "" {
				problem = cmp.Or(problem, fmt.Sprintf("at byte %d: %s", at, wrong))
			}
		}
		current.Size = next - current.Offset
		current.Problem, problem = cmp.Or(current.Problem, problem), ""
		at = next
	}
	if reached < to {
		problem = cmp.Or(problem, fmt.Sprintf("at byte %d: the stream ends within a block", reached))
	}
	if current != nil {
		current.Problem = cmp.Or(current.Problem, problem)
	}
	return found, problem, nil
}

// visit enters one block. Damaged parts are left out; reading the stream reports them.
func (w *walker) visit(s *SectionSummary, h BlockHeader, at int64) error {
	switch h.Type {
	case BlockHeaderType:
		if err := w.session(s); err != nil {
			return err
		}
	case BlockEnd:
		return w.end(s, at)
	case BlockIndex:
		return nil
	}
	if w.indices {
		s.Index.Blocks = append(s.Index.Blocks, h.IndexEntry(uint64(at-s.Offset)))
	}
	return nil
}

// resync finds the next header that may be that of a block, and to if there is none.
func (w *walker) resync(from, to int64) (int64, error) {
	for from+BlockHeaderSize <= to {
		b := w.cache.at(from)
		if len(b) < BlockHeaderSize {
			var err error
			if b, err = w.cache.read(w.r, from); err != nil {
				return to, err
			}
			if len(b) < BlockHeaderSize {
				return to, nil
			}
		}
		i := bytes.Index(b, []byte(blockMarker))
		switch {
		case i < 0:
			from += int64(len(b) - len(blockMarker) + 1)
		case len(b)-i < BlockHeaderSize:
			from += int64(i) // it needs more bytes
		default:
			from += int64(i)
			if h, err := ParseBlockHeader(b[i:]); err == nil && from+BlockHeaderSize+int64(h.Stored) <= to {
				return from, nil
			}
			from++
		}
	}
	return to, nil
}
