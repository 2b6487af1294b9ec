package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"wprof/test/tools"
)

// usage is what a finished child cost.
type usage struct {
	wall    time.Duration
	cpu     time.Duration
	peakRSS int64 // bytes; of runWatched
	out     string
	err     string
}

// run runs a command to its end; its standard output goes to out, or is kept in usage.out when out is nil.
func run(out io.Writer, stdin io.Reader, name string, args ...string) (usage, error) {
	return runBeside(nil, out, stdin, name, args...)
}

// runWatched is the same of a command whose memory is measured, which costs a little of the other CPU's time.
func runWatched(name string, args ...string) (usage, error) {
	var peak func() int64
	u, err := runBeside(func(pid int) { peak = tools.WatchPeak(pid) }, nil, nil, name, args...)
	if peak != nil {
		u.peakRSS = peak()
	}
	return u, err
}

func runBeside(began func(pid int), out io.Writer, stdin io.Reader, name string, args ...string) (usage, error) {
	cmd := exec.Command(name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if out != nil {
		cmd.Stdout = out
	}
	at := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, fmt.Errorf("start %s: %w", name, err)
	}
	if began != nil {
		began(cmd.Process.Pid)
	}
	err := cmd.Wait()
	u := usage{wall: time.Since(at), out: stdout.String(), err: stderr.String()}
	u.take(cmd.ProcessState)
	if err != nil {
		return u, fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(u.err))
	}
	return u, nil
}

func (u *usage) take(s *os.ProcessState) { u.cpu = s.UserTime() + s.SystemTime() }

// background is a tracer that runs beside a workload.
type background struct {
	cmd    *exec.Cmd
	stderr announced
	began  time.Time
}

// announced is a standard error that signals when "window open" has been written to it.
type announced struct {
	text bytes.Buffer
	once sync.Once
	said chan struct{}
}

func (a *announced) Write(p []byte) (int, error) {
	n, err := a.text.Write(p)
	if strings.Contains(a.text.String(), "window open") {
		a.once.Do(func() { close(a.said) })
	}
	return n, err
}

func (a *announced) String() string { return a.text.String() }

// waitOpen waits until a tracer has opened its window: wprof-record reports it, the others get a second.
func (b *background) waitOpen() {
	select {
	case <-b.stderr.said:
		time.Sleep(100 * time.Millisecond)
	case <-time.After(time.Second):
	}
}

func start(out io.Writer, name string, args ...string) (*background, error) {
	b := &background{cmd: exec.Command(name, args...), began: time.Now()}
	b.stderr.said = make(chan struct{})
	b.cmd.Stdout, b.cmd.Stderr = out, &b.stderr
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return b, nil
}

// stop interrupts the tracer and waits until it has written everything.
func (b *background) stop() (usage, error) {
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		return usage{}, fmt.Errorf("stop %s: %w", b.cmd.Path, err)
	}
	err := b.cmd.Wait()
	u := usage{wall: time.Since(b.began), err: b.stderr.String()}
	u.take(b.cmd.ProcessState)
	if err != nil && !strings.Contains(err.Error(), "interrupt") {
		return u, fmt.Errorf("%s: %w: %s", b.cmd.Path, err, strings.TrimSpace(u.err))
	}
	return u, nil
}

// pipeLoop is `perf bench sched pipe` pinned to one CPU: two processes that wake each other, four events a loop.
type pipeLoop struct {
	cpu   int
	loops int
}

func (p pipeLoop) args() []string {
	return []string{"-c", strconv.Itoa(p.cpu), "perf", "bench", "sched", "pipe", "-l", strconv.Itoa(p.loops)}
}

// seconds runs the benchmark and returns the time that it prints.
func (p pipeLoop) seconds() (float64, error) {
	u, err := run(nil, nil, "taskset", p.args()...)
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`Total time: ([0-9.]+)`).FindStringSubmatch(u.out)
	if m == nil {
		return 0, fmt.Errorf("perf bench sched pipe did not say how long it took: %q", u.out)
	}
	return strconv.ParseFloat(m[1], 64)
}

// fivePipes is the median of five short runs of the pipe benchmark, for slowdowns: the machine's speed changes from one second to the next.
type fivePipes struct{}

const fivePipesCommand = "median of five times taskset -c 1 perf bench sched pipe -l 50000"

func (fivePipes) seconds() (float64, error) {
	var all []float64
	for range 5 {
		s, err := pipeLoop{cpu: 1, loops: 50_000}.seconds()
		if err != nil {
			return 0, err
		}
		all = append(all, s)
	}
	return median(all), nil
}
