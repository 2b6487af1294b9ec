package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"
)

// flightRecorder measures the flight recorder and its snapshots, how exactly windows open, performance counters, breakpoints, and conditions of
// snapshots.
func (b *bench) flightRecorder() error {
	for _, measure := range []func() error{b.flightSlowdown, b.snapshots, b.activations, b.counters, b.counterSamples, b.watches, b.conditions} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// turns is how often a measurement is repeated; a few times with -quick.
func (b *bench) turns(full int) int {
	if b.quick {
		return 3
	}
	return full
}

// flightSlowdown compares the pinned pipe benchmark without a recording, in a plain one and in a flight recorder, in turns.
func (b *bench) flightSlowdown() error {
	var plain, rolling, ratio []float64
	for i := range b.turns(10) {
		none, err := fivePipes{}.seconds()
		if err != nil {
			return err
		}
		var took [2]float64
		for j := range took {
			flight := (i + j) % 2 // which of the two is first alternates
			if took[flight], err = b.pipesIn([][]string{{"-d60s"}, {"-F1s"}}[flight]...); err != nil {
				return err
			}
		}
		plain, rolling, ratio = append(plain, took[0]/none), append(rolling, took[1]/none), append(ratio, took[1]/took[0])
	}
	const command = fivePipesCommand + ", without a recording, in wprof-record -d60s -o FILE and in wprof-record -F1s -o FILE, in turns"
	b.add(Row{Name: "slowdown of the pinned pipe benchmark, flight recorder", Unit: "×", Runs: rolling, Command: command})
	b.add(Row{Name: "slowdown of the pinned pipe benchmark, plain recording beside it", Unit: "×", Runs: plain, Command: command})
	b.add(Row{Name: "pinned pipe benchmark in a flight recorder by the same in a plain recording", Unit: "×", Hold: "×1.02", Limit: 1.02, Runs: ratio, Command: command})
	return nil
}

// pipesIn is the time of the pipe benchmark in a recording.
func (b *bench) pipesIn(flags ...string) (float64, error) {
	seconds, _, err := traced(nil, fivePipes{}, b.tool("wprof-record"), append(flags, "-v", "-o", filepath.Join(b.tmp, "flight.wprof"))...)
	return seconds, err
}

// activations measures how far from a full second of the realtime clock a window opens that is to open then.
func (b *bench) activations() error {
	const second = int64(time.Second)
	file := filepath.Join(b.tmp, "activated.wprof")
	var off []float64
	for range b.turns(20) {
		if _, err := run(nil, nil, b.tool("wprof-record"), "--activate=/1s", "-d10ms", "-o", file); err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		off = append(off, math.Abs(float64((c.opened+second/2)%second-second/2))/1e3)
	}
	b.addWithLongest(Row{Name: "opening of a window, before or after the instant of --activate", Unit: "us", Hold: "1000", Limit: 1000, Runs: off,
		Command: "wprof-record --activate=/1s -d10ms -o FILE; session.open by the realtime clock of the session's snapshot, less the full second",
		Note:    "the kernel programs write a moment earlier, and what is older than the instant is left out; a window opens later where the list of threads was complete later"})
	return nil
}

// addWithLongest adds a row, and the longest of its runs as another one.
func (b *bench) addWithLongest(r Row) {
	b.add(r)
	longest := r
	longest.Name, longest.Runs = r.Name+": the longest", []float64{slices.Max(r.Runs)}
	b.add(longest)
}

// flightConditions are conditions that never hold, by what they compare.
var flightConditions = []struct {
	what  string
	flags []string
}{
	{"none", nil},
	{"the headers of records (crash, loss)", []string{"--snapshot-on=crash", "--snapshot-on=loss"}},
	{"the times of threads (offcpu:, runq:)", []string{"--snapshot-on=offcpu:nobody>10s", "--snapshot-on=runq:nobody>10s"}},
}

// conditions measures what the recorder takes longer for a record if it compares it with conditions.
func (b *bench) conditions() error {
	const loops = 500_000
	cost := make([][]float64, len(flightConditions))
	for range b.turns(7) {
		var none float64
		for i, c := range flightConditions {
			ns, err := b.drainCost(pipeLoop{cpu: 1, loops: loops}, c.flags...)
			if err != nil {
				return err
			}
			if i == 0 {
				none = ns
			} else {
				ns -= none
			}
			cost[i] = append(cost[i], ns)
		}
	}
	command := fmt.Sprintf("wprof-record -F1s --no-stacks -o FILE, with conditions that never hold and without, in turns, beside taskset -c 1 perf bench sched pipe -l %d; its CPU time meanwhile by 4 events a loop", loops)
	b.add(Row{Name: "recorder's CPU for an event while a flight recorder records, no condition", Unit: "ns", Runs: cost[0], Command: command})
	for i, c := range flightConditions[1:] {
		b.add(Row{Name: "the same, added by conditions on " + c.what, Unit: "ns", Runs: cost[i+1], Command: command})
	}
	return nil
}

// drainCost is the recorder's CPU time for each event of the pipe benchmark, ns, without set-up and finalising.
func (b *bench) drainCost(work pipeLoop, flags ...string) (float64, error) {
	tracer, err := start(nil, b.tool("wprof-record"), append(flags, "-v", "-F1s", "--no-stacks", "-o", filepath.Join(b.tmp, "drain.wprof"))...)
	if err != nil {
		return 0, err
	}
	tracer.waitOpen()
	before, beforeErr := cpuTime(tracer.cmd.Process.Pid)
	_, workErr := work.seconds()
	after, afterErr := cpuTime(tracer.cmd.Process.Pid)
	_, stopErr := tracer.stop()
	return float64((after - before).Nanoseconds()) / float64(4*work.loops), errors.Join(beforeErr, workErr, afterErr, stopErr)
}
