package symbol

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/format"
)

// hotIn returns the address of the function weakly of testdata/program.c in a file.
func hotIn(t *testing.T, program string) Address { return functionIn(t, program, "weakly") }

// functionIn returns the address of a function of testdata/program.c in a file.
func functionIn(t *testing.T, program, name string) Address {
	t.Helper()
	for _, f := range functionsOfNM(t, program) {
		if f.name == name {
			return Address{Offset: offsetOf(t, program)(f.start) + 3}
		}
	}
	t.Fatalf("nm does not list %s", name)
	return Address{}
}

func nameOne(t *testing.T, r *Resolver, m *format.Module, a Address) Name {
	t.Helper()
	out := make([]Name, 1)
	if err := r.Names(m, []Address{a}, out); err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestFileAtThePathIsUsedOnlyIfItIsTheOne(t *testing.T) {
	program := buildC(t, "program.c")
	other := buildC(t, "program.c", "-O2")
	without := buildC(t, "program.c", "-Wl,--build-id=none")
	copied := copyFile(t, without, filepath.Join(t.TempDir(), "copy"))
	module := func(path string, change func(*format.Module)) *format.Module {
		m := moduleOf(t, path)
		change(m)
		return m
	}
	fifo := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := moduleOf(t, program).BuildId
	for name, c := range map[string]struct {
		m   *format.Module
		why string
	}{
		"itself":                {module(program, func(*format.Module) {}), ""},
		"another build-id":      {module(other, func(m *format.Module) { m.BuildId = id }), "its build-id differs"},
		"no build-id now":       {module(without, func(m *format.Module) { m.BuildId = id }), "its build-id differs"},
		"by its inode":          {module(without, func(m *format.Module) { identify(t, m) }), ""},
		"a copy":                {module(without, func(m *format.Module) { identify(t, m); m.Path = []byte(copied) }), errOther.Error()},
		"overwritten":           {module(without, func(m *format.Module) { identify(t, m); m.Mtime-- }), errOther.Error()},
		"touched":               {module(without, func(m *format.Module) { identify(t, m); m.Ctime-- }), errTouched.Error()},
		"of a state not known":  {module(without, func(m *format.Module) { identify(t, m); m.Size, m.Mtime, m.Ctime = 0, 0, 0 }), errUnidentified.Error()},
		"of nothing known":      {module(without, func(*format.Module) {}), errUnidentified.Error()},
		"deleted":               {module(program, func(m *format.Module) { m.Path = []byte("/no/such/file") }), "no such file"},
		"a pipe":                {module(program, func(m *format.Module) { m.Path = []byte(fifo) }), errNotRegular.Error()},
		"a device":              {module(program, func(m *format.Module) { m.Path = []byte("/dev/zero") }), errNotRegular.Error()},
		"a script":              {module(program, func(m *format.Module) { m.Path = []byte(text) }), errNotELF.Error()},
		"a path with a zero":    {module(program, func(m *format.Module) { m.Path = []byte(program + "\x00") }), "no such file"},
		"a relative path":       {module(program, func(m *format.Module) { m.Path = []byte("program") }), "no such file"},
		"anonymous":             {&format.Module{Kind: uint32(format.ModuleKind_MODULE_ANON), Path: []byte("//anon")}, errUnknown.Error()},
		"a map not recorded":    {&format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte("/tmp/perf-1.map")}, errNoSource.Error()},
		"a vDSO not recorded":   {&format.Module{Kind: uint32(format.ModuleKind_MODULE_VDSO), Path: []byte("[vdso]")}, errNoSource.Error()},
		"a kernel not recorded": {&format.Module{Kind: uint32(format.ModuleKind_MODULE_KERNEL), Path: []byte("[kernel]")}, errNoSource.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResolver(t, raw())
			got := nameOne(t, r, c.m, hotIn(t, program))
			if r.Why(c.m) != c.why || got.OK != (c.why == "") {
				t.Errorf("got %+v, %q, want %q", got, r.Why(c.m), c.why)
			}
		})
	}
}

