package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf/btf"
)

func TestLayoutIsCurrent(t *testing.T) {
	want, err := generate([]string{"../../../../bpf/wprof_x86_bpfel_linux.o", "../../../../bpf/wprof_arm64_bpfel_linux.o"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../layout_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("layout_gen.go is not what the objects say: run go generate ./internal/ringdata")
	}
}

// object writes the BTF of a type to a file, and returns its path.
func object(t *testing.T, typ btf.Type) string {
	t.Helper()
	b, err := btf.NewBuilder([]btf.Type{typ}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestObjectsMustAgree(t *testing.T) {
	u64 := &btf.Int{Name: "u64", Size: 8}
	one := object(t, &btf.Struct{Name: "rec_free", Size: 8, Members: []btf.Member{{Name: "start_ns", Type: u64}}})
	other := object(t, &btf.Struct{Name: "rec_free", Size: 16, Members: []btf.Member{{Name: "start_ns", Type: u64, Offset: 64}}})
	want := fmt.Sprintf(`%s and %s have different records: "FreeStartNS = 0" and "FreeStartNS = 8"`, one, other)
	if _, err := generate([]string{one, other}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestKindsHaveTheNumbersOfEvents(t *testing.T) {
	kinds := object(t, &btf.Enum{Name: "rec_kind", Size: 4, Values: []btf.EnumValue{{Name: "REC_WAKING", Value: 1}}})
	want := kinds + ": rec_kind: REC_WAKING has the number of event kind switch in format/kinds.go"
	if _, err := generate([]string{kinds}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
