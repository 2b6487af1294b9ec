//go:build linux

package bpf

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// The objects of both architectures have the same programs.
func TestObjectsOfBothArchitectures(t *testing.T) {
	var specs []*ebpf.CollectionSpec
	for _, name := range []string{"wprof_x86_bpfel_linux.o", "wprof_arm64_bpfel_linux.o"} {
		file, err := os.Open(name)
		must(t, err)
		defer file.Close()
		spec, err := ebpf.LoadCollectionSpecFromReader(file)
		must(t, err)
		specs = append(specs, spec)
	}
	for _, p := range programs() {
		a, b := specs[0].Programs[p.name], specs[1].Programs[p.name]
		if a == nil || b == nil {
			t.Errorf("program %s is missing", p.name)
			continue
		}
		if len(a.Instructions) == 0 || len(b.Instructions) == 0 || a.AttachTo != p.tracepoint && p.tracepoint != "" {
			t.Errorf("program %s has %d and %d instructions, for tracepoint %q", p.name, len(a.Instructions), len(b.Instructions), a.AttachTo)
		}
	}
}