func TestDebugDirectoriesHoldFilesOfForeignMachines(t *testing.T) {
	program := buildC(t, "program.c")
	at := hotIn(t, program)
	id := moduleOf(t, program).BuildId
	for _, place := range []string{"usr/lib/gone/program", "program", ".build-id", ".build-id itself"} {
		dir := t.TempDir()
		path := filepath.Join(dir, place)
		switch place {
		case ".build-id":
			path = byBuildID(dir, id)[0]
		case ".build-id itself":
			path = byBuildID(dir, id)[1]
		}
		copyFile(t, program, path)
		o := raw()
		o.DebugDirs, o.NoPaths = []string{dir}, true
		m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte("/usr/lib/gone/program"), BuildId: id}
		r := newResolver(t, o)
		if got := nameOne(t, r, m, at); got.Function != "weakly" || got.Offset != 3 {
			t.Errorf("%s: got %+v (%s)", place, got, r.Why(m))
		}
		m.BuildId = append([]byte{1}, id[1:]...)
		if got := nameOne(t, r, m, at); got.OK {
			t.Errorf("%s: got %+v for another build-id", place, got)
		}
	}
}

func TestDebugFileAloneIsReportedAsInsufficient(t *testing.T) {
	program := buildC(t, "program.c")
	_, debug := split(t, program, "program.debug")
	o := raw()
	o.DebugDirs = []string{t.TempDir()}
	m := moduleOf(t, program)
	copyFile(t, debug, byBuildID(o.DebugDirs[0], m.BuildId)[0])
	m.Path = []byte("/gone")
	r := newResolver(t, o)
	if got := nameOne(t, r, m, hotIn(t, program)); got.OK || r.Why(m) != errNoOffset.Error() {
		t.Errorf("got %+v, %q", got, r.Why(m))
	}
}

func TestPathsAreNotReadWithNoPaths(t *testing.T) {
	program := buildC(t, "program.c")
	o := raw()
	o.NoPaths = true
	r := newResolver(t, o)
	m := moduleOf(t, program)
	if got := nameOne(t, r, m, hotIn(t, program)); got.OK || r.Why(m) != "no such file" {
		t.Errorf("got %+v, %q", got, r.Why(m))
	}
}

// TestFilesKeptOpenAreClosedWithTheirTables reads three programs with a budget for one.
func TestFilesKeptOpenAreClosedWithTheirTables(t *testing.T) {
	program := buildC(t, "program.c")
	at := hotIn(t, program)
	image, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	opened, open := 0, 0
	o := raw()
	o.TableBytes = 1
	o.Open = func(*format.Module) (io.ReaderAt, int64, func(), error) {
		opened++
		open++
		return bytes.NewReader(image), int64(len(image)), func() { open-- }, nil
	}
	r := NewResolver(o)
	for _, inode := range []uint64{1, 2, 2, 3, 1} {
		m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte("/gone"), Device: 1, Inode: inode}
		if got := nameOne(t, r, m, at); got.Function != "weakly" {
			t.Errorf("inode %d: got %+v (%s)", inode, got, r.Why(m))
		}
		if open != 1 {
			t.Errorf("inode %d: %d files are open", inode, open)
		}
	}
	r.Close()
	if opened != 4 || open != 0 {
		t.Errorf("opened %d times, want 4; %d still open", opened, open)
	}
}

func TestOneBuildIDIsReadOnceUnderAllItsPaths(t *testing.T) {
	program := buildC(t, "program.c")
	at := hotIn(t, program)
	r := newResolver(t, raw())
	gone, m := moduleOf(t, program), moduleOf(t, program)
	gone.Path = []byte("/gone")
	if got := nameOne(t, r, gone, at); got.OK || r.Why(gone) != "no such file" {
		t.Errorf("got %+v, %q", got, r.Why(gone))
	}
	if got := nameOne(t, r, m, at); !got.OK {
		t.Errorf("got %q: the failure of another path was held against it", r.Why(m))
	}
	if got := nameOne(t, r, gone, at); !got.OK || r.Why(m) != "" {
		t.Errorf("got %+v: the table is known by now", got)
	}
}

