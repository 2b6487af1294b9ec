//go:build linux && amd64

package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

const pythonsMissing = "functions of Python are missing in stacks of interpreters other than CPython"

// The recorder says of which interpreters it has taken stacks without functions of Python, and of no others.
func TestUnknownPythonsAreNamed(t *testing.T) {
	tools.NeedPrivilege(t)
	program := filepath.Join(t.TempDir(), "python3.7")
	if out, err := exec.Command("gcc", "-rdynamic", "-o", program, "testdata/python/unknown.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	waiting := exec.Command(program, "wait")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = waiting.Process.Kill()
		_ = waiting.Wait()
	}()
	for name, c := range map[string]struct {
		args  []string
		named bool
	}{
		"computes":               {[]string{"--", program, "0.5"}, true},
		"waits":                  {[]string{"-d1s", "-p", strconv.Itoa(waiting.Process.Pid)}, true},
		"another process waits":  {[]string{"--", "sleep", "1"}, false},
		"no functions of Python": {[]string{"-f", "no-py-stacks", "--", program, "0.5"}, false},
		"without tables":         {[]string{"--unwind=fp", "--", program, "0.5"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			capture := filepath.Join(t.TempDir(), "python.wprof")
			r := tools.Try(t, 20*time.Second, nil, "wprof-record", append([]string{"-o", capture}, c.args...)...)
			said := strings.Contains(string(r.Stderr), pythonsMissing) && strings.Contains(string(r.Stderr), program+" (3.7)")
			if r.Status != 0 || said != c.named || strings.Contains(string(r.Stderr), pythonsMissing) != c.named {
				t.Errorf("status %d, said %v, want %v:\n%s", r.Status, said, c.named, r.Stderr)
			}
		})
	}
}
