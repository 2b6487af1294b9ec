package format

import "sync/atomic"

// aheadBlocks is the number of blocks that may be read, checked and decompressed before they are needed; of blocks much
// larger than those of our writer, only one is.
const (
	aheadBlocks = 4
	largeBlock  = 1 << 20
)

// loaded is a block from the goroutine that reads ahead.
type loaded struct {
	Block
	err error
}

// ahead reads blocks in another goroutine. The loaded blocks are reused: the receiver gives each one back.
type ahead struct {
	ready chan *loaded
	free  chan *loaded
	stop  chan struct{}
	done  chan struct{}
}

func startAhead(b *BlockReader) *ahead {
	a := &ahead{
		ready: make(chan *loaded, aheadBlocks), free: make(chan *loaded, aheadBlocks),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range aheadBlocks {
		a.free <- new(loaded)
	}
	go a.run(b)
	return a
}

func (a *ahead) run(b *BlockReader) {
	defer close(a.done)
	for {
		select {
		case <-a.stop:
			return
		case l := <-a.free:
			if l.err = b.next(&l.Block); l.err != nil {
				l.Skipped, l.Problem = b.Trailing()
			}
			isLarge := len(l.Payload) > largeBlock
			// There is room for all of them, so this never waits.
			a.ready <- l
			if l.err != nil || isLarge && !a.waitFor(l) {
				return
			}
		}
	}
}

// waitFor waits until a large block is given back, and frees its payload. It returns false if reading is stopped.
func (a *ahead) waitFor(l *loaded) bool {
	var others []*loaded
	for {
		select {
		case <-a.stop:
			return false
		case back := <-a.free:
			if back != l {
				others = append(others, back)
				continue
			}
			l.Payload = nil
			for _, one := range append(others, l) {
				a.free <- one
			}
			return true
		}
	}
}

// skipAfter sets from which time on the goroutine that reads ahead may skip event blocks.
type skipAfter struct {
	set  atomic.Bool
	time atomic.Int64
}

func (s *skipAfter) skips(h *BlockHeader) bool {
	return h.Type == BlockEvents && s.set.Load() && min(h.First, h.Earliest) >= s.time.Load()
}
