package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// deepLoop is testdata/deep.c pinned to one CPU: two processes that wake each other below a number of calls, with several stack
// pointers in turn.
type deepLoop struct {
	program        string
	levels, places int
}

const deepLoops = 100_000

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

const deepCommand = "taskset -c 1 deep %d 100000 %d of test/bench/testdata/deep.c, gcc -O2%s, with and without wprof-record %s-d60s -o FILE"

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
	if err := b.coldFrames(); err != nil {
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
	work := pipeLoop{cpu: 1, loops: pipeLoops}
	args := append([]string{"-v", "-d60s", "-o", filepath.Join(b.tmp, "pipe.wprof")}, flags...)
	var ratio []float64
	for range b.pairs {
		tables, _, err := traced(nil, work, b.tool("wprof-record"), append(args, "--unwind=auto")...)
		if err != nil {
			return err
		}
		pointers, _, err := traced(nil, work, b.tool("wprof-record"), append(args, "--unwind=fp")...)
		if err != nil {
			return err
		}
		ratio = append(ratio, tables/pointers)
	}
	name, command := "default recording", ""
	if flags != nil {
		name, command = "a stack of every off-CPU interval", "-Soffcpu --offcpu-min 0 "
	}
	b.add(Row{Name: "pinned pipe benchmark, " + name + ": time with --unwind=auto, divided by that with --unwind=fp", Unit: "×", Runs: ratio,
		Command: "taskset -c 1 perf bench sched pipe -l 150000 beside wprof-record " + command + "--unwind=auto or --unwind=fp -d60s -o FILE, in turns"})
	return nil
}

// unwindSlowdown measures both programs in turns.
func (b *bench) unwindSlowdown(pointers, none deepLoop, flags []string) error {
	file := filepath.Join(b.tmp, "deep.wprof")
	args := append([]string{"-v", "-d60s", "-o", file}, flags...)
	var withPointers, without, ratio []float64
	for range b.pairs {
		one, err := slowed(pointers, b.tool("wprof-record"), args...)
		if err != nil {
			return err
		}
		other, err := slowed(none, b.tool("wprof-record"), args...)
		if err != nil {
			return err
		}
		withPointers, without, ratio = append(withPointers, one), append(without, other), append(ratio, other/one)
	}
	name, command := "default recording", ""
	if flags != nil {
		name, command = "a stack of every off-CPU interval", "-Soffcpu --offcpu-min 0 "
	}
	where := fmt.Sprintf("blocks 20 frames deep, %d stack pointers, %s", none.places, name)
	if none.places == onePlace {
		where = "blocks 20 frames deep, " + name
	}
	b.add(Row{Name: "slowdown of a program with frame pointers that " + where, Unit: "×", Runs: withPointers,
		Command: fmt.Sprintf(deepCommand, pointers.levels, pointers.places, " -fno-omit-frame-pointer", command)})
	b.add(Row{Name: "slowdown of a program without frame pointers that " + where, Unit: "×", Runs: without,
		Command: fmt.Sprintf(deepCommand, none.levels, none.places, "", command)})
	b.add(Row{Name: "slowdown without frame pointers, divided by that with them, of a program that " + where, Unit: "×", Hold: "×1.15", Limit: 1.15, Runs: ratio, Command: "the two rows above, in turns"})
	return nil
}

// slowed is how much slower a workload is while a tracer runs.
func slowed(work workload, name string, args ...string) (float64, error) {
	before, err := work.seconds()
	if err != nil {
		return 0, err
	}
	with, _, err := traced(nil, work, name, args...)
	return with / before, err
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
