package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinesInLargeFilesEqualLLVM compares the chains of functions, their files and their lines.
func TestLinesInLargeFilesEqualLLVM(t *testing.T) {
	symbolizer := needTool(t, "llvm-symbolizer-19")
	for _, name := range filesWithDWARF(t) {
		t.Run(filepath.Base(name), func(t *testing.T) { compareLines(t, symbolizer, name) })
	}
}

// filesWithDWARF returns programs of Go, C++ and Rust with its library, and what the machine has.
func filesWithDWARF(t *testing.T) []string {
	dir := t.TempDir()
	rustc := needTool(t, "rustc", "~/.cargo/bin/rustc")
	run(t, "", needTool(t, "clang++-19"), "-O2", "-g", "-std=c++17", "-o", filepath.Join(dir, "clang"), "testdata/lines.cc")
	run(t, "", rustc, "-O", "-g", "-o", filepath.Join(dir, "rust"), "../dwarfline/testdata/program.rs")
	run(t, "", rustc, "-Copt-level=1", "-g", "-Cdebuginfo=1", "-o", filepath.Join(dir, "tables"), "../dwarfline/testdata/program.rs")
	list := []string{buildRecorder(t), buildLines(t), filepath.Join(dir, "clang"), filepath.Join(dir, "rust"), filepath.Join(dir, "tables")}
	for _, name := range []string{"/usr/bin/node", "/lib/x86_64-linux-gnu/libc.so.6"} { // libc: of its debug file, if that is there
		if _, err := os.Stat(name); err == nil {
			list = append(list, name)
		}
	}
	return list
}

// chainOf returns the functions at a place, innermost first, each by itself.
func chainOf(line *Line) (chain []Line) {
	for l := line; l != nil; l = l.Outer {
		chain = append(chain, Line{Function: l.Function, File: l.File, Line: l.Line})
	}
	return chain
}

func compareLines(t *testing.T, symbolizer, name string) {
	const count = 10000
	r := NewResolver(Options{Form: RawForm})
	defer r.Close()
	m := moduleOf(t, name)
	identify(t, m)
	at, addresses := randomPlaces(t, name, count)
	chains := make([][]Line, len(at))
	if err := r.Lines(m, at, func(i int, line *Line) { chains[i] = chainOf(line) }); err != nil {
		t.Error(err)
	}
	theirs := llvmLines(t, symbolizer, name, addresses)
	known, same := 0, 0
	for i, a := range addresses {
		ours := lineText(chains[i])
		if len(chains[i]) == 0 && len(theirs[i]) == 1 && theirs[i][0].Line == 0 {
			same++ // neither has DWARF there
			continue
		}
		known++
		if ours == lineText(theirs[i]) {
			same++
		} else if known-same < 10 {
			t.Logf("%#x: got\n%s\nllvm-symbolizer says\n%s", a, ours, lineText(theirs[i]))
		}
	}
	t.Logf("%d of %d equal, %d with lines", same, len(at), known)
	if same*1000 < len(at)*995 {
		t.Errorf("%d of %d equal", same, len(at))
	}
}

// randomPlaces returns places in the code of a file, and their addresses.
func randomPlaces(t *testing.T, name string, count int) (at []Address, addresses []uint64) {
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	random := rand.New(rand.NewPCG(1, 2))
	for range count {
		i := random.Uint64N(text.Size)
		at, addresses = append(at, Address{Offset: text.Offset + i}), append(addresses, text.Addr+i)
	}
	return at, addresses
}

// lineText leaves out the name of the last function, which is that of its symbol: other tests compare those.
func lineText(chain []Line) string {
	var b strings.Builder
	for i, l := range chain {
		if i == len(chain)-1 {
			l.Function = ""
		}
		if l.File != "" {
			l.File = filepath.Clean(l.File)
		}
		fmt.Fprintf(&b, "%s %s:%d\n", l.Function, l.File, l.Line)
	}
	return b.String()
}

func llvmLines(t *testing.T, symbolizer, name string, addresses []uint64) (chains [][]Line) {
	var in strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(symbolizer, "--obj="+name, "--no-demangle", "--output-style=JSON")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var answer struct {
			Symbol []struct {
				FunctionName, FileName string
				Line                   uint32
			}
		}
		if err := d.Decode(&answer); errors.Is(err, io.EOF) {
			return chains
		} else if err != nil {
			t.Fatal(err)
		}
		var chain []Line
		for _, s := range answer.Symbol {
			chain = append(chain, Line{Function: s.FunctionName, File: s.FileName, Line: s.Line})
		}
		chains = append(chains, chain)
	}
}
