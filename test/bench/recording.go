package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/proc"
)

const pipeLoops = 150_000

// slowdown compares the pinned pipe benchmark without tracing, under wprof-record and under perf sched record, in
// turns.
func (b *bench) slowdown() error {
	var ours, perf []float64
	for i := 0; i < b.pairs; i++ {
		before, err := fivePipes{}.seconds()
		if err != nil {
			return err
		}
		with, _, err := traced(nil, fivePipes{}, b.tool("wprof-record"), "-v", "--no-stacks", "-d60s", "-o", filepath.Join(b.tmp, "slow.wprof"))
		if err != nil {
			return err
		}
		between, err := fivePipes{}.seconds()
		if err != nil {
			return err
		}
		peer, _, err := traced(nil, fivePipes{}, "perf", "sched", "record", "-o", filepath.Join(b.tmp, "perf.data"))
		if err != nil {
			return err
		}
		ours, perf = append(ours, with/before), append(perf, peer/between)
	}
	b.add(Row{Name: "slowdown of the pinned pipe benchmark, switches and wakeups, no stacks", Unit: "×", Hold: "×1.10", Limit: 1.10, Runs: ours,
		Command: fivePipesCommand + ", with and without wprof-record --no-stacks -d60s -o FILE",
		Note:    "a recording whose filter drops all of its events (-p 999999) slows it down by 1.08: calling the programs, and identifying the threads"})
	b.add(Row{Name: "slowdown of the pinned pipe benchmark under perf sched record", Unit: "×", Runs: perf, Command: "perf sched record -o FILE"})
	return nil
}

// programs measures the kernel programs with the kernel's own statistics, whose floor of about 40 ns is included, and
// how much of that is left when a filter drops all of the events: the rest is the time in the ring.
func (b *bench) programs() error {
	everything, nothing := map[string][]float64{}, map[string][]float64{}
	dropped := []string{"--no-stacks", "-p", strconv.Itoa(os.Getpid())}
	for i := 0; i < b.few(); i++ {
		if err := b.programRuns(everything, "--no-stacks"); err != nil {
			return err
		}
		if err := b.programRuns(nothing, dropped...); err != nil {
			return err
		}
	}
	const command = "wprof-record --stats --no-stacks -d60s -o FILE%s beside taskset -c 1 perf bench sched pipe -l 150000"
	for _, name := range slices.Sorted(maps.Keys(everything)) {
		row := Row{Name: "kernel program " + name, Unit: "ns a run", Runs: everything[name], Command: fmt.Sprintf(command, "")}
		switch {
		case strings.Contains(name, "switch"):
			row.Hold, row.Limit = "110", 110
		case strings.Contains(name, "wak"):
			row.Hold, row.Limit = "105", 105
		}
		if strings.Contains(name, "switch") || strings.Contains(name, "wak") {
			row.Note = whereTimeGoes
		}
		b.add(row)
		if len(nothing[name]) > 0 {
			b.add(Row{Name: "kernel program " + name + ", of which before the ring (events that a filter drops)", Unit: "ns a run", Runs: nothing[name],
				Command: fmt.Sprintf(command, " -p PID")})
		}
	}
	return nil
}

// whereTimeGoes explains the programs' figures; the cost outside of the window was measured by never opening it.
const whereTimeGoes = "58 to 65 ns of a run are the call and the kernel's own measurement, as a run outside of the window shows; " +
	"the rest of the time before the ring is for identifying the threads and for filters, and the time in the ring for reserving, the clock and submitting"

// programRuns adds what each program takes for a run in one recording, ns.
func (b *bench) programRuns(runs map[string][]float64, flags ...string) error {
	return b.programRunsOf(runs, pipeLoop{cpu: 1, loops: pipeLoops}, flags...)
}

func (b *bench) programRunsOf(runs map[string][]float64, work workload, flags ...string) error {
	cost, err := b.costsOf(work, flags...)
	if err != nil {
		return err
	}
	for _, p := range cost.GetPrograms() {
		if p.Runs > 10_000 {
			runs[p.Name] = append(runs[p.Name], float64(p.Ns)/float64(p.Runs))
		}
	}
	return nil
}

// costsOf records beside a workload, and returns what that has cost the recorder and the kernel.
func (b *bench) costsOf(work workload, flags ...string) (*format.RecorderCost, error) {
	file := filepath.Join(b.tmp, "programs.wprof")
	args := append([]string{"-v", "--stats", "-d60s", "-o", file}, flags...)
	if _, _, err := traced(nil, work, b.tool("wprof-record"), args...); err != nil {
		return nil, err
	}
	c, err := readCapture(file)
	return c.cost, err
}

