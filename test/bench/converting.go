package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// converters measures the renderers on a capture of both CPUs' pipe benchmarks.
func (b *bench) converters() error {
	small, large, err := b.recordLoads()
	if err != nil {
		return err
	}
	pid, err := b.busiest(small.path)
	if err != nil {
		return err
	}
	out := filepath.Join(b.tmp, "out")
	for _, c := range []converter{
		{tool: "wprof-perfetto", out: "-o", path: out, hold: 8},
		{tool: "wprof-perfetto", args: []string{"-e", "no-threads"}, out: "-o", path: out, hold: 15},
		{tool: "wprof-filter", args: []string{"-p", strconv.Itoa(pid)}, out: "-o", path: out, hold: 5},
	} {
		if err := b.converter(c, small, large, pid); err != nil {
			return err
		}
	}
	return b.perfScript()
}

// converter is a command to convert a capture.
type converter struct {
	tool string
	args []string
	out  string // the flag that says where to
	path string
	hold float64 // M events/s; 0: no promise
	new  bool    // an older version may not have it
}

type load struct {
	path string
	capture
}

// recordLoads records what renderers are measured on, and ten times as much of it.
func (b *bench) recordLoads() (small, large load, err error) {
	if small, err = b.recordLoad("small.wprof", pipeLoops); err == nil {
		large, err = b.recordLoad("large.wprof", 10*pipeLoops)
	}
	return small, large, err
}

func (b *bench) recordLoad(name string, loops int) (load, error) {
	l := load{path: filepath.Join(b.tmp, name)}
	tracer, err := start(nil, b.tool("wprof-record"), "-v", "--no-stacks", "-d300s", "-o", l.path)
	if err != nil {
		return l, err
	}
	tracer.waitOpen()
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for cpu := range errs {
		wg.Go(func() { _, errs[cpu] = pipeLoop{cpu: cpu, loops: loops}.seconds() })
	}
	wg.Wait()
	if _, err := tracer.stop(); err != nil {
		return l, err
	}
	l.capture, err = readCapture(l.path)
	return l, err
}

func (b *bench) converter(c converter, small, large load, pid int) error {
	var speed, bytes, memory, growth []float64
	older := turns{version: filepath.Base(b.against)}
	run := func(bin string, l load) (usage, error) {
		return runWatched(filepath.Join(bin, c.tool), append(slices.Clone(c.args), c.out, c.path, l.path)...)
	}
	for i := 0; i < b.few(); i++ {
		one, err := run(b.bin, small)
		if err != nil {
			return err
		}
		st, err := os.Stat(c.path)
		if err != nil {
			return err
		}
		bytes = append(bytes, float64(st.Size())/float64(small.events))
		ten, err := run(b.bin, large)
		if err != nil {
			return err
		}
		speed = append(speed, float64(large.events)/ten.wall.Seconds()/1e6)
		memory = append(memory, float64(ten.peakRSS)/(1<<20))
		growth = append(growth, ten.wall.Seconds()/one.wall.Seconds()*10/(float64(large.events)/float64(small.events)))
		if b.against == "" || c.new {
			continue
		}
		before, err := run(b.against, large)
		if err != nil {
			return err
		}
		older.add(large.events, ten, before)
	}
	b.addConverter(c, small, large, speed, memory, growth)
	b.addTurns(c, older)
	if c.tool == "wprof-perfetto" {
		b.perfettoBytes(bytes, len(c.args) == 0, small, pid)
	}
	return nil
}

func (b *bench) addConverter(c converter, small, large load, speed, memory, growth []float64) {
	to := "OUT"
	if c.path == os.DevNull {
		to = os.DevNull
	}
	name := c.name()
	command := fmt.Sprintf("%s %s %s CAPTURE (%.1f M events)", strings.Join(append([]string{c.tool}, c.args...), " "), c.out, to, float64(large.events)/1e6)
	row := Row{Name: name, Unit: "M events/s", Runs: speed, Command: command}
	if c.hold != 0 {
		row.Hold, row.Limit, row.AtLeast = number(c.hold), c.hold, true
	}
	b.add(row)
	b.add(Row{Name: name + ": peak memory", Unit: "MiB", Hold: "256", Limit: 256, Runs: memory, Command: command})
	b.add(Row{Name: name + ": time for 10 times the capture", Unit: "×", Hold: "×10.5", Limit: 10.5, Runs: growth,
		Command: fmt.Sprintf("%.1f M against %.1f M events, scaled to 10 times", float64(large.events)/1e6, float64(small.events)/1e6)})
}

