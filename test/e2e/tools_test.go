//go:build linux

package e2e

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m,
		tools.C{Name: "workload", Source: "testdata/workload.c"},
		tools.C{Name: "generate", Source: "testdata/generate.c", Flags: []string{"-fno-omit-frame-pointer"}},
		tools.C{Name: "quota", Source: "testdata/quota.c", Flags: []string{"-pthread"}},
		tools.C{Name: "named", Source: "testdata/named.c", Flags: []string{"-g", "-pthread"}},
		tools.C{Name: "deny", Source: "testdata/deny.c"},
		tools.C{Name: "many", Source: "testdata/many.c", Flags: []string{"-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-pthread"}},
		tools.C{Name: "chains", Source: "testdata/chains.c", Flags: []string{"-O2", "-fomit-frame-pointer", "-pthread"}},
		tools.C{Name: "chains-lazy.so", Source: "testdata/lazy.c", Flags: []string{"-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-Wl,-z,lazy"}},
		tools.C{Name: "chains-library.so", Source: "testdata/library.c", Flags: []string{"-O2", "-fomit-frame-pointer", "-shared", "-fPIC"}},
		// No function may end in a jump or keep its frame to itself: the tests check what calls what.
		tools.C{Name: "blockers", Source: "testdata/blockers.c", Flags: []string{"-static", "-no-pie", "-fno-pie",
			"-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls", "-fno-shrink-wrap"}})
}

// eachSample visits the samples of a stream.
func eachSample(t *testing.T, in io.Reader, visit func(*format.Reader, *format.Event)) {
	t.Helper()
	tools.Walk(t, in, func(r *format.Reader, e *format.Event) {
		if e.Kind == format.KindSample {
			visit(r, e)
		}
	})
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

// did is one line that the workload printed.
type did struct {
	what     string
	tid      int
	from, to int64 // CLOCK_MONOTONIC ns
}

// work runs the workload in a mode and returns what it prints.
func work(t *testing.T, mode string) []did {
	t.Helper()
	return parseWork(t, string(runWorkload(t, mode)))
}

func runWorkload(t *testing.T, mode string) []byte {
	t.Helper()
	out, err := exec.Command(tools.Path("workload"), mode).Output()
	if err != nil {
		t.Errorf("workload %s: %v", mode, err)
	}
	return out
}

func parseWork(t *testing.T, said string) []did {
	t.Helper()
	var all []did
	for line := range strings.Lines(said) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Errorf("the workload printed %q", line)
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
