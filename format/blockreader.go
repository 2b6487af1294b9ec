package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Block is one whole block: its header and payload have been checked.
type Block struct {
	Header  BlockHeader
	Offset  int64  // of the header in the stream
	Stored  []byte // the payload as stored
	Payload []byte // decompressed
	Skipped int64  // bytes before this block that belong to no whole block
	Problem string // what was wrong with the first of them

	unread bool // the payload was skipped: it is empty and was not checked
}

// BlockReader yields the whole blocks of a stream, in order, and skips what is damaged. Its memory is bounded by the
// maximum size of a block.
type BlockReader struct {
	r        io.Reader
	buf      []byte // bytes read: buf[pos:end] have not been parsed yet
	pos, end int
	base     int64 // offset of buf[0] in the stream
	err      error // of r, io.EOF included
	dec      *zstd.Decoder
	block    Block
	skipped  int64
	problem  string
	wasted   int64 // bytes of payloads whose checksum was wrong
	limit    int64 // where to stop if no block was found until then; 0: none, or one was found

	// skips reports whether a block's payload is not needed: it is not decompressed, and only checked if checksAll is set.
	skips     func(*BlockHeader) bool
	checksAll bool
}

// firstWithin is the number of bytes within which the first whole block must begin, in an input that may have no end.
const firstWithin = 16 << 20

// NewBlockReader returns a BlockReader that begins at r's first byte. Unless r is finite, it fails with an error that
// wraps [ErrNotStream] if the first 16 MiB have no whole block.
func NewBlockReader(r io.Reader) *BlockReader {
	b := &BlockReader{r: r}
	if !IsFinite(r) {
		b.limit = firstWithin
	}
	return b
}

// IsFinite reports whether an input is known to end: a regular file, one in memory, or one whose method Finite returns
// true. A pipe may not end.
func IsFinite(r io.Reader) bool {
	if f, ok := r.(interface{ Finite() bool }); ok {
		return f.Finite()
	}
	file, err := asFile(r)
	return err == nil && file != nil
}

// Next returns the next whole block, or io.EOF. The block is valid until the next call. At io.EOF
// [BlockReader.Trailing] returns what came after the last whole block.
func (b *BlockReader) Next() (*Block, error) {
	if err := b.next(&b.block); err != nil {
		return nil, err
	}
	return &b.block, nil
}

// Trailing returns the number of bytes after the last whole block, and what was wrong with the first of them.
func (b *BlockReader) Trailing() (int64, string) { return b.skipped, b.problem }

// NotStream returns the error about input without a whole block, after [BlockReader.Next] has returned io.EOF.
func (b *BlockReader) NotStream() error { return notStream(b.skipped, b.problem) }

// notStream returns the error about input in which only trailing bytes were found. What is wrong with the first of them may
// show what it is instead.
func notStream(trailing int64, problem string) error {
	if trailing > 0 {
		return fmt.Errorf("%w: no whole block was found (%s)", ErrNotStream, problem)
	}
	return fmt.Errorf("%w: the input is empty", ErrNotStream)
}

// IsOther reports whether an input that ends is neither a stream, damaged or not, nor the recorder's spool, about which the error of
// reading it has advice.
func IsOther(r io.Reader) bool {
	b := NewBlockReader(r)
	_, err := b.Next()
	return err != nil && !strings.HasSuffix(b.problem, errSpool.Error())
}

// next reads the next whole block into the given one and reuses its payload's memory.
func (b *BlockReader) next(into *Block) error {
	for {
		if !b.fill(BlockHeaderSize) {
			return b.finish()
		}
		if b.limit > 0 && b.offset() > b.limit {
			return fmt.Errorf("%w: no whole block is in its first 16 MiB (%s)", ErrNotStream, b.problem)
		}
		h, err := ParseBlockHeader(b.buf[b.pos:b.end])
		if err != nil {
			b.note(err)
			b.resync()
			continue
		}
		size := BlockHeaderSize + int(h.Stored)
		if !b.fill(size) {
			b.note(fmt.Errorf("the stream ends within a block of %d bytes", size))
			b.resync()
			continue
		}
		if b.take(h, into) {
			return nil
		}
	}
}

