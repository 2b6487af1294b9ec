package symbol

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
)

// run runs a tool for a test and returns what it writes.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, complaint.Bytes())
	}
	return string(out)
}

// copyFile copies a file into a new one.
func copyFile(t testing.TB, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// buildC builds testdata/program.c or .cc with a build-id unless flags say otherwise.
func buildC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	compiler := needTool(t, "gcc")
	if strings.HasSuffix(source, ".cc") {
		compiler = needTool(t, "g++")
	}
	out := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-O1", "-g", "-Wl,--build-id", "-o", out, filepath.Join("testdata", source)}, flags...)
	run(t, "", compiler, args...)
	return out
}

func buildGo(t testing.TB, environment []string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := copyFile(t, "testdata/program.go.txt", filepath.Join(dir, "main.go"))
	out := filepath.Join(dir, "program")
	cmd := exec.Command(filepath.Join(goRoot(t), "bin", "go"), append(append([]string{"build", "-o", out}, flags...), source)...)
	cmd.Env = append(append(os.Environ(), "GOFLAGS="), environment...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, b)
	}
	return out
}

// buildRecorder returns a large Go program with DWARF: the recorder, which scripts/test has built already.
func buildRecorder(t testing.TB) string {
	t.Helper()
	if built := os.Getenv("WPROF_TEST_BUILT"); built != "" {
		return filepath.Join(built, "wprof-record")
	}
	out := filepath.Join(t.TempDir(), "recorder")
	run(t, "../..", "go", "build", "-o", out, "./cmd/wprof-record")
	return out
}

// linesProgram is testdata/lines.cc, compiled for the first test that needs it.
var linesProgram []byte

// buildLines builds a C++ program with a build-id, optimized and with DWARF: seconds of a compiler's time.
func buildLines(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "cc")
	if linesProgram == nil {
		run(t, "", needTool(t, "g++"), "-O2", "-g", "-std=c++17", "-Wl,--build-id", "-o", out, "testdata/lines.cc")
		var err error
		if linesProgram, err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	} else if err := os.WriteFile(out, linesProgram, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

func goRoot(t testing.TB) string {
	t.Helper()
	return strings.TrimSpace(run(t, "", needTool(t, "go", "/usr/local/go/bin/go"), "env", "GOROOT"))
}

// buildRust builds testdata/program.rs with one mangling scheme.
func buildRust(t testing.TB, flags ...string) string {
	t.Helper()
	compiler := needTool(t, "rustc", "~/.cargo/bin/rustc")
	out := filepath.Join(t.TempDir(), "program")
	run(t, "", compiler, append([]string{"-O", "-g", "-o", out, "testdata/program.rs"}, flags...)...)
	return out
}

// nmFunction is a function as nm lists it.
type nmFunction struct {
	start, size uint64
	name        string
}

// functionsOfNM returns the functions of a file as nm lists them.
func functionsOfNM(t testing.TB, name string, flags ...string) []nmFunction {
	t.Helper()
	var list []nmFunction
	args := append(append([]string{"-S", "--defined-only"}, flags...), name)
	for line := range strings.Lines(run(t, "", needTool(t, "nm"), args...)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(fields) < 4 || !strings.Contains("tTwWi", fields[2]) {
			continue // without a size, or data
		}
		start, err := strconv.ParseUint(fields[0], 16, 64)
		size, err2 := strconv.ParseUint(fields[1], 16, 64)
		if err != nil || err2 != nil || size == 0 {
			continue
		}
		name, _, _ := strings.Cut(fields[3], "@")
		list = append(list, nmFunction{start, size, name})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].start < list[j].start })
	return list
}

// moduleOf returns the definition that a recorder would make for a file.
func moduleOf(t testing.TB, name string) *format.Module {
	t.Helper()
	return &format.Module{Id: 1, Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte(name), BuildId: openFile(t, name).BuildID()}
}

// offsetOf converts addresses to offsets in a file, as the standard library reads it.
func offsetOf(t testing.TB, name string) func(address uint64) uint64 {
	t.Helper()
	e, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return func(address uint64) uint64 {
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr < p.Filesz {
				return address - p.Vaddr + p.Off
			}
		}
		t.Fatalf("%#x is not in %s", address, name)
		return 0
	}
}

// checkFunctions names the first, a middle and the last byte, and the return address after the last byte, of every
// function that nm lists for the original, in the file that m is about. Functions that missing accepts may have no name.
func checkFunctions(t *testing.T, r *Resolver, m *format.Module, original string, functions []nmFunction, missing func(nmFunction) bool) {
	t.Helper()
	offset := offsetOf(t, original)
	named := 0
	for _, f := range functions {
		start := offset(f.start)
		at := []Address{{Offset: start}, {Offset: start + f.size/2}, {Offset: start + f.size - 1}, {Offset: start + f.size, Caller: true}}
		got := make([]Name, len(at))
		if err := r.Names(m, at, got); err != nil {
			t.Fatal(err)
		}
		for i, n := range got {
			if !n.OK && missing != nil && missing(f) {
				continue
			}
			named++
			address := f.start + at[i].Offset - start
			if !n.OK || !isOneOf(functions, n, address, at[i].Caller) {
				t.Errorf("%#x, in %s: got %+v (%s)", address, f.name, n, r.Why(m))
			}
		}
	}
	t.Logf("%d functions, %d addresses named", len(functions), named)
	if named == 0 {
		t.Errorf("no name at all: %s", r.Why(m))
	}
}