// turns compares a converter with an older version of it, run by run in turns.
type turns struct {
	version          string
	speed, wall, cpu []float64 // the older version's M events/s; now / then
}

func (t *turns) add(events uint64, now, then usage) {
	t.speed = append(t.speed, float64(events)/then.wall.Seconds()/1e6)
	t.wall = append(t.wall, now.wall.Seconds()/then.wall.Seconds())
	t.cpu = append(t.cpu, now.cpu.Seconds()/then.cpu.Seconds())
}

func (b *bench) addTurns(c converter, t turns) {
	if len(t.speed) == 0 {
		return
	}
	name, command := c.name(), "in turns with the tool of commit "+t.version
	b.add(Row{Name: name + ": the version before", Unit: "M events/s", Runs: t.speed, Command: command})
	b.add(Row{Name: name + ": wall time, divided by that of the version before", Unit: "×", Runs: t.wall, Command: command})
	b.add(Row{Name: name + ": CPU time, divided by that of the version before", Unit: "×", Runs: t.cpu, Command: command})
}

func (b *bench) perfettoBytes(bytes []float64, threads bool, small load, pid int) {
	row := Row{Name: "Perfetto bytes per event (switch or wakeup), scheduling only", Unit: "bytes", Hold: "8.4", Limit: 8.4, Runs: bytes, Command: "size of OUT / events"}
	share := fmt.Sprintf("%.0f%% of these events are switches, which take more than wakeups", 100*float64(small.switches)/float64(small.events))
	if threads {
		row.Name, row.Hold, row.Limit = "Perfetto bytes per event (switch or wakeup), scheduling with thread view", "30", 30
		row.Note = share + ": a slice takes 30 to 40 bytes"
	} else {
		here := ""
		if pid > 16383 {
			here = ", as here,"
		}
		row.Note = fmt.Sprintf("%s; thread ids above 16383%s take a byte more than smaller ones", share, here)
	}
	b.add(row)
}

func (c converter) name() string {
	words := append([]string{c.tool}, c.args...)
	if len(c.args) == 2 && c.args[0] == "-p" {
		words[2] = "PID"
	}
	if c.out != "-o" {
		words = append(words, c.out)
	}
	return strings.Join(words, " ")
}

// busiest is the process with most CPU time in the capture.
func (b *bench) busiest(path string) (int, error) {
	end, err := endOf(path)
	if err != nil {
		return 0, err
	}
	var pid int32
	var most int64
	for _, p := range end.GetProcesses() {
		if p.Pid != 0 && p.Ns > most {
			pid, most = p.Pid, p.Ns
		}
	}
	if pid == 0 {
		return 0, fmt.Errorf("%s names no process with CPU time", path)
	}
	return int(pid), nil
}

// perfScript is the peer's speed of printing events.
func (b *bench) perfScript() error {
	data := filepath.Join(b.tmp, "perf.data")
	work := pipeLoop{cpu: 1, loops: pipeLoops}
	if _, _, err := traced(nil, work, "perf", "sched", "record", "-o", data); err != nil {
		return err
	}
	var runs []float64
	for i := 0; i < min(3, b.few()); i++ {
		lines := &lineCounter{}
		u, err := run(lines, nil, "perf", "script", "-i", data)
		if err != nil {
			return err
		}
		runs = append(runs, float64(lines.n)/u.wall.Seconds()/1e6)
	}
	b.add(Row{Name: "perf script", Unit: "M events/s", Runs: runs, Command: "perf script -i perf.data | wc -l"})
	return nil
}

type lineCounter struct{ n int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += strings.Count(string(p), "\n")
	return len(p), nil
}
