//go:build linux

package json

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wprof/test/tools"
)

// capture is the recording that all tests read, and what is known about it.
type capture struct {
	path  string
	said  string // what the workload has printed
	lines lines  // what wprof-json writes of it
	dump  *dump  // its text form
}

var (
	recordOnce sync.Once
	recorded   *capture
)

// theCapture is a recording of a busy machine, made once: everything that a line can say happens in it.
func theCapture(t *testing.T) *capture {
	t.Helper()
	tools.NeedPrivilege(t)
	recordOnce.Do(func() {
		c := &capture{}
		args := []string{"-S+timer", "-S+waker", "--offcpu-min", "0", "--ringbuf-size", "32mb"}
		c.path = tools.Record(t, filepath.Join(tools.Folder(), "busy.wprof"), args, func() { c.said = beBusy(t) })
		c.lines = readLines(t, tools.Run(t, "wprof-json", c.path))
		c.dump = readDump(t, tools.Run(t, "wprof-info", "--dump", c.path))
		if n := c.lines.header.Lost; n == nil || *n != 0 {
			t.Fatal("events were lost: the tests need all")
		}
		recorded = c
	})
	if recorded == nil {
		t.Fatal("the recording that this test looks at failed")
	}
	return recorded
}

// beBusy does all at once that can be done at once, and then what needs the time of a CPU for itself.
func beBusy(t *testing.T) (said string) {
	t.Helper()
	var together sync.WaitGroup
	for _, args := range []string{"pingpong 1000", "storm 120", "names", "execs", "bytes"} {
		together.Go(func() { busy(t, args) })
	}
	together.Go(func() { build(t) })
	together.Wait()
	for _, args := range []string{"sleeps", "wakes", "preempted"} {
		said += busy(t, args)
	}
	return said
}

// busy runs the workload in a mode and returns what it prints.
func busy(t *testing.T, args string) string {
	t.Helper()
	out, err := exec.Command(tools.Path("busy"), strings.Fields(args)...).Output()
	if err != nil {
		t.Errorf("busy %s: %v", args, err)
	}
	return string(out)
}

// build compiles a program, as builds do with several processes.
func build(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", filepath.Join(t.TempDir(), "built"), "testdata/busy.c").CombinedOutput(); err != nil {
		t.Errorf("compile: %v: %s", err, out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
