package columns

import (
	"sync"

	klauspost "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// codec compresses pages with zstd's fastest level. The library's own encoders keep 8 MiB of history each, for windows that
// are larger than any page.
type codec struct {
	zstd.Codec
	encoders sync.Pool
}

const window = 256 << 10

// Encode implements [compress.Codec].
func (c *codec) Encode(to, page []byte) ([]byte, error) {
	e, _ := c.encoders.Get().(*klauspost.Encoder)
	if e == nil {
		var err error
		e, err = klauspost.NewWriter(nil, klauspost.WithEncoderLevel(klauspost.SpeedFastest), klauspost.WithEncoderConcurrency(1),
			klauspost.WithWindowSize(window), klauspost.WithLowerEncoderMem(true), klauspost.WithZeroFrames(true), klauspost.WithEncoderCRC(false))
		if err != nil {
			return nil, err
		}
	}
	defer c.encoders.Put(e)
	return e.EncodeAll(page, to[:0]), nil
}
