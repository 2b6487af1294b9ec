package raw

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
)

// Tally counts the contents of a section for its index and end block. Its zero value is for one without a header block.
type Tally struct {
	Index       []Place
	Offset      uint64 // of the next block in the section
	IndexAt     uint64 // of the last index block; 0: none so far
	Definitions uint64 // that End.definitions counts
	Close       int64  // when the section ends, unless its end block has another time
	Types       Types

	raw, stored uint64
	counts      Counts
}

// Place is a block and where it is in its section.
type Place struct {
	Header format.BlockHeader
	Offset uint64
}

// Entry returns the index entry of the block.
func (p *Place) Entry() *format.IndexEntry { return p.Header.IndexEntry(p.Offset) }

// NewTally starts with a section's header.
func NewTally(s *format.Session) Tally {
	return Tally{Close: max(s.GetOpen(), s.GetClose())}
}

// Add counts one block with its header as written.
func (t *Tally) Add(h *format.BlockHeader, typ format.BlockType, stored int) {
	if typ == format.BlockIndex {
		t.IndexAt = t.Offset
	}
	if len(t.Index) < format.MaxIndexEntries {
		t.Index = append(t.Index, Place{*h, t.Offset})
	}
	t.Offset += uint64(format.BlockHeaderSize + stored)
	if typ == format.BlockEvents {
		t.raw += uint64(h.Raw)
		t.stored += uint64(h.Stored)
	}
}

// AddEvents counts what an event block holds.
func (t *Tally) AddEvents(r *Records, counts *Counts) {
	t.counts.add(counts)
	if r.Events > 0 {
		t.Close = max(t.Close, r.Last)
	}
}

// IndexMessage is the index of the blocks so far.
func (t *Tally) IndexMessage() *format.Index {
	x := &format.Index{}
	for i := range t.Index {
		x.Blocks = append(x.Blocks, t.Index[i].Entry())
	}
	return x
}

// CountedFields are the fields of End that are computed from the section's blocks.
func CountedFields() []protoreflect.Name {
	return []protoreflect.Name{"kinds", "raw_bytes", "stored_bytes", "losses", "late", "definitions", "types"}
}

// End is an End with the counted fields.
func (t *Tally) End() *format.End {
	e := &format.End{RawBytes: t.raw, StoredBytes: t.stored, Late: t.counts.late, Definitions: t.Definitions}
	e.Types = format.CountTypes(t.counts.typed, t.Types.byID).List()
	for kind, c := range t.counts.kinds {
		e.Kinds = append(e.Kinds, &format.KindCount{Kind: uint32(kind), Events: c.events, Bytes: c.bytes})
	}
	slices.SortFunc(e.Kinds, func(a, b *format.KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	e.Losses = t.counts.losses.List()
	return e
}

// Footer returns the correct footer if an end block of this size is the next block.
func (t *Tally) Footer(payload int) format.Footer {
	size := uint64(format.BlockHeaderSize + payload + format.FooterSize)
	f := format.Footer{Section: t.Offset + size, End: size}
	if t.IndexAt != 0 {
		f.Index = f.Section - t.IndexAt
	}
	return f
}
