package columns

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// codec compresses pages with zstd's fastest level. With the window of that level, an encoder would keep 8 MiB of history.
type codec struct{ encoders sync.Pool }

const window = 256 << 10

// Encode compresses a page into to.
func (c *codec) Encode(to, page []byte) ([]byte, error) {
	e, _ := c.encoders.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, err
		}
	}
	defer c.encoders.Put(e)
	return e.EncodeAll(page, to[:0]), nil
}
