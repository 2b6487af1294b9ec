package filter

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"wprof/format"
	"wprof/internal/timeline/simulate"
	"wprof/test/fromtext"
)

// The output is a complete stream for any input.
func FuzzFilter(f *testing.F) {
	f.Add(simulate.Stream(f, simulate.Options{Seed: 1, CPUs: 2, Threads: 4, Losses: true, Epochs: true, SilentRenames: true}, 60), uint8(0))
	f.Add(simulate.Stream(f, simulate.Options{Seed: 2, CPUs: 2, Threads: 4, Epochs: true}, 60), uint8(5))
	f.Add(fromtext.Stream(f, testTasks+"100 cpu0 switch 2 next=4000000 own=50\n200 cpu70000 state_cpu 2\n300 all cpu_left 2\nend"), uint8(3))
	capture, err := os.ReadFile("../../test/damage/testdata/capture.wprof")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(capture, uint8(1))
	f.Add(capture[len(capture)-10<<10:], uint8(12))
	f.Fuzz(func(t *testing.T, stream []byte, which uint8) {
		cpus, _ := ParseCPUs([]string{"0"})
		o := [...]Options{
			{}, {Threads: Spec{Names: []string{"foo"}}}, {CPUs: cpus}, {Start: ms(3000)}, {End: ms(9000)},
			{Threads: Spec{PIDs: []int32{11, 12}, Children: true}}, {Kinds: MakeKindSet(nil, []string{"rename"})},
			{Start: ms(2000), End: ms(20000), Threads: Spec{NoNames: []string{"bar"}}},
		}[which%8]
		var in io.Reader = bytes.NewReader(stream)
		if which&8 != 0 {
			in = io.MultiReader(in)
		}
		var out bytes.Buffer
		filter, err := New(in, &out, which&8 != 0, o)
		if err != nil {
			return
		}
		if filter.live() {
			filter.close()
			return
		}
		if _, err := filter.Run(); err != nil && !errors.Is(err, format.ErrNewer) && !errors.Is(err, format.ErrOverlap) {
			t.Skip(err)
		}
		r, err := format.NewReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			if errors.Is(err, format.ErrOverlap) {
				return // the first header was lost, so the sections need not share a timeline
			}
			t.Fatal(err)
		}
		defer r.Close()
		for {
			if _, err := r.Next(); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, format.ErrOverlap) {
					t.Fatal(err)
				}
				break
			}
		}
		if d := r.Damage(); d != nil {
			t.Fatalf("damage: %+v", d)
		}
	})
}
