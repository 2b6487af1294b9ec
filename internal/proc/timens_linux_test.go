package proc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestOffsetsOfATimeNamespace(t *testing.T) {
	for text, want := range map[string]clockOffsets{
		"": {},
		"monotonic           0         0\nboottime            0         0\n": {},
		"monotonic      100000         5\nboottime           -1 999999999\n": {100_000_000_000_005, -1},
	} {
		if got, err := parseOffsets(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"\n", "monotonic", "monotonic 1", "monotonic x 1", "boottime 1 x", "monotonic 99999999999 0", "monotonic 1 2 3"} {
		if got, err := parseOffsets(bad); err == nil {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
}

// TestClocksAreTheKernelsInANamespace reads clocks and the start of this process in a time namespace and outside of it.
func TestClocksAreTheKernelsInANamespace(t *testing.T) {
	if os.Getenv("WPROF_TEST_CLOCKS") != "" {
		clocks, err := ReadClocks()
		if err != nil {
			t.Fatal(err)
		}
		start := int64(0)
		for _, th := range Threads("/proc", os.Getppid()) {
			start = th.Start
		}
		t.Logf("CLOCKS %d %d %d", clocks.Monotonic, clocks.Boottime, start)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("a time namespace needs root")
	}
	before := Monotonic()
	cmd := exec.Command("unshare", "--time", "--monotonic", "100000", "--boottime", "300000", "--fork", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "WPROF_TEST_CLOCKS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	after, ahead := Monotonic(), bootAhead()
	_, text, _ := strings.Cut(string(out), "CLOCKS ")
	var got [3]int64
	for i, word := range strings.Fields(text)[:3] {
		if got[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if got[0] < before || got[0] > after || got[1] < before+ahead-tick || got[1] > after+ahead+tick {
		t.Errorf("monotonic %d and boottime %d in a namespace, outside of it %d to %d and %d more", got[0], got[1], before, after, ahead)
	}
	// The parent is unshare, which began in between.
	if got[2] < before-2*tick || got[2] > after {
		t.Errorf("a process that began between %d and %d has start %d in a namespace", before, after, got[2])
	}
}
