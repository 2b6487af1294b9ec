package main

import (
	"errors"
	"fmt"
	"path/filepath"
)

// sleepers compares how often a machine of 2,000 threads that sleep and two that wake each other gets round, with and
// without a default recording.
func (b *bench) sleepers() error {
	program := filepath.Join(b.tmp, "sleepers")
	if err := compile(program, "test/bench/testdata/sleepers.c"); err != nil {
		return err
	}
	file := filepath.Join(b.tmp, "sleepers.wprof")
	var ratios, lost, rate []float64
	for i := 0; i < b.pairs; i++ {
		before, err := rounds(program, "3")
		if err != nil {
			return err
		}
		tracer, err := start(nil, b.tool("wprof-record"), "-v", "-d60s", "-o", file)
		if err != nil {
			return err
		}
		tracer.waitOpen()
		with, err := rounds(program, "3")
		_, stopErr := tracer.stop()
		if err := errors.Join(err, stopErr); err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		ratios, lost = append(ratios, before/with), append(lost, float64(c.lost))
		rate = append(rate, before/1e6)
	}
	const command = "test/bench/testdata/sleepers.c, with and without wprof-record -d60s -o FILE"
	b.add(Row{Name: "2,000 threads sleeping 1-5 ms plus pipe ping-pong, default recording: slowdown", Unit: "×", Hold: "×1.15", Limit: 1.15, Runs: ratios, Command: command,
		Note: "nearly every sleep lasts longer than --offcpu-min and has its stack taken"})
	b.add(Row{Name: "events lost beside 2,000 sleeping threads", Unit: "events", Hold: "0", Limit: 0, Runs: lost, Command: command})
	b.add(Row{Name: "sleeps and ping-pong round trips of 2,000 threads, not recorded", Unit: "M/s", Runs: rate, Command: command})
	return nil
}

// rounds is how many sleeps and turns a second the program counts.
func rounds(program string, args ...string) (float64, error) {
	u, err := run(nil, nil, program, args...)
	if err != nil {
		return 0, err
	}
	var n float64
	if _, err := fmt.Sscan(u.out, &n); err != nil || n == 0 {
		return 0, fmt.Errorf("%s said %q: %w", program, u.out, err)
	}
	return n, nil
}
