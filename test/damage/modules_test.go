//go:build linux

package damage

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/test/events"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

// victimOf is a capture with a sample in the file of code at path, in the function that a sound one calls victim.
func victimOf(t testing.TB, path, kind string) string {
	t.Helper()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	kernelFrames := 0
	if strings.HasPrefix(kind, "kernel") {
		kernelFrames = 2
	}
	text := fmt.Sprintf(`section host="box" boot_id=%q open=1000000 close=+5000
  source 1 name="timer" period=10000000
task 1 tid=12 pid=12 comm="x" start=5
module 1 path=%q build_id=%x kind=%s
frame 1 module=1 offset=%#x
frame 2 module=1 offset=0x400 caller
stack 1 frames=2,1 kernel_frames=%d
+1000 cpu0 sample 1 stack=1 source=1
end
`, strings.TrimSpace(string(boot)), path, buildID, kind, victimAt+16, kernelFrames)
	name := filepath.Join(t.TempDir(), "victim.wprof")
	if err := os.WriteFile(name, fromtext.Stream(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// nameOf is the function of the sample's frame; "": it has none.
func nameOf(t testing.TB, stream []byte) string {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != format.KindSample {
			continue
		}
		if lines := r.Frame(r.Stack(e.Sample().Stack()).Frames[1]).Lines; len(lines) > 0 {
			return string(lines[0].Function)
		}
		return ""
	}
}

// symbolized runs wprof-symbolize over a capture, from a file or through a pipe. The capture must go through whole; the function's
// name is returned.
func symbolized(t *testing.T, try runTool, capture string, pipe bool, args ...string) string {
	t.Helper()
	var stdin []byte
	if pipe {
		stdin, _ = os.ReadFile(capture)
	} else {
		args = append(args, capture)
	}
	r := try(t, hang, stdin, "wprof-symbolize", args...)
	if wrong := sane(&r, hostilePeak); wrong != "" || r.Status != 0 {
		t.Errorf("wprof-symbolize %s: status %d: %s %s", strings.Join(args, " "), r.Status, r.Stderr, wrong)
		return ""
	}
	if _, err := events.Of(r.Stdout); err != nil {
		t.Error(err)
	}
	t.Logf("%v of CPU, %d MiB", r.CPU, r.PeakBytes>>20)
	return nameOf(t, r.Stdout)
}

// xzOf packs with xz(1), which takes a tenth of the time of the package that the tools unpack with.
func xzOf(t testing.TB, raw []byte, dictionary int) []byte {
	t.Helper()
	xz := exec.Command("xz", "--stdout", fmt.Sprintf("--lzma2=preset=0,dict=%d", dictionary))
	xz.Stdin = bytes.NewReader(raw)
	packed, err := xz.Output()
	if err != nil {
		t.Fatalf("%v: %v", xz, err)
	}
	return packed
}

// deflated is a compressed section that claims a size.
func deflated(size uint64, raw []byte) []byte {
	var b bytes.Buffer
	b.Write(packed(&elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: size, Addralign: 1}))
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed) // there is such a level
	_, _ = w.Write(raw)                             // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// hostileELFs are programs with false contents; true: the function is named all the same.
func hostileELFs(t testing.TB) map[string]struct {
	file  func(f *elfFile)
	named bool
} {
	const huge = 1 << 40
	return map[string]struct {
		file  func(f *elfFile)
		named bool
	}{
		"nothing wrong":           {func(*elfFile) {}, true},
		"sections beyond the end": {func(f *elfFile) { f.header = func(h *elf.Header64) { h.Shoff = math.MaxUint64 - 63 } }, false},
		"65,535 sections":         {func(f *elfFile) { f.header = func(h *elf.Header64) { h.Shnum = 0xffff } }, false},
		"65,279 sections":         {func(f *elfFile) { f.header = func(h *elf.Header64) { h.Shnum = 0xfeff; h.Shoff = 0 } }, false},
		"65,534 segments":         {func(f *elfFile) { f.header = func(h *elf.Header64) { h.Phnum = 0xfffe } }, false},
		"sections of no size":     {func(f *elfFile) { f.header = func(h *elf.Header64) { h.Shentsize = 0 } }, false},
		"symbols beyond the end":  {func(f *elfFile) { f.section(".symtab").lie = func(h *elf.Section64) { h.Size = huge } }, false},
		"symbols at the end of the address space": {func(f *elfFile) {
			f.section(".symtab").lie = func(h *elf.Section64) { h.Off, h.Size = math.MaxUint64-23, 48 }
		}, false},
		"symbols of no size": {func(f *elfFile) { f.section(".symtab").lie = func(h *elf.Section64) { h.Entsize = 0 } }, true},
		"names of symbols in no section": {func(f *elfFile) {
			f.section(".symtab").lie = func(h *elf.Section64) { h.Link = math.MaxUint32 }
		}, false},
		"names of symbols beyond the end": {func(f *elfFile) { f.section(".strtab").lie = func(h *elf.Section64) { h.Size = huge } }, false},
		"a terabyte of symbols in a hole": {func(f *elfFile) {
			f.size = huge
			f.section(".symtab").lie = func(h *elf.Section64) { h.Size = huge - h.Off }
		}, false},
		"a terabyte of names in a hole": {func(f *elfFile) {
			f.size = huge
			f.section(".strtab").lie = func(h *elf.Section64) { h.Size = huge - h.Off }
		}, false},
		"a terabyte of a Go program's table in a hole": {func(f *elfFile) {
			f.size = huge
			f.sections = f.sections[:3]
			f.section(".gopclntab").data = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff}
			f.section(".gopclntab").lie = func(h *elf.Section64) { h.Size, h.Flags = huge-h.Off, uint64(elf.SHF_ALLOC) }
		}, false},
		"a terabyte of read-only data in a hole": {func(f *elfFile) {
			f.size = huge
			f.sections = f.sections[:3]
			f.section(".rodata").data = make([]byte, 8)
			f.section(".rodata").lie = func(h *elf.Section64) { h.Size, h.Flags = huge-h.Off, uint64(elf.SHF_ALLOC) }
			f.section(".go.buildinfo").data = []byte("\xff Go buildinf:")
		}, false},
		"a million symbols": {func(f *elfFile) {
			var all []byte
			for i := range uint64(1 << 20) {
				all = append(all, symbol(1, codeAt+i%codeBytes, 1+i%3)...)
			}
			f.section(".symtab").data = all
		}, true},
		"a name of 20 MiB": {func(f *elfFile) {
			f.section(".strtab").data = append([]byte{0}, bytes.Repeat([]byte{'n'}, 20<<20)...)
		}, false},
		"a C++ name that doubles with each letter": {func(f *elfFile) {
			name := "_Z1fSt4pairIiiE"
			for i := range 30 {
				name += "St4pairIS" + strings.ToUpper(fmt.Sprintf("%x", i)) + "_S_E"
			}
			f.section(".strtab").data = append([]byte("\x00"+name), 0)
		}, true},
		"a C++ name of ten thousand nestings": {func(f *elfFile) {
			f.section(".strtab").data = append([]byte("\x00_Z1f"+strings.Repeat("PFvRKM1a", 1200)), 0)
		}, true},
		"a Rust name of ten thousand nestings": {func(f *elfFile) {
			f.section(".strtab").data = append([]byte("\x00_R"+strings.Repeat("INv", 5000)+"C1aE"), 0)
		}, true},
		"a note with a long name": {func(f *elfFile) { f.section(".note.gnu.build-id").data = note(math.MaxUint32, 20, buildID) }, false},
		"a build-id of 4 GiB":     {func(f *elfFile) { f.section(".note.gnu.build-id").data = note(4, math.MaxUint32, buildID) }, false},
		"a note of a terabyte": {func(f *elfFile) {
			f.size = huge
			f.section(".note.gnu.build-id").lie = func(h *elf.Section64) { h.Size = huge - h.Off }
		}, false},
		"a bomb in .gnu_debugdata": {func(f *elfFile) {
			f.section(".gnu_debugdata").data = xzOf(t, make([]byte, 100<<20), 1<<16)
			f.sections = append(f.sections[:3], f.sections[5:]...)
		}, false},
		"an ELF bomb in .gnu_debugdata": {func(f *elfFile) {
			inner := filepath.Join(t.TempDir(), "inner")
			soundELF().write(t, inner)
			image, _ := os.ReadFile(inner)
			f.section(".gnu_debugdata").data = xzOf(t, append(image, make([]byte, 100<<20)...), 1<<16)
			f.sections = append(f.sections[:3], f.sections[5:]...)
		}, false},
		"a bomb that wants a dictionary of 64 MiB": {func(f *elfFile) {
			f.section(".gnu_debugdata").data = xzOf(t, make([]byte, 96<<20), 64<<20)
			f.sections = append(f.sections[:3], f.sections[5:]...)
		}, false},
		"half of .gnu_debugdata": {func(f *elfFile) {
			all := xzOf(t, bytes.Repeat([]byte("no program"), 1000), 1<<16)
			f.section(".gnu_debugdata").data = all[:len(all)/2]
			f.sections = append(f.sections[:3], f.sections[5:]...)
		}, false},
		"compressed names, a bomb": {func(f *elfFile) {
			s := f.section(".strtab")
			s.data, s.header.Flags = deflated(huge, make([]byte, 256<<20)), uint64(elf.SHF_COMPRESSED)
		}, false},
		"compressed symbols, a bomb": {func(f *elfFile) {
			s := f.section(".symtab")
			s.data, s.header.Flags = deflated(256<<20, make([]byte, 256<<20)), uint64(elf.SHF_COMPRESSED)
		}, false},
		"a debug link that leads to devices": {func(f *elfFile) {
			f.section(".gnu_debuglink").data = []byte("../../../../../../../../dev/zero\x00\x00\x00\x00\x00\x00\x00\x00")
			f.sections = append(f.sections[:3], f.sections[5:]...)
		}, false},
	}
}

