package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	// BlockHeaderSize is the size of every block header.
	BlockHeaderSize = 72
	// MaxBlockBytes is the maximum size of a block's payload, both before compression and after.
	MaxBlockBytes = 16 << 20
	// blockMarker begins every block. Like PNG's it breaks when a transfer changes line ends or strips a bit.
	blockMarker = "\x89WPR\r\n\x1a\n"
)

// BlockType is what a block's payload is.
type BlockType uint8

const (
	BlockHeaderType  BlockType = 1 // version, required features and Session
	BlockDefinitions BlockType = 2 // Definitions
	BlockEvents      BlockType = 3 // two columns of event records
	BlockIndex       BlockType = 4 // Index
	BlockEnd         BlockType = 5 // End and footer
)

// BlockFlags are the flags of a block header.
type BlockFlags uint8

const (
	BlockZstd  BlockFlags = 1 << 0 // the payload is one zstd frame
	BlockState BlockFlags = 1 << 1 // the events begin with a state: a reader may start here
)

// BlockHeader precedes each block's payload. FORMAT.md has the layout.
type BlockHeader struct {
	Type     BlockType
	Flags    BlockFlags
	Section  uint32 // the same in all blocks of a section, different in adjacent sections
	Sequence uint32 // number of the block in its section, from 0
	Origin   uint32
	First    int64 // time of the first event
	Last     int64 // time of the last event
	Earliest int64 // earliest time that any event has
	Stored   uint32
	Raw      uint32
	Events   uint32
	CRC      uint32 // CRC-32C of the stored payload
}

var errNoMarker = errors.New("no block begins here")

// spoolMarker begins the recorder's spool, which is left behind by a recording that was killed.
const spoolMarker = "WSPL"

var errSpool = errors.New("it is the spool of a recording that was cut short; wprof-symbolize FILE.part -o FILE makes a stream of it")

// crcTable is CRC-32C; crc32 recognises it and uses the processor's instruction.
func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// AppendTo appends the header's 72 bytes with its checksum.
func (h *BlockHeader) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, blockMarker...)
	dst = append(dst, byte(h.Type), byte(h.Flags), 0, 0)
	le := binary.LittleEndian
	for _, v := range [...]uint32{h.Section, h.Sequence, h.Origin} {
		dst = le.AppendUint32(dst, v)
	}
	for _, v := range [...]int64{h.First, h.Last, h.Earliest} {
		dst = le.AppendUint64(dst, uint64(v))
	}
	for _, v := range [...]uint32{h.Stored, h.Raw, h.Events, h.CRC, 0} {
		dst = le.AppendUint32(dst, v)
	}
	return le.AppendUint32(dst, crc32.Checksum(dst[start:], crcTable()))
}

// ParseBlockHeader reads the header at the start of b, which has at least [BlockHeaderSize] bytes.
func ParseBlockHeader(b []byte) (BlockHeader, error) {
	if len(b) < BlockHeaderSize || !bytes.HasPrefix(b, []byte(blockMarker)) {
		if bytes.HasPrefix(b, []byte(spoolMarker)) {
			return BlockHeader{}, errSpool
		}
		return BlockHeader{}, errNoMarker
	}
	le := binary.LittleEndian
	const sum = BlockHeaderSize - 4
	if crc32.Checksum(b[:sum], crcTable()) != le.Uint32(b[sum:]) {
		return BlockHeader{}, errors.New("the checksum of a block header does not match")
	}
	h := BlockHeader{
		Type: BlockType(b[8]), Flags: BlockFlags(b[9]),
		Section: le.Uint32(b[12:]), Sequence: le.Uint32(b[16:]), Origin: le.Uint32(b[20:]),
		First: int64(le.Uint64(b[24:])), Last: int64(le.Uint64(b[32:])), Earliest: int64(le.Uint64(b[40:])),
		Stored: le.Uint32(b[48:]), Raw: le.Uint32(b[52:]), Events: le.Uint32(b[56:]), CRC: le.Uint32(b[60:]),
	}
	return h, h.check()
}

func (h *BlockHeader) check() error {
	switch {
	case h.Raw > MaxBlockBytes || h.Stored > MaxBlockBytes:
		return fmt.Errorf("a block claims %d bytes, more than the %d that are allowed", max(h.Raw, h.Stored), MaxBlockBytes)
	case h.Flags&BlockZstd == 0 && h.Stored != h.Raw:
		return fmt.Errorf("a block that is not compressed claims %d bytes of %d", h.Stored, h.Raw)
	case !isTime(h.First) || !isTime(h.Last) || !isTime(h.Earliest):
		return fmt.Errorf("the header of a block: %w", errTime)
	}
	return nil
}

// AppendBlock appends a block with h's type, numbers and times. Lengths, checksums and the zstd flag are set here;
// level is that of [WriterOptions].
func AppendBlock(dst []byte, h BlockHeader, payload []byte, level int) ([]byte, error) {
	c, err := newCompressor(level)
	if err != nil {
		return dst, err
	}
	dst, _ = c.appendBlock(dst, h, payload)
	return dst, nil
}

// blockCRC is the checksum of a stored payload.
func blockCRC(stored []byte) uint32 { return crc32.Checksum(stored, crcTable()) }