// isOneOf reports whether nm has a function of a name that holds an address so far from its start.
func isOneOf(functions []nmFunction, n Name, address uint64, caller bool) bool {
	name := strings.ReplaceAll(n.Function, "·", ".") // Go's linker writes the dot into ELF symbols
	for _, f := range functions {
		in := address - f.start
		if caller {
			in--
		}
		if f.name == name && address-n.Offset == f.start && in < f.size {
			return true
		}
	}
	return false
}

func newResolver(t testing.TB, o Options) *Resolver {
	r := NewResolver(o)
	t.Cleanup(r.Close)
	return r
}

func raw() Options { return Options{Form: RawForm} }

func TestProgramsAreNamedAsNMDoes(t *testing.T) {
	for name, build := range map[string]func(testing.TB) string{
		"C":                func(t testing.TB) string { return buildC(t, "program.c") },
		"C static":         func(t testing.TB) string { return buildC(t, "program.c", "-static") },
		"C++":              func(t testing.TB) string { return buildC(t, "program.cc") },
		"Go":               func(t testing.TB) string { return buildGo(t, nil) },
		"Rust":             func(t testing.TB) string { return buildRust(t) },
		"Rust v0":          func(t testing.TB) string { return buildRust(t, "-Csymbol-mangling-version=v0") },
		"C no-pie":         func(t testing.TB) string { return buildC(t, "program.c", "-no-pie") },
		"C in one segment": func(t testing.TB) string { return buildC(t, "program.c", "-Wl,-z,noseparate-code") },
	} {
		t.Run(name, func(t *testing.T) {
			program := build(t)
			r := newResolver(t, raw())
			m := moduleOf(t, program)
			if len(m.BuildId) == 0 {
				identify(t, m)
			}
			checkFunctions(t, r, m, program, functionsOfNM(t, program), nil)
		})
	}
}

func TestStrippedGoProgramsNameThemselves(t *testing.T) {
	for name, c := range map[string]struct{ environment, flags []string }{
		"static":       {[]string{"CGO_ENABLED=0"}, nil},
		"pie":          {[]string{"CGO_ENABLED=0"}, []string{"-buildmode=pie"}},
		"external":     {[]string{"CGO_ENABLED=1"}, []string{"-ldflags=-linkmode=external"}},
		"external pie": {[]string{"CGO_ENABLED=1"}, []string{"-ldflags=-linkmode=external", "-buildmode=pie"}},
	} {
		t.Run(name, func(t *testing.T) {
			program := buildGo(t, c.environment, c.flags...)
			stripped := copyFile(t, program, filepath.Join(t.TempDir(), "stripped"))
			run(t, "", needTool(t, "strip"), stripped)
			m := moduleOf(t, stripped)
			identify(t, m)
			// Symbols without an entry in the table: those of C code and markers such as runtime.etext.
			foreign := func(f nmFunction) bool {
				return !strings.Contains(f.name, ".") || strings.HasSuffix(f.name, ".cold") || strings.HasPrefix(f.name, "go:")
			}
			functions := functionsOfNM(t, program)
			for i := range functions {
				functions[i].name = strings.TrimSuffix(functions[i].name, ".abi0") // suffix of assembly functions
			}
			checkFunctions(t, newResolver(t, raw()), m, program, functions, foreign)
		})
	}
}

// onlyExported accepts missing names of functions that a stripped program does not export.
func onlyExported(t *testing.T, program string) func(nmFunction) bool {
	exported := map[uint64]bool{}
	for _, f := range functionsOfNM(t, program, "-D") {
		exported[f.start] = true
	}
	return func(f nmFunction) bool { return !exported[f.start] }
}

func TestStrippedProgramNamesWhatItExports(t *testing.T) {
	program := buildC(t, "program.c", "-rdynamic")
	stripped := copyFile(t, program, filepath.Join(t.TempDir(), "stripped"))
	run(t, "", needTool(t, "strip"), stripped)
	checkFunctions(t, newResolver(t, raw()), moduleOf(t, stripped), program, functionsOfNM(t, program), onlyExported(t, program))
}

// split makes a stripped program and its debug file, and links the one to the other.
func split(t *testing.T, program, debugName string) (stripped, debug string) {
	t.Helper()
	dir := t.TempDir()
	objcopy := needTool(t, "objcopy")
	debug = filepath.Join(dir, debugName)
	stripped = filepath.Join(dir, "bin", "program")
	run(t, "", objcopy, "--only-keep-debug", program, debug)
	copyFile(t, program, stripped)
	run(t, dir, objcopy, "--strip-all", "--add-gnu-debuglink="+debugName, stripped)
	return stripped, debug
}

