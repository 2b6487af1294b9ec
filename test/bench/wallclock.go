package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"wprof/internal/proc"
)

const (
	wallclockTurn  = 6 * time.Second  // with and without a recording, in turns
	wallclockWidth = 0.005            // half of the interval at which pairs are enough
	wallclockPairs = 150              // at most
	wallclockTime  = 25 * time.Minute // at most, for one workload
	wallclockFewer = 12               // pairs at least
)

// wallclock measures how much wprof-wallclock at its defaults slows an ordinary process down, one that computes and one that
// waits for the disk. Turns follow each other, and each with a recording is compared with the two without around it.
func (b *bench) wallclock() error {
	program := filepath.Join(b.tmp, "fixed")
	if err := compile(program, "test/bench/testdata/fixed.c"); err != nil {
		return err
	}
	disk := filepath.Join(b.tmp, "fixed.data")
	defer os.Remove(disk)
	for _, load := range []struct {
		name string
		args []string
	}{{"CPU-bound", []string{"cpu"}}, {"I/O-bound", []string{"io", disk}}} {
		if err := b.wallclockBeside(load.name, program, load.args...); err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
	}
	return nil
}

func (b *bench) wallclockBeside(name, program string, args ...string) error {
	work, err := startWork(program, args...)
	if err != nil {
		return err
	}
	defer work.stop()
	row := Row{Name: "wprof-wallclock at its defaults: slowdown of " + article(name) + " process", Unit: "×", Hold: "×1.01 at the interval's upper end", Limit: 1.01, Upper: true,
		Command: "test/bench/testdata/fixed.c " + args[0] + ", with and without scripts/wprof-wallclock PID; work done while the window is open"}
	var whole, cost []float64
	before := work.during(wallclockTurn)
	for end := time.Now().Add(wallclockTime); ; {
		turn, err := b.wallclockTurn(work)
		if err != nil {
			return err
		}
		after := work.during(wallclockTurn)
		usual := (before.mean() + after.mean()) / 2
		row.Runs = append(row.Runs, turn.inWindow.mean()/usual)
		whole, cost = append(whole, turn.all.mean()/usual), append(cost, 100*turn.cpu)
		before = after
		if b.enough(row, end) {
			break
		}
	}
	lo, hi := row.Interval()
	row.Note = fmt.Sprintf("%d pairs, until the interval is within ±0.5%%", len(row.Runs))
	if (hi-lo)/2 > wallclockWidth {
		row.Note = fmt.Sprintf("after %d pairs the interval is still ±%.1f%%: the machine is as noisy without a recording", len(row.Runs), 50*(hi-lo))
	}
	b.add(row)
	const command = "scripts/wprof-wallclock PID -d %d"
	b.add(Row{Name: "wprof-wallclock beside " + article(name) + " process, from its start to its end", Unit: "×", Runs: whole, Command: fmt.Sprintf(command, int(wallclockTurn.Seconds())),
		Note: "start and end count five times as much here as in a recording of the default half minute"})
	b.add(Row{Name: "recorder's CPU beside " + article(name) + " process, start and names included", Unit: "% of a CPU", Runs: cost, Command: fmt.Sprintf(command, int(wallclockTurn.Seconds()))})
	return nil
}

func article(name string) string {
	if name[0] == 'I' {
		return "an " + name
	}
	return "a " + name
}

// enough reports whether no more pairs are needed.
func (b *bench) enough(r Row, end time.Time) bool {
	n := len(r.Runs)
	if b.quick {
		return n >= b.pairs
	}
	lo, hi := r.Interval()
	return n >= wallclockFewer && (hi-lo)/2 <= wallclockWidth || n >= wallclockPairs || time.Now().After(end)
}

// turn is what was done beside one recording.
type turn struct {
	inWindow, all pieces
	cpu           float64 // seconds of the recorder's for a second of the window
}

func (b *bench) wallclockTurn(work *fixedWork) (turn, error) {
	prefix := filepath.Join(b.tmp, "wallclock")
	from := proc.Monotonic()
	seconds := strconv.Itoa(int(wallclockTurn.Seconds()))
	if _, err := run(nil, nil, "scripts/wprof-wallclock", strconv.Itoa(work.cmd.Process.Pid), "-d", seconds, "-o", prefix); err != nil {
		return turn{}, err
	}
	to := proc.Monotonic()
	c, err := readCapture(prefix + ".wprof")
	if err != nil {
		return turn{}, err
	}
	t := turn{inWindow: work.between(c.open, c.close), all: work.between(from, to)}
	if len(t.inWindow) == 0 {
		return t, errors.New("no work was done while the window was open")
	}
	t.cpu = float64(c.cost.GetUserNs()+c.cost.GetSystemNs()) / float64(c.close-c.open)
	return t, nil
}

// fixedWork is a process that does one piece of work after the other.
type fixedWork struct {
	cmd   *exec.Cmd
	stdin io.Closer
	mu    sync.Mutex
	done  pieces
}

// piece is when a piece of work was done, CLOCK_MONOTONIC ns.
type piece struct{ begin, end int64 }

type pieces []piece

// mean is how long a piece took on average, ns.
func (p pieces) mean() float64 {
	sum := int64(0)
	for _, one := range p {
		sum += one.end - one.begin
	}
	return float64(sum) / float64(len(p))
}

func startWork(program string, args ...string) (*fixedWork, error) {
	w := &fixedWork{cmd: exec.Command(program, args...)}
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdin = stdin
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.read(out)
	for end := time.Now().Add(time.Minute); len(w.between(0, proc.Monotonic())) == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			w.stop()
			return nil, fmt.Errorf("%s does no work", program)
		}
	}
	return w, nil
}

func (w *fixedWork) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var p piece
		if _, err := fmt.Sscan(lines.Text(), &p.begin, &p.end); err != nil {
			return
		}
		w.mu.Lock()
		w.done = append(w.done, p)
		w.mu.Unlock()
	}
}

// during is the work done in so much time from now on.
func (w *fixedWork) during(d time.Duration) pieces {
	from := proc.Monotonic()
	time.Sleep(d)
	return w.between(from, proc.Monotonic())
}

// between is the work begun and ended within a time.
func (w *fixedWork) between(from, to int64) pieces {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.done), func(p piece) bool { return p.begin < from || p.end > to })
}

func (w *fixedWork) stop() {
	_ = w.stdin.Close()
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}
