package format

import (
	"bytes"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"
)

// capture is a real one, a part at a time: the beginning, and from the middle to the end.
func captureParts(f *testing.F) [][]byte {
	stream, err := os.ReadFile("../test/damage/testdata/capture.wprof")
	if err != nil {
		f.Fatal(err)
	}
	return [][]byte{stream[:6<<10], stream[len(stream)-10<<10:]}
}

// captureBlocks are the blocks of a real capture.
func captureBlocks(f *testing.F) (all []Block) {
	parts := captureParts(f)
	for blocks := NewBlockReader(bytes.NewReader(parts[len(parts)-1])); ; {
		b, err := blocks.Next()
		if err != nil {
			return all
		}
		b.Payload = bytes.Clone(b.Payload)
		all = append(all, *b)
	}
}

// FuzzSummary finds sections from footers and indices, and where these are wrong, from block to block.
func FuzzSummary(f *testing.F) {
	for _, part := range captureParts(f) {
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		sections, err := ReadSummary(bytes.NewReader(stream), int64(len(stream)))
		if err != nil {
			return
		}
		at := int64(0)
		for _, s := range sections {
			if s.Offset < at || s.Size <= 0 || s.Offset+s.Size > int64(len(stream)) {
				t.Fatalf("a section of %d bytes at %d after one that ends at %d, of %d", s.Size, s.Offset, at, len(stream))
			}
			at = s.Offset + s.Size
		}
		_ = CheckTimeline(sections)
	})
}

// FuzzPayloads reads payloads that no checksum protects here.
func FuzzPayloads(f *testing.F) {
	for _, b := range captureBlocks(f) {
		if b.Header.Type != BlockEvents && len(b.Payload) < 4<<10 {
			f.Add(b.Payload)
		}
	}
	types, err := proto.Marshal(&Definitions{EventTypes: []*EventType{request(), {Id: 8}}, Texts: []*Text{LostText(3)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(types)
	f.Fuzz(func(t *testing.T, payload []byte) {
		_, _, _ = ParseHeaderPayload(payload)
		_, _, _ = ParseEndPayload(payload)
		_, _ = ParseIndexPayload(payload, 1<<20)
		_, _ = ParseBlockHeader(payload)
		_, _ = ParseFooter(payload)
		var d definitions
		_ = d.add(payload)
		for id := range uint32(16) {
			if typ := d.eventType(id); typ != nil && typ.Problem() != "" {
				t.Errorf("a type is used although %s", typ.Problem())
			}
		}
	})
}
