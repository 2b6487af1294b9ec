package format

import (
	"bytes"
	"testing"
)

// TestBlockReaderReusesPayload reads blocks of which each is a little longer than the one before.
func TestBlockReaderReusesPayload(t *testing.T) {
	c, err := newCompressor(1)
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 50
	var stream []byte
	for i := range blocks {
		stream, _ = c.appendBlock(stream, BlockHeader{Type: BlockDefinitions}, make([]byte, 100_000+10*i))
	}
	r := NewBlockReader(bytes.NewReader(stream))
	buffers := make(map[*byte]bool)
	for range blocks {
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		buffers[&b.Payload[0]] = true
	}
	if len(buffers) != 1 {
		t.Errorf("%d blocks were decompressed into %d buffers, want 1", blocks, len(buffers))
	}
}
