//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/tools"
)

// computing is a program for node that computes for some seconds.
const computing = `
function inner(x) { let s = 0; for (let i = 0; i < 2000; i++) s += Math.sqrt(x + i) % 7; return s }
const end = Date.now() + 10000
while (Date.now() < end) inner(3)
`

// startNode runs a program in node until the test ends.
func startNode(t *testing.T, program string, flags ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	flags = append(flags, "--logfile="+filepath.Join(dir, "v8.log"), "--no-logfile-per-isolate", "-e", program)
	cmd := exec.Command("node", flags...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid))
	})
	return cmd
}

// TestUnnamedGeneratedCodeGetsAdvice once for its process, and none if it has names.
func TestUnnamedGeneratedCodeGetsAdvice(t *testing.T) {
	tools.NeedPrivilege(t)
	for flag, want := range map[string]int{"": 1, "--perf-basic-prof": 0} {
		var flags []string
		if flag != "" {
			flags = append(flags, flag)
		}
		node := startNode(t, computing, flags...)
		recorder := tools.Start(t, "-Stimer=499hz", "-d2s", "-p", fmt.Sprint(node.Process.Pid), "-o", filepath.Join(t.TempDir(), "node.wprof"))
		if status := recorder.Wait(); status != 0 {
			t.Errorf("wprof-record: status %d", status)
		}
		stderr := recorder.Stderr.String()
		advice := fmt.Sprintf("(PID %d) has no names: start it with --perf-basic-prof\n", node.Process.Pid)
		if got := strings.Count(stderr, advice); got != want || strings.Contains(stderr, "omit-frame-pointer") {
			t.Errorf("node %s: the advice is there %d times, want %d:\n%s", flag, got, want, stderr)
		}
	}
}