// Whatever a program says of itself, the capture that names it goes through whole, soon and with little memory.
func TestHostileProgramsDoNoHarm(t *testing.T) {
	for name, c := range hostileELFs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, dir := soundELF(), t.TempDir()
			c.file(f)
			program := filepath.Join(dir, "program")
			f.write(t, program)
			here := symbolized(t, tools.Try, victimOf(t, program, "file"), false)
			elsewhere := symbolized(t, tools.Try, victimOf(t, "/nonexistent/program", "file"), true, "--debug-dir", dir)
			if here != elsewhere || (here != "") != c.named {
				t.Errorf("the function is called %.80q, and with --debug-dir %.80q; want a name: %v", here, elsewhere, c.named)
			}
		})
	}
}

// A path that leads to no regular file is left alone: a pipe would be waited for, a device has no end.
func TestPathsOfNoProgramsAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/kmsg", strings.Repeat("/a", 100_000), "a\x00b", ""} {
		for i, kind := range []string{"file", "jit", "vdso", "kernel_module", "77"} {
			symbolized(t, tools.Serve, victimOf(t, path, kind), i%2 > 0, "--debug-dir", dir)
		}
	}
}

// mapOfSleeper is the path of a living process's map file, and the kind of a module of code that it has generated.
func mapOfSleeper(t *testing.T) (path, kind string) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	path = fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)
	t.Cleanup(func() { _, _, _ = cmd.Process.Kill(), cmd.Wait(), os.Remove(path) })
	started, err := proc.Started(uint32(cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return path, fmt.Sprintf("jit generation=%d", started.Monotonic+20e6)
}

// hostilePerfMaps are what any user can write.
func hostilePerfMaps() map[string]func() string {
	return map[string]func() string{
		"nothing wrong": func() string { return "200 100 victim\n" },
		"two million lines": func() string {
			var b strings.Builder
			for i := range 2_000_000 {
				fmt.Fprintf(&b, "%x %x f%d\n", 0x200+i%64, 1+i%4096, i)
			}
			return b.String()
		},
		"a line of 100 MiB":     func() string { return "200 100 victim" + strings.Repeat("x", 100<<20) },
		"no line, only zeros":   func() string { return string(make([]byte, 100<<20)) },
		"no end of addresses":   func() string { return strings.Repeat("f", 10<<20) },
		"a terabyte in a hole":  func() string { return "200 100 victim\n" },
		"no name":               func() string { return "200 100\n" },
		"sizes beyond all ends": func() string { return strings.Repeat("200 ffffffffffffffff victim\n", 100_000) },
		"functions in functions": func() string {
			var b strings.Builder
			for i := range 200_000 {
				fmt.Fprintf(&b, "%x %x f\n", i, 400_000-2*i)
			}
			return b.String()
		},
	}
}

// Half of the captures are read from files and half from pipes; in the soak, all from both.
func TestHostilePerfMapsDoNoHarm(t *testing.T) {
	all := hostilePerfMaps()
	for number, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, code := mapOfSleeper(t)
			if err := os.WriteFile(path, []byte(all[name]()), 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "a terabyte in a hole" {
				if err := os.Truncate(path, 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			capture := victimOf(t, path, code)
			for _, pipe := range []bool{false, true} {
				if !everyVariant() && pipe != (number%2 != 0) {
					continue
				}
				if got := symbolized(t, tools.Try, capture, pipe); name == "nothing wrong" && got != "victim" {
					t.Errorf("the function is called %.80q, want victim", got)
				}
			}
		})
	}
}
