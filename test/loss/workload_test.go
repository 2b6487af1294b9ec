//go:build linux

package loss

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"wprof/test/tools"
)

// workload is a program of testdata that waits for its turn.
type workload struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// workloadOf starts a program and returns when it waits.
func workloadOf(t *testing.T, name string, args ...any) *workload {
	t.Helper()
	words := strings.Fields(fmt.Sprintln(args...))
	w := &workload{t: t, cmd: exec.Command(tools.Path(name), words...)}
	var err error
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	})
	w.lines = bufio.NewScanner(out)
	w.until("ready")
	return w
}

func (w *workload) pid() string { return fmt.Sprint(w.cmd.Process.Pid) }

// begin lets it work, and until waits for a line and returns those before it.
func (w *workload) begin() {
	w.t.Helper()
	if _, err := io.WriteString(w.stdin, "\n"); err != nil {
		w.t.Fatalf("begin the workload: %v", err)
	}
}

func (w *workload) until(end string) (before []string) {
	w.t.Helper()
	for w.lines.Scan() {
		if w.lines.Text() == end {
			return before
		}
		before = append(before, w.lines.Text())
	}
	w.t.Fatalf("%v ended after %q", w.cmd.Args, before)
	return nil
}

// player is what a thread of pingpong counted for itself.
type player struct {
	tid                   int32
	cpu                   uint32
	switches, voluntary   int64
	calls, renames, forks int64
	from, to              int64 // CLOCK_MONOTONIC ns
}

func players(t *testing.T, lines []string) []player {
	t.Helper()
	all := make([]player, len(lines))
	for i, line := range lines {
		p := &all[i]
		if _, err := fmt.Sscan(line, &p.tid, &p.cpu, &p.switches, &p.voluntary, &p.calls, &p.renames, &p.forks, &p.from, &p.to); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return all
}