// take makes a block of the stored payload in the buffer, or skips it.
func (b *BlockReader) take(h BlockHeader, into *Block) bool {
	start := b.pos + BlockHeaderSize
	stored := b.buf[start : start+int(h.Stored)]
	needed := b.skips == nil || !b.skips(&h)
	if (needed || b.checksAll) && blockCRC(stored) != h.CRC {
		b.note(errors.New("the checksum of a block does not match"))
		b.skipDamaged(len(stored))
		return false
	}
	payload := into.Payload[:0]
	if needed {
		var err error
		if payload, err = b.unpack(payload, h, stored); err != nil {
			b.note(err)
			b.skip(BlockHeaderSize + len(stored))
			return false
		}
	}
	*into = Block{Header: h, Offset: b.offset(), Stored: stored, Payload: payload, Skipped: b.skipped, Problem: b.problem, unread: !needed}
	b.skipped, b.problem, b.limit = 0, "", 0
	b.pos += BlockHeaderSize + len(stored)
	return true
}

func (b *BlockReader) unpack(dst []byte, h BlockHeader, stored []byte) ([]byte, error) {
	if cap(dst) < int(h.Raw) {
		// A little more, so that the next block, which is nearly as long, finds room.
		dst = make([]byte, 0, min(int(h.Raw)+int(h.Raw)/4, MaxBlockBytes))
	}
	if h.Flags&BlockZstd == 0 {
		return append(dst, stored...), nil
	}
	if b.dec == nil {
		var err error
		if b.dec, err = newDecompressor(); err != nil {
			return dst, err
		}
	}
	out, err := b.dec.DecodeAll(stored, dst[:0:h.Raw])
	if err != nil || len(out) != int(h.Raw) {
		return dst, fmt.Errorf("a block of %d bytes does not decompress to the %d that it claims", len(stored), h.Raw)
	}
	return dst[:len(out)], nil // out's capacity is limited
}

// offset is the offset in the stream of the next byte to be parsed.
func (b *BlockReader) offset() int64 { return b.base + int64(b.pos) }

// note keeps the first problem of a hole.
func (b *BlockReader) note(err error) {
	if b.problem == "" {
		b.problem = fmt.Sprintf("at byte %d: %v", b.offset(), err)
	}
}

func (b *BlockReader) skip(n int) {
	b.pos += n
	b.skipped += int64(n)
}

// skipDamaged skips a block whose payload is damaged. If bytes are missing within it, the next block begins before
// its end, so its inside is searched. A hostile stream could make that quadratic, so the wasted work is bounded.
func (b *BlockReader) skipDamaged(stored int) {
	const allowed = 64 << 20
	b.wasted += int64(stored)
	if b.wasted > allowed+2*b.offset() {
		b.skip(BlockHeaderSize + stored)
		return
	}
	b.resync()
}

// resync skips at least a byte, up to the next marker or to where one may begin.
func (b *BlockReader) resync() {
	rest := b.buf[b.pos+1 : b.end]
	if i := bytes.Index(rest, []byte(blockMarker)); i >= 0 {
		b.skip(1 + i)
		return
	}
	b.skip(1 + max(0, len(rest)-len(blockMarker)+1))
}

// fill reads until the buffer has n bytes. It returns after the read that reaches them, so that a live stream is not delayed.
func (b *BlockReader) fill(n int) bool {
	for idle := 0; b.end-b.pos < n; idle++ {
		if b.err != nil {
			return false
		}
		b.makeRoom(n)
		got, err := b.r.Read(b.buf[b.end:])
		b.end += got
		b.err = err
		if got > 0 {
			idle = 0
		} else if idle == 100 && err == nil {
			b.err = io.ErrNoProgress
		}
	}
	return true
}

// makeRoom makes space for another read. The buffer grows as bytes arrive, not by the lengths that headers claim.
func (b *BlockReader) makeRoom(n int) {
	const least = 256 << 10
	if b.end < len(b.buf) && b.pos+n <= len(b.buf) {
		return
	}
	to := b.buf
	if b.end-b.pos > len(b.buf)/2 {
		to = make([]byte, max(least, min(2*len(b.buf), MaxBlockBytes+BlockHeaderSize+least)))
	} else if len(b.buf) == 0 {
		to = make([]byte, least)
	}
	copy(to, b.buf[b.pos:b.end])
	b.base += int64(b.pos)
	b.buf, b.end, b.pos = to, b.end-b.pos, 0
}

// finish returns the result of next when no whole block follows.
func (b *BlockReader) finish() error {
	if rest := b.end - b.pos; rest > 0 {
		b.note(errors.New("the stream ends within a block"))
		b.skip(rest)
	}
	if b.err != nil && !errors.Is(b.err, io.EOF) {
		return fmt.Errorf("read the stream at byte %d: %w", b.offset(), b.err)
	}
	return io.EOF
}
