//go:build linux

package bpf

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"wprof/internal/probe"
)

// kernelText is the address of the kernel's code.
func kernelText(t *testing.T) (address uint64) {
	t.Helper()
	in, err := os.Open("/proc/kallsyms")
	must(t, err)
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if strings.HasSuffix(lines.Text(), " _stext") {
			_, err := fmt.Sscanf(lines.Text(), "%x", &address)
			must(t, err)
			return address
		}
	}
	t.Fatal("the kernel has no _stext")
	return 0
}

// A CPU that has been offline gets new breakpoints of the kernel, also if it had as many as there can be: those before it are closed.
func TestKernelIsWatchedAnew(t *testing.T) {
	if _, err := os.Stat("/sys/bus/event_source/devices/breakpoint"); err != nil {
		t.Skip(err)
	}
	begin := kernelText(t)
	var all []*probe.Program
	for i := range uint64(4) { // of x86-64, and of most processors of arm64
		all = append(all, &probe.Program{
			Context: probe.Hit, Watch: probe.Watching{Access: probe.WatchWrite, Length: 8, Kernel: true}, Sites: []probe.Site{{Name: "_stext", Address: begin + 8*i}},
			Type: uint32(i), OneOf: 1, Unread: -1, BeganBy: -1,
		})
	}
	tracer := mustLoad(t, onlyProbes(all...))
	cpus, err := onlineCPUs()
	must(t, err)
	recording(t, tracer, func() {
		for range 2 {
			for _, cpu := range cpus {
				must(t, tracer.AddCPU(cpu))
			}
		}
	})
	for _, b := range tracer.watched {
		if len(b.events) != len(cpus) {
			t.Errorf("%d events of %d CPUs", len(b.events), len(cpus))
		}
	}
}
