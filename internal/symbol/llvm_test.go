package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// largeBinaries are files of machines that build this; those that begin with ~ are in the user's folder. Five must exist.
var largeBinaries = []string{
	"/usr/lib/*/libLLVM*.so*", "/usr/lib/llvm-*/lib/libLLVM.so*", "/usr/bin/node", "/usr/local/go/bin/go", "/usr/lib/go*/bin/go",
	"/lib/*/libc.so.6", "/usr/lib/*/libpython3*.so*", "~/.pyenv/versions/*/lib/libpython3.*.so",
	"~/.rustup/toolchains/*/lib/librustc_driver-*.so", "/usr/lib/*/libclang-cpp.so*", "/usr/lib/*/libstdc++.so.6", "/usr/bin/perf",
	"/usr/bin/bpftool", "/usr/lib/*/libcrypto.so*", "/usr/bin/gdb", "/usr/bin/python3",
}

// inHome puts the user's folder in the place of a leading ~.
func inHome(name string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(name, "~"); ok && err == nil {
		return home + rest
	}
	return name
}

// needTool returns the path of a program whose output a test compares with. It may be missing only outside CI.
func needTool(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if p, err := exec.LookPath(inHome(name)); err == nil {
			return p
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing", names[0])
	}
	t.Skipf("%s is missing", names[0])
	return ""
}

// findLarge returns the path of one file per pattern, at most count.
func findLarge(t *testing.T, count int) []string {
	t.Helper()
	var list []string
	for _, pattern := range largeBinaries {
		found, err := filepath.Glob(inHome(pattern))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 && len(list) < count {
			list = append(list, found[len(found)-1])
		}
	}
	return list
}

func TestNamesInLargeFilesEqualLLVM(t *testing.T) {
	symbolizer := needTool(t, "llvm-symbolizer-19", "llvm-symbolizer")
	files := findLarge(t, 9)
	if len(files) < 5 {
		t.Fatalf("got %d large files, want 5: %q", len(files), files)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) { compareWithLLVM(t, symbolizer, name) })
	}
}

func compareWithLLVM(t *testing.T, symbolizer, name string) {
	const count = 10000
	f := openFile(t, name)
	symbols := name // llvm-symbolizer mixes exported names with those of DWARF where both files exist
	if !f.hasSymbols() {
		for _, debug := range f.debugFiles(name, true, []string{systemDebug}) {
			if _, err := os.Stat(debug); err == nil && f.useDebug(openFile(t, debug)) == nil {
				symbols = debug
				break
			}
		}
	}
	table, err := f.Table()
	if err != nil {
		t.Fatal(err)
	}
	truth := readTruth(t, symbols)
	addresses := truth.randomAddresses(count)
	theirs := llvmSymbols(t, symbolizer, symbols, addresses, "--no-demangle")
	same, excused := 0, map[string]int{}
	for i, a := range addresses {
		ours := "??"
		if s, ok := table.Lookup(a); ok {
			ours = s.Name
		}
		if ours == theirs[i] {
			same++
			continue
		}
		why := truth.allowedDifference(a, ours, theirs[i])
		if why == "" {
			t.Errorf("%#x: got %s, llvm-symbolizer says %s", a, ours, theirs[i])
		}
		if excused[why]++; excused[why] < 4 {
			t.Logf("%#x: got %s, llvm-symbolizer says %s: %s", a, ours, theirs[i], why)
		}
	}
	t.Logf("%d of %d equal; %v", same, count, excused)
	compareDemangled(t, symbolizer, symbols, table, addresses, theirs)
}

// oldRust is how Rust mangled before v0. LLVM takes it for C++ and leaves hashes and escapes in the name.
var oldRust = regexp.MustCompile(`^_ZN.*17h[0-9a-f]{16}E`)

// compareDemangled compares the full form with LLVM's, where both found the same function.
func compareDemangled(t *testing.T, symbolizer, name string, table *Table, addresses []uint64, raw []string) {
	theirs := llvmSymbols(t, symbolizer, name, addresses, "--demangle")
	mangled, different := 0, 0
	for i, a := range addresses {
		s, ok := table.Lookup(a)
		if !ok || s.Name != raw[i] || !isItanium(s.Name) || oldRust.MatchString(s.Name) {
			continue
		}
		mangled++
		if got := Demangle(s.Name, FullForm); got != theirs[i] {
			if different++; different <= 3 {
				t.Logf("%s:\ngot  %s\nLLVM %s", s.Name, got, theirs[i])
			}
		}
	}
	t.Logf("%d of %d demangled names differ", different, mangled)
	if different*25 > mangled {
		t.Errorf("%d of %d demangled names differ from LLVM's, want at most 4%%", different, mangled)
	}
}

