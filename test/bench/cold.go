package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

const (
	coldLoops = 200
	coldLess  = 20 // levels
	coldMore  = 240
)

// coldSleeps is testdata/cold.cc, with a number of levels.
type coldSleeps struct {
	program string
	cache   int // MiB
}

// coldFrames measures what one more frame takes when neither its row nor its part of the stack is in a cache: of the CPU, or at all.
func (b *bench) coldFrames() error {
	for _, levels := range []int{coldLess, coldMore} {
		if err := compileWith("g++", b.cold(levels), "test/bench/testdata/cold.cc", "-O2", "-fomit-frame-pointer", fmt.Sprintf("-DLEVELS=%d", levels)); err != nil {
			return err
		}
	}
	if err := b.coldFrame(Row{Name: "one frame by tables, not in the CPU's own caches", Hold: "1500", Limit: 1500}, 64); err != nil {
		return err
	}
	return b.coldFrame(Row{Name: "one frame by tables, in no cache, nor are the page tables", Note: "the cache that CPUs share has 300 MiB here"}, 600)
}

func (b *bench) cold(levels int) string { return filepath.Join(b.tmp, fmt.Sprintf("cold-%d", levels)) }

func (b *bench) coldFrame(row Row, cache int) error {
	for range b.few() {
		var ns [2]float64
		for i, levels := range []int{coldLess, coldMore} {
			cost, err := b.costsOf(coldSleeps{b.cold(levels), cache}, "-Soffcpu", "--offcpu-min", "0")
			if err != nil {
				return err
			}
			for _, p := range cost.GetPrograms() {
				if p.Name == stackProgram {
					ns[i] = float64(p.Ns)
				}
			}
		}
		row.Runs = append(row.Runs, (ns[1]-ns[0])/((coldMore-coldLess)*coldLoops))
	}
	row.Unit = "ns"
	row.Command = fmt.Sprintf("cold %d %d of test/bench/testdata/cold.cc, g++ -O2 -DLEVELS=%d, beside wprof-record --stats -Soffcpu --offcpu-min 0 -d60s -o FILE: the time of %s, less that with -DLEVELS=%d, divided by the frames between",
		coldLoops, cache, coldMore, stackProgram, coldLess)
	b.add(row)
	return nil
}

func (c coldSleeps) seconds() (float64, error) {
	u, err := run(nil, nil, c.program, strconv.Itoa(coldLoops), strconv.Itoa(c.cache))
	return u.wall.Seconds(), err
}
