package format

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// textTally counts a section as its index and end block should tell it. Dump leaves out what is as counted, and
// undump fills it in again.
type textTally struct {
	index       []indexEntry
	offset      uint64 // of the next block in the section
	indexAt     uint64 // of the last index block; 0: none so far
	kinds       map[Kind]kindCount
	raw, stored uint64
	definitions uint64
	late        uint64
	losses      []*Loss
	close       int64 // when the section ends, unless its end block says more
}

// begin starts with a section's header.
func (t *textTally) begin(s *Session) {
	*t = textTally{kinds: map[Kind]kindCount{}, close: max(s.GetOpen(), s.GetClose())}
}

// add counts one block of which all has been told to b. h is the header as written.
func (t *textTally) add(b *textBlock, h *BlockHeader, stored int) {
	if b.typ == BlockIndex {
		t.indexAt = t.offset
	}
	if len(t.index) < maxIndexEntries {
		t.index = append(t.index, indexEntry{*h, t.offset})
	}
	t.offset += uint64(BlockHeaderSize + stored)
	if b.typ != BlockEvents {
		return
	}
	t.raw += uint64(h.Raw)
	t.stored += uint64(h.Stored)
	for kind, c := range b.counts {
		sum := t.kinds[kind]
		t.kinds[kind] = kindCount{sum.events + c.events, sum.bytes + c.bytes}
	}
	t.late += b.late
	for _, l := range b.losses {
		t.losses = addLoss(t.losses, l)
	}
	if b.events.events > 0 {
		t.close = max(t.close, b.events.last)
	}
}

// indexMessage is the index of the blocks so far.
func (t *textTally) indexMessage() *Index {
	x := &Index{}
	for i := range t.index {
		x.Blocks = append(x.Blocks, t.index[i].message())
	}
	return x
}

// countedFields are those fields of End that the stream's blocks tell.
func countedFields() []protoreflect.Name {
	return []protoreflect.Name{"kinds", "raw_bytes", "stored_bytes", "losses", "late", "definitions"}
}

// end is an End with the counted fields.
func (t *textTally) end() *End {
	e := &End{RawBytes: t.raw, StoredBytes: t.stored, Late: t.late, Definitions: t.definitions}
	for kind, c := range t.kinds {
		e.Kinds = append(e.Kinds, &KindCount{Kind: uint32(kind), Events: c.events, Bytes: c.bytes})
	}
	slices.SortFunc(e.Kinds, func(a, b *KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	for _, l := range t.losses {
		e.Losses = append(e.Losses, proto.CloneOf(l))
	}
	return e
}

// footer is the right one for an end block of so many bytes that stands next.
func (t *textTally) footer(payload int) Footer {
	size := uint64(BlockHeaderSize + payload + FooterSize)
	f := Footer{Section: t.offset + size, End: size}
	if t.indexAt != 0 {
		f.Index = f.Section - t.indexAt
	}
	return f
}

func compareLoss(a, b *Loss) int {
	return cmp.Or(cmp.Compare(a.Cpu, b.Cpu), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cause, b.Cause))
}
