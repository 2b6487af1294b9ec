package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// snapshotRounds of testdata/paced.c in a millisecond make 300 thousand events a second.
	snapshotRounds = 75
	// snapshotSettling is how long the flight recorder records before the first one; at its end its CPU time without snapshots is measured.
	snapshotSettling, snapshotIdle = 4 * time.Second, 2 * time.Second
	// snapshotEvery is from one request to the next: the window of the next one holds the time in which the last one was written.
	snapshotEvery = 900 * time.Millisecond
	snapshotLimit = 30 * time.Second
)

// snapshotRuns are what snapshots took and hold.
type snapshotRuns struct{ seconds, cpu, lost, rate []float64 }

// snapshots measures the time from a request to the complete file, what writing it costs the recorder, and what is lost meanwhile.
func (b *bench) snapshots() error {
	program := filepath.Join(b.tmp, "paced")
	if err := compile(program, "test/bench/testdata/paced.c"); err != nil {
		return err
	}
	load := exec.Command(program, "1", strconv.Itoa(snapshotRounds))
	if err := load.Start(); err != nil {
		return err
	}
	defer func() {
		_ = load.Process.Kill()
		_ = load.Wait()
	}()
	dir, err := os.MkdirTemp(b.tmp, "snapshots-")
	if err != nil {
		return err
	}
	tracer, err := start(nil, b.tool("wprof-record"), "-v", "-F1s", "-o", filepath.Join(dir, "x.wprof"))
	if err != nil {
		return err
	}
	runs, err := takeSnapshots(tracer, dir, b.turns(12))
	_, stopErr := tracer.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	if err := runs.read(dir); err != nil {
		return err
	}
	command := fmt.Sprintf("wprof-record -F1s -o FILE beside test/bench/testdata/paced.c 1 %d; SIGUSR1 every %v", snapshotRounds, snapshotEvery)
	const window = "snapshot of 1 s at 300 k events/s: "
	b.addWithLongest(Row{Name: window + "from SIGUSR1 to the complete file", Unit: "s", Hold: "0.5", Limit: 0.5, Runs: runs.seconds, Command: command})
	b.add(Row{Name: window + "recorder's CPU", Unit: "s", Runs: runs.cpu, Command: command, Note: "its CPU time until the file is complete, less what it takes in that time without a snapshot"})
	b.add(Row{Name: window + "events lost in it, and while the one before was written", Unit: "events", Hold: "0", Runs: runs.lost, Command: command})
	b.add(Row{Name: window + "thousand events a second in it", Unit: "k/s", Runs: runs.rate, Command: command})
	return nil
}

func takeSnapshots(tracer *background, dir string, count int) (runs snapshotRuns, err error) {
	tracer.waitOpen()
	time.Sleep(snapshotSettling - snapshotIdle)
	pid := tracer.cmd.Process.Pid
	before, err := cpuTime(pid)
	if err != nil {
		return runs, err
	}
	time.Sleep(snapshotIdle)
	idle, err := cpuTime(pid)
	if err != nil {
		return runs, err
	}
	share := (idle - before).Seconds() / snapshotIdle.Seconds()
	for n := 1; n <= count; n++ {
		requested := time.Now()
		before, err := cpuTime(pid)
		if err != nil {
			return runs, err
		}
		if err := unix.Kill(pid, unix.SIGUSR1); err != nil {
			return runs, err
		}
		took, err := awaitFile(filepath.Join(dir, fmt.Sprintf("x.%d.wprof", n)), requested)
		if err != nil {
			return runs, err
		}
		after, err := cpuTime(pid)
		if err != nil {
			return runs, err
		}
		runs.seconds, runs.cpu = append(runs.seconds, took.Seconds()), append(runs.cpu, (after-before).Seconds()-share*took.Seconds())
		time.Sleep(time.Until(requested.Add(snapshotEvery)))
	}
	return runs, nil
}

// awaitFile waits until a file is there, and returns how long that took.
func awaitFile(name string, since time.Time) (time.Duration, error) {
	for {
		_, err := os.Stat(name)
		took := time.Since(since)
		switch {
		case err == nil:
			return took, nil
		case !errors.Is(err, os.ErrNotExist):
			return 0, err
		case took > snapshotLimit:
			return 0, fmt.Errorf("there is no %s after %v", name, snapshotLimit)
		}
		time.Sleep(time.Millisecond)
	}
}

// read reads the snapshots, and the window after the last one.
func (r *snapshotRuns) read(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.wprof"))
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(slices.Values(files)) {
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		r.lost = append(r.lost, float64(c.lost))
		r.rate = append(r.rate, float64(c.events)/float64(c.close-c.open)*1e6)
	}
	return nil
}
