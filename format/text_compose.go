package format

import (
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"
)

// blockComposer writes finished blocks, right or wrong. It holds back the last one, so that it can be cut.
type blockComposer struct {
	w     io.Writer
	held  []byte
	place blockPlace // of the next block
	tally textTally
	zstd  *compressor // made when the first block wants it
}

func newBlockComposer(w io.Writer) *blockComposer {
	c := &blockComposer{w: w}
	c.tally.begin(nil)
	return c
}

// add writes a block.
func (c *blockComposer) add(b *textBlock) error {
	if session, ok := b.msg.(*Session); ok {
		c.place = blockPlace{section: SectionNumber(session)}
		if number, ok := b.set["section"]; ok {
			c.place.section = uint32(number)
		}
		c.tally.begin(session)
	}
	payload, err := c.payload(b)
	if err != nil {
		return err
	}
	if payload = append(payload, b.extra...); len(payload) > MaxBlockBytes {
		return fmt.Errorf("the block takes %d bytes, more than the %d that are allowed", len(payload), MaxBlockBytes)
	}
	stored := payload
	if b.flags&BlockZstd != 0 {
		if stored, err = c.compress(payload); err != nil {
			return err
		}
	}
	h := b.header(c.place, payload, stored)
	c.tally.add(b, &h, len(stored))
	c.place.sequence = h.Sequence + 1
	if b.drop {
		return nil
	}
	out := h.AppendTo(nil)
	if b.badHead {
		out[BlockHeaderSize-1] ^= 0xff
	}
	return c.write(append(out, stored...))
}

// header is what the block's header says: what is right, then what the text wants.
func (b *textBlock) header(place blockPlace, payload, stored []byte) BlockHeader {
	h := BlockHeader{
		Type: b.typ, Flags: b.flags, Section: place.section, Sequence: place.sequence,
		First: b.events.first, Last: b.events.last, Earliest: b.events.earliest, Events: b.events.events,
		Stored: uint32(len(stored)), Raw: uint32(len(payload)), CRC: crc32.Checksum(stored, crcTable()),
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

func (c *blockComposer) payload(b *textBlock) ([]byte, error) {
	switch msg := b.msg.(type) {
	case *Session:
		return AppendHeaderPayload(nil, b.version, msg)
	case *Definitions:
		err := b.settle()
		c.tally.definitions += b.definitions
		return b.settled, err
	case *Index:
		if !b.told["blocks"] {
			b.msg = c.tally.indexMessage()
		}
	case *End:
		return c.endPayload(b, msg)
	case nil:
		if b.opaque {
			return nil, nil
		}
		return b.events.payload(), nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(b.msg)
}

// endPayload fills in what the text does not tell.
func (c *blockComposer) endPayload(b *textBlock, end *End) ([]byte, error) {
	counted := c.tally.end().ProtoReflect()
	for _, name := range countedFields() {
		if f := counted.Descriptor().Fields().ByName(name); !b.told[name] && counted.Has(f) {
			end.ProtoReflect().Set(f, counted.Get(f))
		}
	}
	if !b.told["close"] {
		end.Close = c.tally.close
	}
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(end)
	if err != nil || b.footer.none {
		return payload, err
	}
	footer := c.tally.footer(len(payload))
	if b.footer.told != nil {
		footer = *b.footer.told
	}
	return footer.AppendTo(payload), nil
}

func (c *blockComposer) compress(payload []byte) ([]byte, error) {
	if c.zstd == nil {
		var err error
		if c.zstd, err = newCompressor(1); err != nil {
			return nil, err
		}
	}
	return c.zstd.enc.EncodeAll(payload, nil), nil
}

// write writes bytes and holds them back as what can be cut.
func (c *blockComposer) write(b []byte) error {
	if err := c.flush(); err != nil {
		return err
	}
	c.held = b
	return nil
}

// cut takes n bytes off the end.
func (c *blockComposer) cut(n int) error {
	if n > len(c.held) {
		return fmt.Errorf("the block before it has %d bytes, so %d cannot be cut; drop removes a whole block", len(c.held), n)
	}
	c.held = c.held[:len(c.held)-n]
	return nil
}

// flush writes what is held back.
func (c *blockComposer) flush() error {
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
