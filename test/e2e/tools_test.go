//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wprof/format"
)

// binaries are the built tools and the workload; TestMain builds them once.
type binaries struct {
	dir string
}

var built binaries

func TestMain(m *testing.M) {
	if dir := os.Getenv("WPROF_TEST_TOOLS"); dir != "" { // built already, for a machine that has no compiler
		built.dir = dir
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "wprof-e2e-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	built.dir = dir
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

func build(dir string) error {
	for _, args := range [][]string{
		{"go", "build", "-o", dir + "/", "wprof/cmd/..."},
		{"gcc", "-O1", "-Wall", "-o", filepath.Join(dir, "workload"), "testdata/workload.c"},
		// No function may end in a jump or keep its frame to itself: what calls what is what the tests look at.
		{"gcc", "-O1", "-Wall", "-static", "-no-pie", "-fno-pie", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
			"-fno-optimize-sibling-calls", "-fno-shrink-wrap", "-o", filepath.Join(dir, "blockers"), "testdata/blockers.c"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

// needPrivilege fails the test where recording must work, and skips it elsewhere.
func needPrivilege(t *testing.T) {
	t.Helper()
	_, btf := os.Stat("/sys/kernel/btf/vmlinux")
	if os.Getuid() != 0 || btf != nil {
		t.Skip("recording needs root and BTF")
	}
}

// tool runs a tool to its end and returns its standard output.
func tool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(built.path(name), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes()
}

// convert writes what a tool makes of a file to another file.
func convert(t *testing.T, to, name string, args ...string) string {
	t.Helper()
	tool(t, name, append([]string{"-o", to}, args...)...)
	return to
}

// record records into a file while during runs.
func record(t *testing.T, file string, args []string, during func()) string {
	t.Helper()
	cmd := exec.Command(built.path("wprof-record"), append([]string{"-v", "-d120s", "-o", file}, args...)...)
	stderr := &announced{word: "window open", said: make(chan struct{})}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the recorder: %v", err)
	}
	select {
	case <-stderr.said:
	case <-time.After(30 * time.Second):
		t.Errorf("the recorder did not say that its window is open: %s", stderr)
	}
	during()
	time.Sleep(100 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatalf("stop the recorder: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("wprof-record: %v: %s", err, stderr.String())
	}
	return file
}

// eachSample visits the samples of a stream.
func eachSample(t *testing.T, in io.Reader, visit func(*format.Reader, *format.Event)) {
	t.Helper()
	r, err := format.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == format.KindSample {
			visit(r, e)
		}
	}
}

func eachSampleOf(t *testing.T, capture string, visit func(*format.Reader, *format.Event)) {
	t.Helper()
	f, err := os.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	eachSample(t, f, visit)
}

// announced is a standard error that tells when a word has been said on it.
type announced struct {
	text bytes.Buffer
	word string
	once sync.Once
	said chan struct{}
}

func (a *announced) Write(p []byte) (int, error) {
	n, err := a.text.Write(p)
	if strings.Contains(a.text.String(), a.word) {
		a.once.Do(func() { close(a.said) })
	}
	return n, err
}

func (a *announced) String() string { return a.text.String() }

// did is one line that the workload printed.
type did struct {
	what     string
	tid      int
	from, to int64 // CLOCK_MONOTONIC ns
}

// work runs the workload in a mode and returns what it says it did.
func work(t *testing.T, mode string) []did {
	t.Helper()
	out, err := exec.Command(built.path("workload"), mode).Output()
	if err != nil {
		t.Errorf("workload %s: %v", mode, err)
	}
	var all []did
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Errorf("workload %s printed %q", mode, line)
			continue
		}
		tid, _ := strconv.Atoi(f[1])
		from, _ := strconv.ParseInt(f[2], 10, 64)
		to, _ := strconv.ParseInt(f[3], 10, 64)
		all = append(all, did{f[0], tid, from, to})
	}
	return all
}

// only picks the lines of one sort.
func only(all []did, what string) []did {
	var some []did
	for _, d := range all {
		if d.what == what {
			some = append(some, d)
		}
	}
	return some
}
