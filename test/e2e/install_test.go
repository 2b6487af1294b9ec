//go:build linux

package e2e

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tools are copied to machines with an older C library, or another one.
func TestInstalledToolsNeedNoLibraries(t *testing.T) {
	prefix := t.TempDir()
	if out, err := exec.Command("../../scripts/install", prefix).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := filepath.Glob(filepath.Join(prefix, "bin", "wprof*"))
	if err != nil || len(list) != 9 {
		t.Fatalf("there are %q", list)
	}
	for _, name := range list {
		f, err := elf.Open(name)
		if err != nil {
			continue // a script
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic linker", name)
			}
		}
		f.Close()
	}
}
