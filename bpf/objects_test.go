//go:build linux

package bpf

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// The objects of both architectures have the same programs and the same records.
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

func TestRecordTypes(t *testing.T) {
	types, err := RecordTypes()
	must(t, err)
	for name, size := range map[string]uint32{
		"rec_hdr": 16, "rec_ident": 64, "rec_switch": 32, "rec_waking": 24, "rec_fork": 80, "rec_exec": 88,
		"rec_rename": 96, "rec_exit": 32, "rec_free": 64, "rec_lost": 280, "rec_task": 96,
		"rec_stack": 32, "rec_sample": 40, "rec_args": 24,
		"rec_stacks": 16, "rec_return": 32, "rec_blocked": 56,
	} {
		if name == "rec_task" && size != taskBytes {
			t.Errorf("Go takes rec_task for %d bytes", taskBytes)
		}
		if s := types[name]; s == nil || s.Size != size {
			t.Errorf("%s is %v, want %d bytes", name, s, size)
		}
	}
}
