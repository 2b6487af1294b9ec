package info

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// damageTold is the damage that summaries tell of a stream in a file and in a pipe.
func damageTold(t *testing.T, stream []byte) (ofFile, ofPipe []string) {
	t.Helper()
	file, pipe := summarized(t, stream, io.MultiReader(bytes.NewReader(stream)))
	return file.Damage, pipe.Damage
}

// Whatever is wrong with the blocks of a stream, but for the bytes of their payloads, is told without reading these.
func TestSummaryTellsWhatIsWrongWithBlocks(t *testing.T) {
	stream, err := os.ReadFile("../../test/damage/testdata/capture.wprof")
	if err != nil {
		t.Fatal(err)
	}
	blocks := tools.BlocksOf(t, stream)
	tells := func(what string, i int, damaged ...[]byte) {
		t.Helper()
		if file, pipe := damageTold(t, bytes.Join(damaged, nil)); len(file) == 0 || len(pipe) == 0 {
			t.Errorf("block %d %s: told of the file %q, of the pipe %q", i, what, file, pipe)
		}
	}
	if file, pipe := damageTold(t, stream); len(file)+len(pipe) > 0 {
		t.Errorf("of the whole stream is told %q and %q", file, pipe)
	}
	for i, b := range blocks {
		tells("is gone", i, slices.Delete(slices.Clone(blocks), i, i+1)...)
		tells("stands twice", i, slices.Insert(slices.Clone(blocks), i, b)...)
		zeroed := slices.Clone(blocks)
		zeroed[i] = append(make([]byte, format.BlockHeaderSize), b[format.BlockHeaderSize:]...)
		tells("has no header", i, zeroed...)
		if i+1 < len(blocks) {
			swapped := slices.Clone(blocks)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			tells("stands behind the next one", i, swapped...)
		}
		tells("stands behind foreign bytes", i, slices.Insert(slices.Clone(blocks), i, make([]byte, 1<<20))...)
	}
}
