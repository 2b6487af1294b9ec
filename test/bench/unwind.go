package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// deepLoop is testdata/deep.c pinned to one CPU: two processes that wake each other below a number of calls, with several stack
// pointers in turn.
type deepLoop struct {
	program        string
	levels, places int
}

const deepLoops = 50_000

func (d deepLoop) seconds() (float64, error) {
	u, err := run(nil, nil, "taskset", "-c", "1", d.program, strconv.Itoa(d.levels), strconv.Itoa(deepLoops), strconv.Itoa(d.places))
	if err != nil {
		return 0, err
	}
	var seconds float64
	if _, err := fmt.Sscan(u.out, &seconds); err != nil {
		return 0, fmt.Errorf("%s printed %q: %w", d.program, u.out, err)
	}
	return seconds, nil
}

const deepCommand = "taskset -c 1 deep %d 50000 %d of test/bench/testdata/deep.c, gcc -O2%s, with and without wprof-record %s-d60s -o FILE"

// A block below levelsOf20 has 20 frames: 14 of the recursion, turn, read, main and three of libc.
const levelsOf20 = 13

// onePlace is remembered (bpf/usermemo.h), manyPlaces are walked each time.
const onePlace, manyPlaces = 1, 1024

// unwind compares a program that keeps frame pointers with one that does not, whose stacks only tables can walk.
func (b *bench) unwind() error {
	pointers, none := filepath.Join(b.tmp, "deep-pointers"), filepath.Join(b.tmp, "deep-none")
	if err := compile(pointers, "test/bench/testdata/deep.c", "-O2", "-fno-omit-frame-pointer"); err != nil {
		return err
	}
	if err := compile(none, "test/bench/testdata/deep.c", "-O2", "-fomit-frame-pointer"); err != nil {
		return err
	}
	for _, places := range []int{onePlace, manyPlaces} {
		for _, flags := range [][]string{nil, {"-Soffcpu", "--offcpu-min", "0"}} {
			if err := b.unwindSlowdown(deepLoop{pointers, levelsOf20, places}, deepLoop{none, levelsOf20, places}, flags); err != nil {
				return err
			}
		}
	}
	if err := b.frames(none); err != nil {
		return err
	}
	if err := b.coldFrame(); err != nil {
		return err
	}
	for _, flags := range [][]string{nil, {"-Soffcpu", "--offcpu-min", "0"}} {
		if err := b.againstPointers(flags); err != nil {
			return err
		}
	}
	return nil
}

// againstPointers compares recordings that unwind by tables with those that unwind by frame pointers, in turns.
func (b *bench) againstPointers(flags []string) error {
	args := append([]string{"-v", "-d60s", "-o", filepath.Join(b.tmp, "pipe.wprof")}, flags...)
	var ratio []float64
	for range b.pairs {
		tables, _, err := traced(nil, fivePipes{}, b.tool("wprof-record"), append(args, "--unwind=auto")...)
		if err != nil {
			return err
		}
		pointers, _, err := traced(nil, fivePipes{}, b.tool("wprof-record"), append(args, "--unwind=fp")...)
		if err != nil {
			return err
		}
		ratio = append(ratio, tables/pointers)
	}
	name, command := recordingOf(flags)
	b.add(Row{Name: "pinned pipe benchmark, " + name + ": time with --unwind=auto, divided by that with --unwind=fp", Unit: "×", Runs: ratio,
		Command: fivePipesCommand + " beside wprof-record " + command + "--unwind=auto or --unwind=fp -d60s -o FILE, in turns"})
	return nil
}

