package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
)

const sleepingThreads = 2000

// sleepers compares the pinned pipe benchmark beside many threads that wake up all the time, with and without a default
// recording.
func (b *bench) sleepers() error {
	program := filepath.Join(b.tmp, "sleepers")
	if err := compile(program, "test/bench/testdata/sleepers.c"); err != nil {
		return err
	}
	cmd := exec.Command(program, fmt.Sprint(sleepingThreads))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("wait for %d threads: %w", sleepingThreads, err)
	}
	work := pipeLoop{cpu: 1, loops: pipeLoops}
	var ratios, lost []float64
	for i := 0; i < b.pairs; i++ {
		before, err := work.seconds()
		if err != nil {
			return err
		}
		file := filepath.Join(b.tmp, "sleepers.wprof")
		with, _, err := traced(nil, work, b.tool("wprof-record"), "-v", "-d300s", "-o", file)
		if err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		ratios, lost = append(ratios, with/before), append(lost, float64(c.lost))
	}
	const command = "taskset -c 1 perf bench sched pipe -l 150000 beside test/bench/testdata/sleepers.c 2000, with and without wprof-record -d300s -o FILE"
	b.add(Row{Name: "slowdown of 2,000 threads sleeping 1-5 ms plus pipe ping-pong, default recording", Unit: "×", Hold: "×1.25", Limit: 1.25, Runs: ratios, Command: command})
	b.add(Row{Name: "events lost in that test", Unit: "events", Hold: "0", Limit: 0, Runs: lost, Command: command})
	return nil
}