// recorderCost measures the recorder's own CPU time for a million events, its memory and the bytes that it stores.
func (b *bench) recorderCost() error {
	var toPipe, toFile, bytes, spooled, memory, perfBytes []float64
	for i := 0; i < b.few(); i++ {
		work := pipeLoop{cpu: 1, loops: 2 * pipeLoops}
		idle, err := b.setupCost("--no-stacks")
		if err != nil {
			return err
		}
		pipe := filepath.Join(b.tmp, "pipe.wprof")
		perEvent, _, err := b.costThrough(work, idle, pipe, true)
		if err != nil {
			return err
		}
		toPipe = append(toPipe, perEvent)
		file := filepath.Join(b.tmp, "file.wprof")
		perEvent, c, err := b.costThrough(work, idle, file, false)
		if err != nil {
			return err
		}
		toFile = append(toFile, perEvent)
		bytes = append(bytes, float64(c.size)/float64(c.events))
		spooled = append(spooled, float64(c.cost.GetSpoolBytes())/float64(c.events))
		memory = append(memory, (float64(c.cost.GetPeakRss())-float64(c.cost.GetRingBytes()))/(1<<20))
		perEvent, err = b.perfBytes(work)
		if err != nil {
			return err
		}
		perfBytes = append(perfBytes, perEvent)
	}
	b.add(Row{Name: "recorder's CPU per million events after set-up, finalisation included, no stacks, to a pipe", Unit: "s", Hold: "0.08", Limit: 0.08, Runs: toPipe,
		Command: "wprof-record --no-stacks -d60s | cat > FILE beside taskset -c 1 perf bench sched pipe -l 300000, less the CPU time of wprof-record --no-stacks -d1ms"})
	b.add(Row{Name: "recorder's CPU per million events after set-up, finalisation included, no stacks, to a zstd file", Unit: "s", Hold: "0.14", Limit: 0.14, Runs: toFile, Command: "wprof-record --no-stacks -d60s -o FILE"})
	b.add(Row{Name: "stored bytes per event, pipe benchmark, whole file", Unit: "bytes", Hold: "4", Limit: 4, Runs: bytes, Command: "size of FILE / events in its end block"})
	b.add(Row{Name: "stored bytes per event, pipe benchmark, perf.data", Unit: "bytes", Runs: perfBytes, Command: "perf sched record -o FILE; size / (4 × loops)"})
	b.add(Row{Name: "spool bytes per event, pipe benchmark, set-up included", Unit: "bytes", Hold: "18", Limit: 18, Runs: spooled, Command: "wprof-record --no-stacks -d60s -o FILE; the spool bytes in its end block"})
	b.add(Row{Name: "peak memory of the recorder beyond its rings, all stages, no stacks", Unit: "MiB", Hold: "128", Limit: 128, Runs: memory, Command: "wprof-record --no-stacks -d60s -o FILE; VmHWM less ring bytes"})
	return nil
}

// setupCost is what a recording of nothing costs: loading, attaching, closing.
func (b *bench) setupCost(flags ...string) (float64, error) {
	args := append([]string{"-d1ms", "-o", filepath.Join(b.tmp, "empty.wprof")}, flags...)
	u, err := run(nil, nil, b.tool("wprof-record"), args...)
	return u.cpu.Seconds(), err
}

func (b *bench) costThrough(work pipeLoop, idle float64, file string, pipe bool) (float64, capture, error) {
	args := []string{"-v", "--no-stacks", "-d60s"}
	var out *os.File
	if pipe {
		var done func() error
		var err error
		if out, done, err = pipeTo(file); err != nil {
			return 0, capture{}, err
		}
		defer done()
	} else {
		args = append(args, "-o", file)
	}
	var u usage
	var err error
	if out != nil {
		_, u, err = traced(out, work, b.tool("wprof-record"), args...)
		out.Close()
		time.Sleep(200 * time.Millisecond)
	} else {
		_, u, err = traced(nil, work, b.tool("wprof-record"), args...)
	}
	if err != nil {
		return 0, capture{}, err
	}
	c, err := readCapture(file)
	if err != nil {
		return 0, capture{}, err
	}
	return (u.cpu.Seconds() - idle) / float64(c.events) * 1e6, c, nil
}

