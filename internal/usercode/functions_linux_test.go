package usercode

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// symbolsOf returns the addresses of the functions that nm lists.
func symbolsOf(t *testing.T, program string, args ...string) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, line := range lines(run(t, "", needTool(t, "nm"), append(args, program)...)) {
		var address uint64
		var kind string
		if _, err := fmt.Sscanf(line, "%x %s", &address, &kind); err == nil {
			all[strings.SplitN(line, " ", 3)[2]] = address
		}
	}
	return all
}

func names(list []Function) (all []string) {
	for _, fn := range list {
		all = append(all, fn.Name)
	}
	return all
}

// TestFunctions finds functions by all the forms of their names, where nm has them.
func TestFunctions(t *testing.T) {
	program := build(t, "g++", "functions.cc", "-O1")
	f := open(t, program)
	want, raw := symbolsOf(t, program, "-C"), symbolsOf(t, program)
	for pattern, symbols := range map[string][]string{
		"plain":                        {"plain"},
		"ns::Class::method":            {"ns::Class::method(int, long)", "ns::Class::method(char const*)"},
		"ns::Class::method(int, long)": {"ns::Class::method(int, long)"},
		"ns::twice*":                   {"int ns::twice<int>(int)", "double ns::twice<double>(double)"},
		"ns::twice<int>":               {"int ns::twice<int>(int)"},
		"*::Class::method(*char*)":     {"ns::Class::method(char const*)"},
		"mai?":                         {"main"},
	} {
		list, err := f.Functions(pattern, 100)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var addresses, expect []uint64
		for _, fn := range list {
			addresses = append(addresses, fn.Address)
			if at, ok := f.Address(fn.Offset); !ok || at != fn.Address || raw[fn.Raw] != fn.Address {
				t.Errorf("%s: %+v is at another address", pattern, fn)
			}
		}
		for _, s := range symbols {
			expect = append(expect, want[s])
		}
		slices.Sort(expect)
		if !slices.Equal(addresses, expect) {
			t.Errorf("%s: got %v at %#x, want %#x", pattern, names(list), addresses, expect)
		}
	}
	list, err := f.Functions("_ZN2ns5Class6methodEil", 1)
	if err != nil || len(list) != 1 || list[0].Name != "ns::Class::method" {
		t.Errorf("got %+v, %v", list, err)
	}
	var many *TooMany
	if _, err := f.Functions("*", 3); !errors.As(err, &many) || many.Count <= 3 {
		t.Errorf("got %v", err)
	}
	var missing *NotFound
	if _, err := f.Functions("ns::Class::metod", 3); !errors.As(err, &missing) || !slices.Contains(missing.Near, "ns::Class::method") {
		t.Errorf("got %v: %+v", err, missing)
	}
	if near := f.NearFunctions("method"); !slices.Contains(near, "ns::Class::method") {
		t.Errorf("got %v", near)
	}
}

// TestIndirectFunctions: the symbol of an IFUNC is called once, by the dynamic linker.
func TestIndirectFunctions(t *testing.T) {
	f := open(t, build(t, "g++", "functions.cc", "-O1"))
	_, err := f.Functions("chosen", 10)
	var indirect *IndirectError
	if !errors.As(err, &indirect) || !slices.Equal(indirect.Names, []string{"chosen"}) || !slices.Equal(indirect.Implementations, []string{"__chosen_fast"}) {
		t.Errorf("got %v", err)
	}
	list, err := f.Functions("*chosen*", 10)
	if err != nil || !slices.Equal(names(list), []string{"__chosen_fast"}) {
		t.Errorf("got %v, %v", names(list), err)
	}
	if got := f.Indirect("*chosen*"); !slices.Equal(got, []string{"chosen"}) {
		t.Errorf("got %v", got)
	}
}

