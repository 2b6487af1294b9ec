package textform

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/format/internal/raw"
)

// composer writes complete blocks, valid or not. It holds back the last one, so that it can be cut.
type composer struct {
	w     io.Writer
	held  []byte
	place blockPlace // of the next block, unless the text sets another
	real  uint32     // number of the section that the last block was of
	ended bool       // the last block was its end
	tally raw.Tally
	zstd  *zstd.Encoder // made for the first block that needs it
}

func newComposer(w io.Writer) *composer {
	return &composer{w: w}
}

// add writes a block.
func (c *composer) add(b *draft) error {
	if session, ok := b.msg.(*format.Session); ok {
		c.place = blockPlace{section: format.SectionNumber(session)}
		c.place.section = c.sectionOf(b)
		c.tally, c.real, c.ended = raw.NewTally(session), c.place.section, false
	}
	c.enter(b)
	payload, err := c.payload(b)
	if err != nil {
		return err
	}
	if payload = append(payload, b.extra...); len(payload) > format.MaxBlockBytes {
		return fmt.Errorf("the block takes %d bytes, more than the %d that are allowed", len(payload), format.MaxBlockBytes)
	}
	stored := payload
	if b.flags&format.BlockZstd != 0 {
		if stored, err = c.compress(payload); err != nil {
			return err
		}
	}
	h := b.header(c.place, payload, stored)
	c.tally.Add(&h, b.typ, len(stored))
	c.tally.AddEvents(&b.events, &b.counts)
	c.place.sequence = h.Sequence + 1
	c.ended = b.typ == format.BlockEnd
	if b.drop {
		return nil
	}
	out := h.AppendTo(nil)
	if b.badHead {
		out[format.BlockHeaderSize-1] ^= 0xff
	}
	return c.write(append(out, stored...))
}

// enter begins a section if a block is of another one than the block before it, or follows an end: its header block is missing.
func (c *composer) enter(b *draft) {
	if number := c.sectionOf(b); number != c.real || c.ended {
		c.real, c.ended, c.tally = number, false, raw.Tally{}
	}
}

func (c *composer) sectionOf(b *draft) uint32 {
	if number, ok := b.set["section"]; ok {
		return uint32(number)
	}
	return c.place.section
}

// header returns the block's header: the correct values, replaced by those of the text.
func (b *draft) header(place blockPlace, payload, stored []byte) format.BlockHeader {
	h := format.BlockHeader{
		Type: b.typ, Flags: b.flags, Section: place.section, Sequence: place.sequence,
		First: b.events.First, Last: b.events.Last, Earliest: b.events.Earliest, Events: b.events.Events,
		Stored: uint32(len(stored)), Raw: uint32(len(payload)), CRC: crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli)),
	}
	if b.badCRC {
		h.CRC = ^h.CRC
	}
	for _, f := range headerFields() {
		if v, ok := b.set[f.name]; ok {
			f.put(&h, v)
		}
	}
	return h
}

func (c *composer) payload(b *draft) ([]byte, error) {
	switch msg := b.msg.(type) {
	case *format.Session:
		return format.AppendHeaderPayload(nil, b.version, msg)
	case *format.Definitions:
		err := b.encodeDefinition()
		c.tally.Definitions += b.definitions
		return b.encoded, err
	case *format.Index:
		if !b.given["blocks"] {
			b.msg = c.tally.IndexMessage()
		}
	case *format.End:
		return c.endPayload(b, msg)
	case nil:
		if b.opaque {
			return nil, nil
		}
		return b.events.Payload(), nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(b.msg)
}

// endPayload fills in the fields that the text does not set.
func (c *composer) endPayload(b *draft, end *format.End) ([]byte, error) {
	counted := c.tally.End().ProtoReflect()
	for _, name := range raw.CountedFields() {
		if f := counted.Descriptor().Fields().ByName(name); !b.given[name] && counted.Has(f) {
			end.ProtoReflect().Set(f, counted.Get(f))
		}
	}
	if !b.given["close"] {
		end.Close = c.tally.Close
	}
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(end)
	if err != nil || b.footer.none {
		return payload, err
	}
	footer := c.tally.Footer(len(payload))
	if b.footer.given != nil {
		footer = *b.footer.given
	}
	return footer.AppendTo(payload), nil
}

func (c *composer) compress(payload []byte) ([]byte, error) {
	if c.zstd == nil {
		var err error
		c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
		if err != nil {
			return nil, fmt.Errorf("make a zstd encoder: %w", err)
		}
	}
	return c.zstd.EncodeAll(payload, nil), nil
}

// write holds back bytes, which can still be cut.
func (c *composer) write(b []byte) error {
	if err := c.flush(); err != nil {
		return err
	}
	c.held = b
	return nil
}

// cut removes n bytes from the end.
func (c *composer) cut(n int) error {
	if n > len(c.held) {
		return fmt.Errorf("the block before it has %d bytes, so %d cannot be cut; drop removes a whole block", len(c.held), n)
	}
	c.held = c.held[:len(c.held)-n]
	return nil
}

// flush writes what is held back.
func (c *composer) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	n, err := c.w.Write(c.held)
	if err == nil && n < len(c.held) {
		err = io.ErrShortWrite
	}
	c.held = nil
	if err != nil {
		return fmt.Errorf("write the stream: %w", err)
	}
	return nil
}
