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

// reportedDamage returns the damage in the summaries of a stream from a file and from a pipe.
func reportedDamage(t *testing.T, stream []byte) (ofFile, ofPipe []string) {
	t.Helper()
	file, pipe := summarized(t, stream, io.MultiReader(bytes.NewReader(stream)))
	return file.Damage, pipe.Damage
}

// Any damage to blocks of a stream, except to the bytes of their payloads, is reported without reading the payloads.
func TestSummaryReportsDamagedBlocks(t *testing.T) {
	stream, err := os.ReadFile("../../test/damage/testdata/capture.wprof")
	if err != nil {
		t.Fatal(err)
	}
	blocks := tools.BlocksOf(t, stream)
	check := func(what string, i int, damaged ...[]byte) {
		t.Helper()
		if file, pipe := reportedDamage(t, bytes.Join(damaged, nil)); len(file) == 0 || len(pipe) == 0 {
			t.Errorf("block %d %s: reported for the file %q, for the pipe %q", i, what, file, pipe)
		}
	}
	if file, pipe := reportedDamage(t, stream); len(file)+len(pipe) > 0 {
		t.Errorf("reported for the whole stream: %q and %q", file, pipe)
	}
	for i, b := range blocks {
		check("is gone", i, slices.Delete(slices.Clone(blocks), i, i+1)...)
		check("is there twice", i, slices.Insert(slices.Clone(blocks), i, b)...)
		zeroed := slices.Clone(blocks)
		zeroed[i] = append(make([]byte, format.BlockHeaderSize), b[format.BlockHeaderSize:]...)
		check("has no header", i, zeroed...)
		if i+1 < len(blocks) {
			swapped := slices.Clone(blocks)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			check("comes after the next one", i, swapped...)
		}
		check("comes after foreign bytes", i, slices.Insert(slices.Clone(blocks), i, make([]byte, 1<<20))...)
	}
}
