package filter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/check"
	"wprof/internal/timeline/simulate"
	"wprof/test/tools"
)

// unsound returns what is wrong with a filter's output for a damaged stream. mayOverlap allows the error for whole sections
// that overlap.
func unsound(stream []byte, isPipe, mayOverlap bool) string {
	var in io.Reader = bytes.NewReader(stream)
	if isPipe {
		in = io.MultiReader(in)
	}
	var out bytes.Buffer
	f, err := New(in, &out, isPipe, Options{})
	if err == nil {
		_, err = f.Run()
	}
	if errors.Is(err, format.ErrOverlap) && mayOverlap && out.Len() == 0 {
		return ""
	}
	if err != nil && !(errors.Is(err, format.ErrOverlap) && mayOverlap) {
		return err.Error()
	}
	var findings []string
	if _, err := check.Stream(bytes.NewReader(out.Bytes()), func(f check.Finding) { findings = append(findings, f.Text) }); err != nil {
		return err.Error()
	}
	if len(findings) > 0 {
		return strings.Join(findings, "; ")
	}
	r, err := format.NewReader(io.MultiReader(&out))
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return "the output is refused: " + err.Error()
	}
	if d := r.Damage(); d != nil {
		return "the output is damaged: " + d.Detail
	}
	return ""
}

// streamsToDamage are recordings of several epochs, one after the other.
func streamsToDamage(t *testing.T) map[string][][]byte {
	t.Helper()
	recorded, err := os.ReadFile("../../test/damage/testdata/capture.wprof")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][][]byte{
		"recorded":  tools.BlocksOf(t, recorded),
		"simulated": tools.BlocksOf(t, simulate.Stream(t, simulate.Options{Seed: 3, CPUs: 2, Threads: 8, Epochs: true}, 400)),
	}
}

func TestOutputIsSoundWhicheverBlocksAreMissing(t *testing.T) {
	t.Parallel()
	for name, blocks := range streamsToDamage(t) {
		t.Logf("%s: %d blocks", name, len(blocks))
		for from := range blocks {
			for _, length := range [...]int{1, 2, 3, 4, 5, 6, 9, 13, 18} {
				to := from + length
				if to > len(blocks) || length == len(blocks) {
					continue
				}
				gone := slices.Concat(bytes.Join(blocks[:from], nil), bytes.Join(blocks[to:], nil))
				zeroed := slices.Concat(bytes.Join(blocks[:from], nil), make([]byte, len(bytes.Join(blocks[from:to], nil))), bytes.Join(blocks[to:], nil))
				for what, stream := range map[string][]byte{"gone": gone, "zeroed": zeroed} {
					if isPipe := (from+to)%2 == 0; unsound(stream, isPipe, false) != "" {
						t.Errorf("%s: blocks %d to %d are %s, pipe %v: %.300s", name, from, to-1, what, isPipe, unsound(stream, isPipe, false))
					}
				}
			}
		}
	}
}

func TestOutputIsSoundWhereverBlocksStand(t *testing.T) {
	t.Parallel()
	for name, blocks := range streamsToDamage(t) {
		for i := range blocks {
			for _, length := range []int{1, 2, 5} {
				run := blocks[i:min(i+length, len(blocks))]
				twice := slices.Insert(slices.Clone(blocks), i, run...)
				swapped := slices.Clone(blocks)
				if i+length < len(blocks) {
					swapped = slices.Insert(slices.Delete(swapped, i, i+length), i+1, run...)
				}
				for what, stream := range map[string][][]byte{"twice": twice, "swapped": swapped} {
					for _, isPipe := range []bool{false, true} {
						if wrong := unsound(bytes.Join(stream, nil), isPipe, length > 1); wrong != "" {
							t.Errorf("%s: %d blocks from %d on stand %s, pipe %v: %.300s", name, len(run), i, what, isPipe, wrong)
						}
					}
				}
			}
		}
	}
}

// damagedStreams is how many of each are damaged at random; scripts/soak damages more.
func damagedStreams(t *testing.T) int {
	t.Helper()
	n := 300
	if text := os.Getenv("WPROF_SOAK_BLOCKS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// Blocks are taken out, repeated and swapped with the next one at random, several of them at once.
func TestOutputIsSoundAfterMuchDamage(t *testing.T) {
	t.Parallel()
	n := damagedStreams(t)
	for name, blocks := range streamsToDamage(t) {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			all, what := slices.Clone(blocks), ""
			for range 1 + rng.IntN(6) {
				at := rng.IntN(len(all) - 1)
				switch rng.IntN(3) {
				case 0:
					all, what = slices.Delete(all, at, at+1), what+fmt.Sprint(" without ", at)
				case 1:
					all, what = slices.Insert(all, at, all[at]), what+fmt.Sprint(" ", at, " twice")
				case 2:
					all[at], all[at+1] = all[at+1], all[at]
					what += fmt.Sprint(" ", at, " swapped")
				}
			}
			if wrong := unsound(bytes.Join(all, nil), i%2 == 0, true); wrong != "" {
				t.Errorf("%s:%s: %.300s", name, what, wrong)
			}
		}
		t.Logf("soak: %s: %d streams with blocks missing, repeated and swapped gave sound outputs or were refused", name, n)
	}
}
