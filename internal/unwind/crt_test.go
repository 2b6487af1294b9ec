package unwind

import (
	"debug/elf"
	"os"
	"testing"
)

// The functions that run when a file is loaded and unloaded have rules, though their object files have no call frame information.
func TestInitAndFiniHaveRules(t *testing.T) {
	f, err := os.Open("/bin/bash")
	if err != nil {
		t.Skip("this machine has no such file")
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	table, err := Build(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".init", ".fini"} {
		s := file.Section(name)
		code, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		pushed := uint64(4)
		if code[0] == endbr64[0] {
			pushed += 4
		}
		for at, offset := range map[uint64]int32{0: 8, pushed - 1: 8, pushed: 16, s.Size - 2: 16, s.Size - 1: 8} {
			if got, want := table.Rule(s.Offset+at), (Rule{Base: SP, Offset: offset}); got != want {
				t.Errorf("%s+%d: got %+v, want %+v", name, at, got, want)
			}
		}
	}
}
