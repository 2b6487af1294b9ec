package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"wprof/format"
)

const (
	coldLoops = 200
	coldCache = 600 // MiB; more than the caches of large servers have
	coldLess  = 20  // levels
	coldMore  = 240
)

// coldSleeps is testdata/cold.cc.
type coldSleeps struct{ program string }

// coldFrame measures what one more frame takes when neither its row nor its part of the stack is in a cache.
func (b *bench) coldFrame() error {
	program := func(levels int) string { return filepath.Join(b.tmp, fmt.Sprintf("cold-%d", levels)) }
	for _, levels := range []int{coldLess, coldMore} {
		if err := compileWith("g++", program(levels), "test/bench/testdata/cold.cc", "-O2", "-fomit-frame-pointer", fmt.Sprintf("-DLEVELS=%d", levels)); err != nil {
			return err
		}
	}
	var frame []float64
	for range b.few() {
		var ns [2]float64
		for i, levels := range []int{coldLess, coldMore} {
			cost, err := b.costsOf(coldSleeps{program(levels)}, "-Soffcpu", "--offcpu-min", "0")
			if err != nil {
				return err
			}
			at := slices.IndexFunc(cost.GetPrograms(), func(p *format.ProgramCost) bool { return p.Name == stackProgram })
			if at < 0 {
				return fmt.Errorf("no runs of the kernel program %s", stackProgram)
			}
			ns[i] = float64(cost.Programs[at].Ns)
		}
		frame = append(frame, (ns[1]-ns[0])/((coldMore-coldLess)*coldLoops))
	}
	b.add(Row{Name: "one frame by tables, in no cache", Unit: "ns", Hold: "1500", Limit: 1500, Runs: frame,
		Command: fmt.Sprintf("cold %d %d of test/bench/testdata/cold.cc, g++ -O2 -DLEVELS=%d, beside wprof-record --stats -Soffcpu --offcpu-min 0 -d60s -o FILE: the time of %s, less that with -DLEVELS=%d, divided by the frames between",
			coldLoops, coldCache, coldMore, stackProgram, coldLess)})
	return nil
}

func (c coldSleeps) seconds() (float64, error) {
	u, err := run(nil, nil, c.program, strconv.Itoa(coldLoops), strconv.Itoa(coldCache))
	return u.wall.Seconds(), err
}
