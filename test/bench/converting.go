package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// converters measures the renderers on a capture of both CPUs' pipe benchmarks.
func (b *bench) converters() error {
	small, err := b.recordLoad("small.wprof", pipeLoops)
	if err != nil {
		return err
	}
	large, err := b.recordLoad("large.wprof", 10*pipeLoops)
	if err != nil {
		return err
	}
	pid, err := b.busiest(small.path)
	if err != nil {
		return err
	}
	tools := []struct {
		name string
		args []string
		hold float64
	}{
		{"wprof-perfetto", nil, 3},
		{"wprof-filter", []string{"-p", strconv.Itoa(pid)}, 5},
	}
	for _, tool := range tools {
		if err := b.converter(tool.name, tool.args, tool.hold, small, large, pid); err != nil {
			return err
		}
	}
	return b.perfScript()
}

type load struct {
	path string
	capture
}

func (b *bench) recordLoad(name string, loops int) (load, error) {
	l := load{path: filepath.Join(b.tmp, name)}
	tracer, err := start(nil, b.tool("wprof-record"), "-v", "--no-stacks", "-d300s", "-o", l.path)
	if err != nil {
		return l, err
	}
	tracer.settle()
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

func (b *bench) converter(name string, args []string, hold float64, small, large load, pid int) error {
	var speed, bytes, memory, growth []float64
	out := filepath.Join(b.tmp, name+".out")
	for i := 0; i < b.few(); i++ {
		one, err := run(nil, nil, b.tool(name), append(args, "-o", out, small.path)...)
		if err != nil {
			return err
		}
		st, err := os.Stat(out)
		if err != nil {
			return err
		}
		bytes = append(bytes, float64(st.Size())/float64(small.events))
		ten, err := run(nil, nil, b.tool(name), append(args, "-o", out, large.path)...)
		if err != nil {
			return err
		}
		speed = append(speed, float64(large.events)/ten.wall.Seconds()/1e6)
		memory = append(memory, float64(ten.peakRSS)/(1<<20))
		growth = append(growth, ten.wall.Seconds()/one.wall.Seconds()*10/(float64(large.events)/float64(small.events)))
	}
	command := fmt.Sprintf("%s %s -o OUT CAPTURE (%.1f M events)", name, strings.Join(args, " "), float64(large.events)/1e6)
	b.add(Row{Name: name + strings.Join(append([]string{""}, short(args)...), " "), Unit: "M events/s", Hold: number(hold), Limit: hold, AtLeast: true, Runs: speed, Command: command})
	b.add(Row{Name: name + ": peak memory", Unit: "MiB", Hold: "256", Limit: 256, Runs: memory, Command: command})
	b.add(Row{Name: name + ": time for 10 times the capture", Unit: "×", Hold: "×10.5", Limit: 10.5, Runs: growth,
		Command: fmt.Sprintf("%.1f M against %.1f M events, scaled to 10 times", float64(large.events)/1e6, float64(small.events)/1e6)})
	if name == "wprof-perfetto" {
		return b.perfettoBytes(bytes, small, pid)
	}
	return nil
}

// perfettoBytes is how large a trace is, with the thread view as measured and without it.
func (b *bench) perfettoBytes(withThreads []float64, of load, pid int) error {
	out := filepath.Join(b.tmp, "sched.out")
	if _, err := run(nil, nil, b.tool("wprof-perfetto"), "-e", "no-threads", "-o", out, of.path); err != nil {
		return err
	}
	st, err := os.Stat(out)
	if err != nil {
		return err
	}
	here := ""
	if pid > 16383 {
		here = ", as here,"
	}
	const name = "Perfetto bytes per event (switch or wakeup), scheduling "
	switches := 100 * float64(of.switches) / float64(of.events)
	b.add(Row{Name: name + "only", Unit: "bytes", Hold: "8", Limit: 8, Runs: []float64{float64(st.Size()) / float64(of.events)}, Command: "size of wprof-perfetto -e no-threads -o OUT / events",
		Note: fmt.Sprintf("%.0f%% of these events are switches, which take more than wakeups; thread ids above 16383%s take a byte more than smaller ones", switches, here)})
	b.add(Row{Name: name + "with thread view", Unit: "bytes", Hold: "60", Limit: 60, Runs: withThreads, Command: "size of OUT / events",
		Note: fmt.Sprintf("%.0f%% of these events are switches, which take most of it", switches)})
	return nil
}

func short(args []string) []string {
	if len(args) == 2 && args[0] == "-p" {
		return []string{"-p PID"}
	}
	return args
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
