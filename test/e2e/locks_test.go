//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/internal/report"
	"wprof/test/tools"
)

// contention is what the threads of a program say that they waited for a lock, in ns.
type contention struct {
	object  string
	total   int64
	waiters int
}

// contend records a program of testdata that contends for a lock, and returns what it says and the report about it.
func contend(t *testing.T, command ...string) (contention, report.Report) {
	t.Helper()
	capture := filepath.Join(t.TempDir(), "locks.wprof")
	out := tools.Run(t, "wprof-record", append([]string{"-o", capture, "--"}, command...)...)
	var said contention
	for line := range strings.Lines(string(out)) {
		var waits, total, longest int64
		if n, _ := fmt.Sscanf(line, "lock %s waits %d total %d longest %d", &said.object, &waits, &total, &longest); n == 4 {
			said.total += total
			if waits > 0 {
				said.waiters++
			}
		}
	}
	if said.total == 0 {
		t.Fatalf("%v waited for no lock: %s", command, out)
	}
	var r report.Report
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--report", "--json", "--limit", "100", capture), &r); err != nil {
		t.Fatal(err)
	}
	return said, r
}

// near fails unless a report's time is within 2% of what the program says.
func near(t *testing.T, what string, got, want int64) {
	t.Helper()
	if diff := max(got-want, want-got); diff > want/50 {
		t.Errorf("%s: the report has %d ns of waits, the program %d", what, got, want)
	}
}

// The time of waits for a lock, by its address, is what the threads measure around their calls.
func TestLocksOfCAndCPP(t *testing.T) {
	dir := t.TempDir()
	c, cpp := filepath.Join(dir, "c"), filepath.Join(dir, "cpp")
	compile(t, "-O1", "-pthread", "-o", c, "testdata/locks.c")
	if out, err := exec.Command("g++", "-O1", "-pthread", "-o", cpp, "testdata/locks.cpp").CombinedOutput(); err != nil {
		t.Fatalf("g++: %v: %s", err, out)
	}
	for _, program := range []string{c, cpp} {
		said, r := contend(t, program)
		if len(r.Locks) == 0 || r.Locks[0].Object != said.object {
			t.Errorf("%s: its lock is %s, the report has %+v", program, said.object, r.Locks)
			continue
		}
		near(t, program, r.Locks[0].Ns, said.total)
		if waiters := r.Locks[0].Waiters; len(waiters) != said.waiters || said.waiters < 2 {
			t.Errorf("%s: the waiters are %+v, want %d", program, waiters, said.waiters)
		}
		if len(r.Findings) == 0 || r.Findings[0].Kind != "one-lock" && r.Findings[0].Kind != "cpu-starved" {
			t.Errorf("%s: the findings are %+v", program, r.Findings)
		}
	}
}

// Java's monitors are known by where they are entered.
func TestLocksOfJava(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("javac", "-d", dir, "testdata/Locks.java").CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, out)
	}
	said, r := contend(t, "java", "-cp", dir, "Locks")
	total := int64(0)
	for _, l := range r.Locks {
		if strings.HasPrefix(l.Object, "Java monitors entered in ") {
			total += l.Ns
		}
	}
	near(t, "Java", total, said.total)
}

// A goroutine that waits for a mutex leaves its thread to others, so nothing of it is in a capture: the report has no lock for it.
func TestLocksOfGoAreNotThreads(t *testing.T) {
	program := filepath.Join(t.TempDir(), "locks")
	if out, err := exec.Command("go", "build", "-o", program, "testdata/locks.go").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	said, r := contend(t, program)
	for _, l := range r.Locks {
		if l.Ns > said.total/10 {
			t.Errorf("a lock of the runtime has %d ns of waits, goroutines waited %d: %+v", l.Ns, said.total, l)
		}
	}
	for _, f := range r.Findings {
		if f.Kind == "one-lock" {
			t.Errorf("%+v", f)
		}
	}
}
