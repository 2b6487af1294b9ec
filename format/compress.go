package format

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// compressor compresses payloads into blocks.
type compressor struct {
	enc *zstd.Encoder // nil: level 0
}

func newCompressor(level int) (*compressor, error) {
	if level == 0 {
		return &compressor{}, nil
	}
	levels := [...]zstd.EncoderLevel{1: zstd.SpeedFastest, 2: zstd.SpeedDefault, 3: zstd.SpeedBetterCompression}
	if level < 0 || level >= len(levels) {
		return nil, fmt.Errorf("compression level %d: want 0 to %d", level, len(levels)-1)
	}
	// The block's own checksum covers the frame; a window of 1 MiB holds several blocks of the usual size.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(levels[level]), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder: %w", err)
	}
	return &compressor{enc}, nil
}

// appendBlock appends header and payload, compressed if that makes it smaller, and returns the header as written.
func (c *compressor) appendBlock(dst []byte, h BlockHeader, payload []byte) ([]byte, BlockHeader) {
	start := len(dst)
	dst = append(dst, make([]byte, BlockHeaderSize)...)
	h.Flags &^= BlockZstd
	if c.enc != nil {
		dst = c.enc.EncodeAll(payload, dst)
		if len(dst)-start-BlockHeaderSize < len(payload) {
			h.Flags |= BlockZstd
		} else {
			dst = dst[:start+BlockHeaderSize]
		}
	}
	if h.Flags&BlockZstd == 0 {
		dst = append(dst, payload...)
	}
	stored := dst[start+BlockHeaderSize:]
	h.Stored, h.Raw = uint32(len(stored)), uint32(len(payload))
	h.CRC = blockCRC(stored)
	h.AppendTo(dst[start:start])
	return dst, h
}

// newDecompressor returns a decoder that never writes beyond the capacity of its buffer, and rejects
// frames with a window larger than a block can be.
func newDecompressor() (*zstd.Decoder, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(MaxBlockBytes), zstd.WithDecoderMaxMemory(MaxBlockBytes), zstd.IgnoreChecksum(true))
	if err != nil {
		return nil, fmt.Errorf("make a zstd decoder: %w", err)
	}
	return dec, nil
}