// pipeTo is `| cat > file`: the write end of a pipe whose other end is copied into the file.
func pipeTo(file string) (*os.File, func() error, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = f.ReadFrom(r)
		f.Close()
	})
	return w, func() error { wg.Wait(); return r.Close() }, nil
}

func (b *bench) perfBytes(work pipeLoop) (float64, error) {
	file := filepath.Join(b.tmp, "perf.data")
	if _, _, err := traced(nil, work, "perf", "sched", "record", "-o", file); err != nil {
		return 0, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return float64(st.Size()) / float64(4*work.loops), nil
}

// startUp measures the time from the start of the program to its open window.
func (b *bench) startUp() error {
	var runs []float64
	for i := 0; i < b.pairs; i++ {
		file := filepath.Join(b.tmp, "start.wprof")
		began := proc.Monotonic()
		if _, err := run(nil, nil, b.tool("wprof-record"), "-d10ms", "-o", file); err != nil {
			return err
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		runs = append(runs, float64(c.open-began)/1e9)
	}
	b.add(Row{Name: "start of the program to open window", Unit: "s", Hold: "0.2", Limit: 0.2, Runs: runs, Command: "wprof-record -d10ms -o FILE; session.open less CLOCK_MONOTONIC before exec"})
	return nil
}

// losses runs the pipe benchmark on every CPU at once and counts what is missing.
func (b *bench) losses() error {
	var lost, rate []float64
	for i := 0; i < b.few(); i++ {
		file := filepath.Join(b.tmp, "loss.wprof")
		tracer, err := start(nil, b.tool("wprof-record"), "-v", "-d60s", "-o", file)
		if err != nil {
			return err
		}
		tracer.waitOpen()
		began := time.Now()
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for cpu := range errs {
			wg.Go(func() { _, errs[cpu] = pipeLoop{cpu: cpu, loops: 5 * pipeLoops}.seconds() })
		}
		wg.Wait()
		took := time.Since(began)
		if _, err := tracer.stop(); err != nil {
			return err
		}
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		c, err := readCapture(file)
		if err != nil {
			return err
		}
		lost = append(lost, float64(c.lost))
		rate = append(rate, float64(c.events)/took.Seconds()/1e6)
	}
	command := "wprof-record -d60s -o FILE beside perf bench sched pipe -l 750000 on CPU 0 and on CPU 1"
	b.add(Row{Name: "events lost while every CPU switches, default rings", Unit: "events", Hold: "0", Limit: 0, Runs: lost, Command: command})
	b.add(Row{Name: "rate of events while every CPU switches", Unit: "M events/s", Runs: rate, Command: command})
	return nil
}

// idle measures what the recorder costs while nothing happens, and what it costs however long that is: loading, reading
// what runs already, and names.
func (b *bench) idle() error {
	const settling, window = 5 * time.Second, 20 * time.Second
	var idle, fixed []float64
	for range b.few() {
		tracer, err := start(nil, b.tool("wprof-record"), "-v", "-d60s", "-o", filepath.Join(b.tmp, "idle.wprof"))
		if err != nil {
			return err
		}
		tracer.waitOpen()
		time.Sleep(settling)
		before, err := cpuTime(tracer.cmd.Process.Pid)
		time.Sleep(window)
		after, afterErr := cpuTime(tracer.cmd.Process.Pid)
		u, stopErr := tracer.stop()
		if err := errors.Join(err, afterErr, stopErr); err != nil {
			return err
		}
		rate := (after - before).Seconds() / window.Seconds()
		idle, fixed = append(idle, 100*rate), append(fixed, u.cpu.Seconds()-rate*u.wall.Seconds())
	}
	const command = "wprof-record -d60s -o FILE, "
	b.add(Row{Name: "recorder's CPU on an idle machine, after set-up", Unit: "%", Hold: "0.1", Limit: 0.1, Runs: idle, Command: command + "its CPU clock from 5 s after the start of the window to 25 s"})
	b.add(Row{Name: "recorder's CPU for set-up and names, however long it records", Unit: "s", Runs: fixed, Command: command + "interrupted after 25 s, less its idle share"})
	return nil
}

// cpuTime is what a process has cost so far, with its threads that have ended: its CPU clock, clock_getcpuclockid(3).
func cpuTime(pid int) (time.Duration, error) {
	const perProcessScheduled = 2 // CPUCLOCK_SCHED of the kernel's include/linux/posix-timers.h
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|perProcessScheduled), &t); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// few is the number of runs for figures that are not ratios of noisy times.
func (b *bench) few() int {
	if b.quick {
		return 2
	}
	return 7
}