func TestDebugFileIsFoundByLinkAndByBuildID(t *testing.T) {
	for _, linker := range []string{"-Wl,--build-id", "-Wl,--build-id=none"} {
		program := buildC(t, "program.c", linker)
		functions := functionsOfNM(t, program)
		for _, place := range []string{"beside", ".debug", "dir", "by build-id"} {
			t.Run(linker+" "+place, func(t *testing.T) {
				stripped, debug := split(t, program, "program.debug")
				o, m := raw(), moduleOf(t, stripped)
				base := filepath.Dir(stripped)
				switch place {
				case "beside":
					copyFile(t, debug, filepath.Join(base, "program.debug"))
				case ".debug":
					copyFile(t, debug, filepath.Join(base, ".debug", "program.debug"))
				case "dir":
					o.DebugDirs = []string{t.TempDir()}
					copyFile(t, debug, filepath.Join(o.DebugDirs[0], base, "program.debug"))
				case "by build-id":
					if len(m.BuildId) == 0 {
						t.Skip("it has none")
					}
					o.DebugDirs = []string{t.TempDir()}
					copyFile(t, debug, byBuildID(o.DebugDirs[0], m.BuildId)[0])
				}
				identify(t, m)
				checkFunctions(t, newResolver(t, o), m, program, functions, nil)
			})
		}
	}
}

func TestDebugFileOfAnotherProgramIsRefused(t *testing.T) {
	for _, linker := range []string{"-Wl,--build-id", "-Wl,--build-id=none"} {
		program := buildC(t, "program.c", linker)
		other := buildC(t, "program.cc", linker)
		stripped, _ := split(t, program, "program.debug")
		_, debug := split(t, other, "program.debug")
		copyFile(t, debug, filepath.Join(filepath.Dir(stripped), "program.debug"))
		m := moduleOf(t, stripped)
		identify(t, m)
		r := newResolver(t, raw())
		main := functionsOfNM(t, program)[0]
		got := make([]Name, 1)
		if err := r.Names(m, []Address{{Offset: offsetOf(t, program)(main.start)}}, got); err != nil || got[0].OK {
			t.Errorf("%s: got %+v, %v", linker, got, err)
		}
		if why := r.Why(m); why != errNoSymbols.Error() {
			t.Errorf("%s: got %q", linker, why)
		}
	}
}

func TestMiniDebugInfoNamesWhatIsNotExported(t *testing.T) {
	objcopy, xz := needTool(t, "objcopy"), needTool(t, "xz")
	program := buildC(t, "program.c", "-rdynamic")
	for _, flag := range []string{"-6", "-9", "--check=none", "--check=crc32", "--block-size=4096"} {
		dir := t.TempDir()
		stripped := copyFile(t, program, filepath.Join(dir, "stripped"))
		mini := filepath.Join(dir, "mini")
		run(t, dir, objcopy, "-S", "--remove-section=.comment", stripped, stripped)
		run(t, dir, objcopy, "--strip-debug", "--only-keep-debug", program, mini)
		run(t, dir, xz, flag, mini)
		run(t, dir, objcopy, "--add-section", ".gnu_debugdata="+mini+".xz", stripped)
		checkFunctions(t, newResolver(t, raw()), moduleOf(t, stripped), program, functionsOfNM(t, program), nil)
	}
}

func TestNamesAreDemangledInBothForms(t *testing.T) {
	for _, c := range []struct{ mangled, short, full string }{
		{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back",
			"std::vector<int, std::allocator<int>>::push_back(int const&)"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt"},
		{"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
		{"main.main", "main.main", "main.main"}, {"_Z", "_Z", "_Z"}, {"_Znonsense", "_Znonsense", "_Znonsense"},
	} {
		if got := Demangle(c.mangled, DefaultForm); got != c.short {
			t.Errorf("%s: got %s, want %s", c.mangled, got, c.short)
		}
		if got := Demangle(c.mangled, FullForm); got != c.full {
			t.Errorf("%s in full: got %s, want %s", c.mangled, got, c.full)
		}
	}
}

func TestFileKeptOpenHasItsDebugFileBesideItsPath(t *testing.T) {
	program := buildC(t, "program.c")
	stripped, debug := split(t, program, "program.debug")
	copyFile(t, debug, filepath.Join(filepath.Dir(stripped), ".debug", "program.debug"))
	image, err := os.ReadFile(stripped)
	if err != nil {
		t.Fatal(err)
	}
	m := moduleOf(t, stripped)
	if err := os.Remove(stripped); err != nil {
		t.Fatal(err)
	}
	for _, noPaths := range []bool{false, true} {
		o := raw()
		o.NoPaths = noPaths
		o.Open = func(*format.Module) (io.ReaderAt, int64, func(), error) {
			return bytes.NewReader(image), int64(len(image)), nil, nil
		}
		r := newResolver(t, o)
		got := nameOne(t, r, m, hotIn(t, program))
		if got.OK == noPaths {
			t.Errorf("paths left alone: %v: got %+v (%s)", noPaths, got, r.Why(m))
		}
	}
}