// unwindSlowdown measures both programs in turns. Their ratio is that of neighbouring runs, because the machine's speed changes from one
// second to the next.
func (b *bench) unwindSlowdown(pointers, none deepLoop, flags []string) error {
	args := append([]string{"-v", "-d60s", "-o", filepath.Join(b.tmp, "deep.wprof")}, flags...)
	var withPointers, without, ratio []float64
	for range b.pairs {
		before, err := alternate(pointers, none)
		if err != nil {
			return err
		}
		tracer, err := start(nil, b.tool("wprof-record"), args...)
		if err != nil {
			return err
		}
		tracer.waitOpen()
		with, err := alternate(pointers, none)
		if _, stopErr := tracer.stop(); err == nil {
			err = stopErr
		}
		if err != nil {
			return err
		}
		withPointers, without = append(withPointers, with.first/before.first), append(without, with.second/before.second)
		ratio = append(ratio, with.ratio/before.ratio)
	}
	name, command := recordingOf(flags)
	where := fmt.Sprintf("blocks 20 frames deep, %d stack pointers, %s", none.places, name)
	if none.places == onePlace {
		where = "blocks 20 frames deep, " + name
	}
	b.add(Row{Name: "slowdown of a program with frame pointers that " + where, Unit: "×", Runs: withPointers,
		Command: fmt.Sprintf(deepCommand, pointers.levels, pointers.places, " -fno-omit-frame-pointer", command)})
	b.add(Row{Name: "slowdown of a program without frame pointers that " + where, Unit: "×", Runs: without,
		Command: fmt.Sprintf(deepCommand, none.levels, none.places, "", command)})
	b.add(Row{Name: "slowdown without frame pointers, divided by that with them, of a program that " + where, Unit: "×", Hold: "×1.15", Limit: 1.15, Runs: ratio, Command: "the two rows above: five runs of both programs in turns, the median of the ratios of neighbours"})
	return nil
}

// recordingOf names a recording by its flags, and returns what they add to its command.
func recordingOf(flags []string) (name, command string) {
	if flags == nil {
		return "default recording", ""
	}
	return "a stack of every off-CPU interval", strings.Join(flags, " ") + " "
}

// alternated has medians of alternating runs: the seconds of each workload, and the ratio of neighbours.
type alternated struct{ first, second, ratio float64 }

func alternate(first, second workload) (alternated, error) {
	var firsts, seconds, ratios []float64
	for range 5 {
		a, err := first.seconds()
		if err != nil {
			return alternated{}, err
		}
		b, err := second.seconds()
		if err != nil {
			return alternated{}, err
		}
		firsts, seconds, ratios = append(firsts, a), append(seconds, b), append(ratios, b/a)
	}
	return alternated{median(firsts), median(seconds), median(ratios)}, nil
}

// frames measures the program that takes stacks where they have 20 frames, and what one more frame takes.
func (b *bench) frames(program string) error {
	var remembered, walked, frame []float64
	for range b.few() {
		var ns [3]float64
		for i, work := range []deepLoop{{program, levelsOf20, onePlace}, {program, levelsOf20, manyPlaces}, {program, levelsOf20 + 40, manyPlaces}} {
			runs := map[string][]float64{}
			if err := b.programRunsOf(runs, work, "-Soffcpu", "--offcpu-min", "0"); err != nil {
				return err
			}
			if len(runs[stackProgram]) == 0 {
				return fmt.Errorf("no runs of the kernel program %s", stackProgram)
			}
			ns[i] = runs[stackProgram][0]
		}
		remembered, walked, frame = append(remembered, ns[0]), append(walked, ns[1]), append(frame, (ns[2]-ns[1])/40)
	}
	command := func(places int) string {
		return fmt.Sprintf(deepCommand, levelsOf20, places, "", "-Soffcpu --offcpu-min 0 --stats ")
	}
	b.add(Row{Name: "kernel program " + stackProgram + ", off-CPU stacks of 20 frames by tables, remembered", Unit: "ns a run", Runs: remembered, Command: command(onePlace)})
	b.add(Row{Name: "kernel program " + stackProgram + ", off-CPU stacks of 20 frames by tables, walked", Unit: "ns a run", Hold: "4000", Limit: 4000, Runs: walked, Command: command(manyPlaces)})
	b.add(Row{Name: "one frame by tables", Unit: "ns", Hold: "100", Limit: 100, Runs: frame, Command: "the same with 40 more levels, less the row above, divided by 40"})
	return nil
}

const stackProgram = "sched_exit" // where a thread that was off the CPU continues