// llvmSymbols returns the output of llvm-symbolizer for addresses.
func llvmSymbols(t *testing.T, symbolizer, name string, addresses []uint64, flags ...string) []string {
	t.Helper()
	var in strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	args := append([]string{"--obj=" + name, "--no-inlines", "--functions=linkage", "--output-style=LLVM", "--no-debuginfod"}, flags...)
	cmd := exec.Command(symbolizer, args...)
	cmd.Stdin = strings.NewReader(in.String())
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaint.Bytes())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3*len(addresses) { // function, line, empty line
		t.Fatalf("llvm-symbolizer wrote %d lines for %d addresses", len(lines), len(addresses))
	}
	list := make([]string, len(addresses))
	for i := range list {
		list[i] = withoutVersion(lines[3*i])
	}
	return list
}

// truth holds the symbols of a file as the standard library reads them.
type truth struct {
	code    []codeSection
	symbols []elf.Symbol // those with an address in code, by address
	byName  map[string][]int
}

func readTruth(t *testing.T, name string) *truth {
	t.Helper()
	e, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	all, err := e.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		all, err = e.DynamicSymbols()
	}
	if err != nil {
		t.Fatal(err)
	}
	tr := &truth{byName: map[string][]int{}}
	for _, s := range e.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			tr.code = append(tr.code, codeSection{s.Addr, s.Addr + s.Size})
		}
	}
	for _, s := range all {
		if int(s.Section) >= len(e.Sections) || s.Section == 0 || s.Name == "" || e.Sections[s.Section].Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		s.Name, _, _ = strings.Cut(s.Name, "@")
		tr.symbols = append(tr.symbols, s)
	}
	sort.SliceStable(tr.symbols, func(i, j int) bool { return tr.symbols[i].Value < tr.symbols[j].Value })
	for i, s := range tr.symbols {
		tr.byName[s.Name] = append(tr.byName[s.Name], i)
	}
	return tr
}

// randomAddresses returns addresses that are spread evenly over the code.
func (tr *truth) randomAddresses(count int) []uint64 {
	random := rand.New(rand.NewPCG(1, 2))
	total := uint64(0)
	for _, c := range tr.code {
		total += c.end - c.start
	}
	list := make([]uint64, count)
	for i := range list {
		at := random.Uint64N(total)
		for _, c := range tr.code {
			if at < c.end-c.start {
				list[i] = c.start + at
				break
			}
			at -= c.end - c.start
		}
	}
	return list
}

// function reports whether a symbol names code: what llvm-symbolizer takes too, but for data in sections of code.
func isFunction(s *elf.Symbol) bool {
	switch elf.ST_TYPE(s.Info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		return true
	case elf.STT_NOTYPE:
		return s.Size == 0
	}
	return false
}

// holds reports whether an address is inside a function's own range, according to the file's symbols.
func (tr *truth) holds(i int, address uint64) bool {
	s := &tr.symbols[i]
	if !isFunction(s) || address < s.Value {
		return false
	}
	if s.Size > 0 {
		return address-s.Value < s.Size
	}
	for j := i + 1; j < len(tr.symbols); j++ { // up to the next function
		if next := &tr.symbols[j]; next.Value > s.Value && isFunction(next) {
			if address >= next.Value {
				return false
			}
			break
		}
	}
	for _, c := range tr.code {
		if s.Value >= c.start && s.Value < c.end {
			return address < c.end
		}
	}
	return false
}

// named finds the function of a name that holds an address.
func (tr *truth) named(name string, address uint64) *elf.Symbol {
	for _, i := range tr.byName[name] {
		if tr.holds(i, address) {
			return &tr.symbols[i]
		}
	}
	return nil
}

// anyHolds reports whether any function holds an address.
func (tr *truth) anyHolds(address uint64) bool {
	for i := range tr.symbols {
		if tr.symbols[i].Value > address {
			break
		}
		if tr.holds(i, address) {
			return true
		}
	}
	return false
}

// allowedDifference returns the rule by which a name may differ from llvm-symbolizer's, empty if there is none.
func (tr *truth) allowedDifference(address uint64, ours, theirs string) string {
	our, their := tr.named(ours, address), tr.named(theirs, address)
	switch {
	case strings.HasSuffix(ours, "@plt") && !tr.anyHolds(address):
		return "llvm names no stubs"
	case ours == "??" && !tr.anyHolds(address):
		return "llvm names the nearest symbol, which ends before, or data"
	case our != nil && theirs == "??":
		return "llvm sees only the nearest symbol, which ends before, not the one around it"
	case our != nil && their == nil && len(tr.byName[theirs]) > 0:
		return "llvm names the nearest symbol, which does not hold the address"
	}
	return ""
}

// openFile opens an ELF file for the length of a test.
func openFile(t testing.TB, name string) *File {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	st, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(in, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
