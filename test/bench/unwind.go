package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// deepLoop is testdata/deep.c pinned to one CPU: two processes that wake each other below a number of calls.
type deepLoop struct {
	program string
	levels  int
}

const deepLoops = 100_000

func (d deepLoop) seconds() (float64, error) {
	u, err := run(nil, nil, "taskset", "-c", "1", d.program, strconv.Itoa(d.levels), strconv.Itoa(deepLoops))
	if err != nil {
		return 0, err
	}
	var seconds float64
	if _, err := fmt.Sscan(u.out, &seconds); err != nil {
		return 0, fmt.Errorf("%s printed %q: %w", d.program, u.out, err)
	}
	return seconds, nil
}

const deepCommand = "taskset -c 1 deep %d 100000 of test/bench/testdata/deep.c, gcc -O2%s, with and without wprof-record %s-d60s -o FILE"

// unwind compares a program that keeps frame pointers with one that does not, whose stacks only tables can walk.
func (b *bench) unwind() error {
	pointers, none := filepath.Join(b.tmp, "deep-pointers"), filepath.Join(b.tmp, "deep-none")
	if err := compile(pointers, "test/bench/testdata/deep.c", "-O2"); err != nil {
		return err
	}
	if err := compile(none, "test/bench/testdata/deep.c", "-O2", "-fomit-frame-pointer"); err != nil {
		return err
	}
	for _, flags := range [][]string{nil, {"-Soffcpu", "--offcpu-min", "0"}} {
		if err := b.unwindSlowdown(deepLoop{pointers, 14}, deepLoop{none, 14}, flags); err != nil {
			return err
		}
	}
	return b.frames(none)
}

// unwindSlowdown measures both programs in turns. A block 14 levels deep has 20 frames: 15 of them, the call, main and three of libc.
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
	b.add(Row{Name: "slowdown of a program with frame pointers that blocks 20 frames deep, " + name, Unit: "×", Runs: withPointers,
		Command: fmt.Sprintf(deepCommand, pointers.levels, " -fno-omit-frame-pointer", command)})
	b.add(Row{Name: "slowdown of a program without frame pointers that blocks 20 frames deep, " + name, Unit: "×", Runs: without,
		Command: fmt.Sprintf(deepCommand, none.levels, "", command)})
	b.add(Row{Name: "slowdown without frame pointers, divided by that with them, " + name, Unit: "×", Hold: "×1.15", Limit: 1.15, Runs: ratio, Command: "the two rows above, in turns"})
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
	var stack, frame []float64
	for range b.few() {
		var ns [2]float64
		for i, levels := range []int{14, 54} {
			runs := map[string][]float64{}
			if err := b.programRunsOf(runs, deepLoop{program, levels}, "-Soffcpu", "--offcpu-min", "0"); err != nil {
				return err
			}
			if len(runs[stackProgram]) == 0 {
				return fmt.Errorf("no runs of the kernel program %s", stackProgram)
			}
			ns[i] = runs[stackProgram][0]
		}
		stack, frame = append(stack, ns[0]), append(frame, (ns[1]-ns[0])/40)
	}
	command := fmt.Sprintf(deepCommand, 14, "", "-Soffcpu --offcpu-min 0 --stats ")
	b.add(Row{Name: "kernel program " + stackProgram + ", off-CPU stacks of 20 frames by tables", Unit: "ns a run", Hold: "4000", Limit: 4000, Runs: stack, Command: command})
	b.add(Row{Name: "one frame by tables", Unit: "ns", Hold: "100", Limit: 100, Runs: frame, Command: "the same with 54 levels, less the row above, divided by 40"})
	return nil
}

const stackProgram = "sched_exit" // where a thread that was off the CPU continues
