//go:build linux

package hard

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"wprof/test/tools"
)

// workload is a program that waits for its turn.
type workload struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func started(t *testing.T, cmd *exec.Cmd) *workload {
	t.Helper()
	w := &workload{t: t, cmd: cmd}
	var err error
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %v: %v", cmd.Args, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	w.lines = bufio.NewScanner(out)
	return w
}

func (w *workload) say(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.stdin, text); err != nil {
		w.t.Fatalf("tell %v: %v", w.cmd.Args, err)
	}
}

// until waits for a line and returns those before it.
func (w *workload) until(end string) (before []string) {
	w.t.Helper()
	for w.lines.Scan() {
		if w.lines.Text() == end {
			return before
		}
		before = append(before, w.lines.Text())
	}
	w.t.Fatalf("%v ended after %d lines", w.cmd.Args, len(before))
	return nil
}

// parse reads lines of numbers.
func parse(t *testing.T, lines []string) [][]int64 {
	t.Helper()
	all := make([][]int64, len(lines))
	for i, line := range lines {
		for word := range strings.FieldsSeq(line) {
			var n int64
			if _, err := fmt.Sscan(word, &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			all[i] = append(all[i], n)
		}
	}
	return all
}

// bounded fails the test if a tool took more memory than a renderer may beyond its definitions.
func bounded(t *testing.T, what string, r tools.Result, most int64) {
	t.Helper()
	if r.Status != 0 {
		t.Fatalf("%s: status %d: %s", what, r.Status, r.Stderr)
	}
	if r.PeakBytes > most {
		t.Errorf("%s took %d MiB, want %d at most", what, r.PeakBytes>>20, most>>20)
	}
	t.Logf("%s: %v, %d MiB", what, r.Took, r.PeakBytes>>20)
}
