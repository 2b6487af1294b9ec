package tools

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TakenNow is the time that hypervisor and interrupts took from all CPUs since boot, ns (proc(5): the sixth to eighth
// fields of /proc/stat, in ticks of 10 ms). Where the kernel measures these, schedstat and a thread's CPU clock leave them out.
func TakenNow(t testing.TB) int64 {
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