// libc returns the C library's path.
func libc(t *testing.T) string {
	t.Helper()
	match := regexp.MustCompile(`/\S*libc\.so\.6`).FindString(run(t, "", "ldd", needTool(t, "ls")))
	if match == "" {
		t.Skip("the C library is not dynamic")
	}
	return match
}

// TestVersionedNames compares with the dynamic symbols of the C library, which have versions.
func TestVersionedNames(t *testing.T) {
	path := libc(t)
	f := open(t, path)
	list, err := f.Functions("malloc", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range symbolsOf(t, path, "-D") {
		if strings.HasPrefix(name, "malloc@") && address != list[0].Address {
			t.Errorf("malloc is at %#x, want %#x", list[0].Address, address)
		}
	}
	var indirect *IndirectError
	if _, err := f.Functions("memcpy", 4); !errors.As(err, &indirect) {
		t.Errorf("got %v", err)
	}
	if list, err := f.Functions("mem*", 100); err != nil || len(list) < 3 {
		t.Errorf("got %v, %v", names(list), err)
	}
}

// TestSeparateSymbols finds a static function in a file without a symbol table: by its debug file, by MiniDebugInfo, and by neither.
func TestSeparateSymbols(t *testing.T) {
	program := build(t, "g++", "functions.cc", "-O1", "-Wl,--build-id")
	want := symbolsOf(t, program)["main"]
	dir := t.TempDir()
	debug, stripped := filepath.Join(dir, "program.debug"), filepath.Join(dir, "program")
	run(t, dir, "objcopy", "--only-keep-debug", program, debug)
	run(t, dir, "objcopy", "--strip-all", program, stripped)
	if list, err := open(t, stripped).Functions("plain", 1); err == nil {
		t.Errorf("got %+v of a file without symbols", list)
	}
	run(t, dir, "objcopy", "--add-gnu-debuglink="+debug, stripped)
	list, err := open(t, stripped).Functions("main", 1)
	if err != nil || list[0].Address != want {
		t.Errorf("debug file: got %+v, %v, want %#x", list, err, want)
	}
	needTool(t, "xz")
	mini := filepath.Join(dir, "mini")
	run(t, dir, "objcopy", "-S", "--remove-section=.gdb_index", "--remove-section=.comment", "--keep-symbol=plain", debug, mini)
	run(t, dir, "xz", mini)
	packed := filepath.Join(dir, "packed")
	run(t, dir, "objcopy", "--strip-all", "--add-section", ".gnu_debugdata="+mini+".xz", program, packed)
	list, err = open(t, packed).Functions("plain", 1)
	if err != nil || list[0].Address != symbolsOf(t, program)["plain"] {
		t.Errorf("MiniDebugInfo: got %+v, %v", list, err)
	}
}

func TestRustFunctions(t *testing.T) {
	program := build(t, "rustc", "program.rs", "-C", "opt-level=1")
	f := open(t, program)
	list, err := f.Functions("program::inner::Thing::grow", 1)
	if err != nil {
		t.Fatal(err)
	}
	if at := symbolsOf(t, program)[list[0].Raw]; at != list[0].Address || at == 0 {
		t.Errorf("got %+v, want %#x", list[0], at)
	}
}

// TestGoFunctions finds functions of Go programs, also of one without a symbol table, and compares where they return with objdump.
func TestGoFunctions(t *testing.T) {
	program := buildGo(t, "program.go.txt")
	f := open(t, program)
	want := symbolsOf(t, program)
	stripped := open(t, buildGo(t, "program.go.txt", "-ldflags=-s -w"))
	for name, symbol := range map[string]string{"main.(*thing).grow": "main.(*thing).grow", "main.sev?ral": "main.several"} {
		list, err := f.Functions(name, 1)
		if err != nil || list[0].Address != want[symbol] || want[symbol] == 0 {
			t.Fatalf("%s: got %+v, %v, want %#x", name, list, err, want[symbol])
		}
		other, err := stripped.Functions(name, 1)
		if err != nil || other[0].Address != list[0].Address || other[0].Name != symbol {
			t.Errorf("%s of a stripped program: got %+v, %v, want %+v", name, other, err, list)
		}
	}
	if !f.IsGo() || !stripped.IsGo() || open(t, libc(t)).IsGo() {
		t.Error("Go programs are not recognised")
	}
	compareReturns(t, f, program)
}

// compareReturns compares the return instructions of all functions with those that objdump finds.
func compareReturns(t *testing.T, f *File, program string) {
	t.Helper()
	list, err := f.Functions("*", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]uint64{}
	var in string
	for _, line := range strings.Split(run(t, "", needTool(t, "objdump"), "-d", "--no-show-raw-insn", program), "\n") {
		if _, name, ok := strings.Cut(line, " <"); ok && strings.HasSuffix(line, ">:") {
			in = strings.TrimSuffix(name, ">:")
		}
		at, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch op := strings.TrimSpace(text); {
		case op == "ret", strings.HasPrefix(op, "ret "), strings.HasSuffix(op, " ret"):
			address, err := strconv.ParseUint(at, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			want[in] = append(want[in], address)
		}
	}
	compared, unknown := 0, 0
	for i := range list {
		fn := &list[i]
		offsets, err := f.Returns(fn)
		if err != nil {
			if len(want[fn.Raw]) > 0 && fn.Size > 0 {
				unknown++
				t.Logf("%s: %v", fn.Name, err)
			}
			continue
		}
		var got []uint64
		for _, o := range offsets {
			address, _ := f.Address(o)
			got = append(got, address)
		}
		if !slices.Equal(got, want[fn.Raw]) {
			t.Errorf("%s returns at %#x, want %#x", fn.Name, got, want[fn.Raw])
		}
		compared++
	}
	if compared < 500 || unknown > compared/200 {
		t.Errorf("%d functions were compared, and %d have unknown instructions", compared, unknown)
	}
}

// TestArgument checks the conventions against compiled code: a function that stores its arguments.
func TestArgument(t *testing.T) {
	for _, c := range []struct {
		machine  elf.Machine
		index    int
		lang     Lang
		atReturn bool
		want     string
	}{
		{elf.EM_X86_64, 0, C, false, "rdi"}, {elf.EM_X86_64, 3, C, false, "rcx"}, {elf.EM_X86_64, 5, C, false, "r9"},
		{elf.EM_X86_64, 0, C, true, "rax"}, {elf.EM_X86_64, 0, Go, false, "rax"}, {elf.EM_X86_64, 3, Go, false, "rdi"},
		{elf.EM_X86_64, 8, Go, false, "r11"}, {elf.EM_X86_64, 1, Go, true, "rbx"}, {elf.EM_AARCH64, 7, C, false, "x7"},
		{elf.EM_AARCH64, 15, Go, false, "x15"}, {elf.EM_AARCH64, 0, C, true, "x0"},
	} {
		r, err := Argument(c.machine, c.index, c.lang, c.atReturn)
		want, _ := machineOf(c.machine).register(c.want)
		if err != nil || r.From != register(want.Offset, 8, false) || len(r.Steps) > 0 {
			t.Errorf("%+v: got %+v, %v", c, r, err)
		}
	}
	for i, distance := range []int64{8, 16} {
		r, err := Argument(elf.EM_X86_64, 6+i, C, false)
		if err != nil || r.From.Register != 152 || r.Steps[0].Number != distance || len(r.Steps) != 2 {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	for _, index := range []int{-1, 9, 1000} {
		if r, err := Argument(elf.EM_X86_64, index, Go, false); err == nil {
			t.Errorf("got %+v of argument %d", r, index)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, dir, filepath.Join(dir, "nothing"), os.DevNull} {
		if f, err := Open(path); err == nil {
			t.Errorf("%s: got %+v", path, f)
		}
	}
}