func TestFileThatIsCutWhileItIsUsedLosesNamesOnly(t *testing.T) {
	program := buildC(t, "program.c")
	m := moduleOf(t, program)
	at := hotIn(t, program)
	r := newResolver(t, raw())
	if got := nameOne(t, r, m, at); !got.OK {
		t.Fatal(r.Why(m))
	}
	if err := os.Truncate(program, 100); err != nil {
		t.Fatal(err)
	}
	if got := nameOne(t, r, m, at); got.OK {
		t.Errorf("got %+v", got)
	}
}

func TestKernelVDSOAndCompiledCodeAreNamed(t *testing.T) {
	text := func(s string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
	}
	r := newResolver(t, Options{
		Kallsyms: text(kallsymsText), Modules: text(modulesText), VDSO: ReadVDSO,
		PerfMap: func(m *format.Module) (io.ReadCloser, error) { return text("1000 100 f " + string(m.Path) + "\n")() },
	})
	kernel := &format.Module{Kind: uint32(format.ModuleKind_MODULE_KERNEL), Path: []byte("[kernel]"), Base: 0xffffffff91000000}
	ext4 := &format.Module{Kind: uint32(format.ModuleKind_MODULE_KERNEL_MODULE), Path: []byte("[ext4]")}
	none := &format.Module{Kind: uint32(format.ModuleKind_MODULE_KERNEL_MODULE), Path: []byte("[none]")}
	jit := &format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte("/tmp/perf-1.map")}
	for _, c := range []struct {
		m    *format.Module
		a    Address
		want Name
	}{
		{kernel, Address{0x82, false}, Name{"helper", 2, true}}, {kernel, Address{0x80, true}, Name{"_stext", 0x40, true}},
		{kernel, Address{0x100, true}, Name{"weak_one", 0x40, true}}, {kernel, Address{0x100, false}, Name{}}, {kernel, Address{0, true}, Name{}},
		{ext4, Address{0x101, false}, Name{"ext4_write", 1, true}}, {none, Address{0, false}, Name{}},
		{jit, Address{0x1001, false}, Name{"f /tmp/perf-1.map", 1, true}}, {jit, Address{0x1100, true}, Name{"f /tmp/perf-1.map", 0x100, true}},
		{jit, Address{0x1100, false}, Name{}},
	} {
		if got := nameOne(t, r, c.m, c.a); got != c.want {
			t.Errorf("%s+%#x: got %+v, want %+v (%s)", c.m.Path, c.a.Offset, got, c.want, r.Why(c.m))
		}
	}
	if r.Why(none) != errNoSymbols.Error() {
		t.Errorf("got %q", r.Why(none))
	}
	namesOfVDSO(t, r)
}

func namesOfVDSO(t *testing.T, r *Resolver) {
	image, err := ReadVDSO()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "vdso")
	if err := os.WriteFile(copied, image, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_VDSO), Path: []byte("[vdso]"), BuildId: openFile(t, copied).BuildID()}
	if len(m.BuildId) == 0 {
		t.Error("the vDSO has a build-id, got none")
	}
	checkFunctions(t, r, m, copied, functionsOfNM(t, copied, "-D"), nil)
	m.BuildId = []byte{1, 2, 3}
	if got := nameOne(t, r, m, Address{}); got.OK || r.Why(m) != "its build-id differs" {
		t.Errorf("got %+v, %q", got, r.Why(m))
	}
}

func TestHiddenKernelIsReportedOnce(t *testing.T) {
	lookups := 0
	r := newResolver(t, Options{Kallsyms: func() (io.ReadCloser, error) {
		lookups++
		return nil, errors.New("it was not recorded")
	}})
	m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_KERNEL), Path: []byte("[kernel]")}
	for range 3 {
		nameOne(t, r, m, Address{})
	}
	if lookups != 1 || r.Why(m) != "it was not recorded" {
		t.Errorf("looked up %d times, got %q", lookups, r.Why(m))
	}
}

func TestNoRoomForNamesIsAnError(t *testing.T) {
	if err := newResolver(t, raw()).Names(&format.Module{}, make([]Address, 2), make([]Name, 1)); err == nil {
		t.Error("got no error")
	}
}
