//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// takenNow is the time that hypervisor and interrupts took from all CPUs since boot, ns (proc(5): the sixth to eighth
// fields of /proc/stat, in ticks of 10 ms). Where the kernel measures these, schedstat leaves them out.
func takenNow(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, field := range strings.Fields(strings.SplitN(string(text), "\n", 2)[0])[6:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += ticks
	}
	return sum * 10_000_000
}
