//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// stealNow is the time that the hypervisor took from all CPUs since boot, ns (proc(5): the eighth field of /proc/stat,
// in ticks of 10 ms).
func stealNow(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(strings.SplitN(string(text), "\n", 2)[0])
	ticks, err := strconv.ParseInt(f[8], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ticks * 10_000_000
}
