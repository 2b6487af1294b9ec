//go:build linux

package bpf

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFunctionsLieWhereTheKernelSays compares the functions of the programs of two Tracers, each listed once, with
// /proc/kallsyms.
func TestFunctionsLieWhereTheKernelSays(t *testing.T) {
	tracer, other := mustLoad(t, Options{}), mustLoad(t, Options{})
	functions, err := tracer.Functions()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	named := map[uint64]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var address uint64
		var kind, name, module string
		if n, _ := fmt.Sscanf(lines.Text(), "%x %s %s %s", &address, &kind, &name, &module); n == 4 && module == "[bpf]" && address != 0 {
			named[address] = name
		}
	}
	if len(named) == 0 {
		t.Skip("the kernel hides the functions of programs")
	}
	listed := map[Function]int{}
	for _, f := range functions {
		listed[f]++
	}
	seen := map[string]bool{}
	for _, p := range slices.Concat(slices.Collect(maps.Values(tracer.collection.Programs)), slices.Collect(maps.Values(other.collection.Programs))) {
		own, err := functionsOf(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range own {
			name := strings.TrimPrefix(f.Name, "bpf_prog_")
			if !strings.HasPrefix(named[f.Start], "bpf_prog_") || !strings.HasSuffix(named[f.Start], "_"+name) || f.Length == 0 {
				t.Errorf("%s lies at %#x, %d bytes, where the kernel has %q", f.Name, f.Start, f.Length, named[f.Start])
			}
			if listed[f] != 1 {
				t.Errorf("%s at %#x is listed %d times", f.Name, f.Start, listed[f])
			}
			seen[name] = true
		}
	}
	if !seen["sched_switch"] || !seen["passes_filter_noinline"] {
		t.Errorf("functions %v", seen)
	}
}

func BenchmarkFunctions(b *testing.B) {
	tracer, err := Load(Options{})
	if err != nil {
		b.Skip(err)
	}
	defer tracer.Close()
	for b.Loop() {
		if _, err := tracer.Functions(); err != nil {
			b.Fatal(err)
		}
	}
}
