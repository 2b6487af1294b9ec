//go:build linux

package e2e

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"wprof/test/fromtext"
	"wprof/test/tools"
)

const (
	kernelBuildID = "abababababababababababababababababababab"
	kernelSource  = `__asm__(".text\n.globl _text\n_text: .skip 64\n");
volatile int sink; static inline __attribute__((always_inline)) int inner(int i) { sink = i; return i * 3; }
__attribute__((noinline)) int outer(int i) { return inner(i) + 1; }
__attribute__((noinline)) int caller(int i) {
	i = outer(i) * 5;
	return i;
}
`
)

// buildVmlinux builds an ELF file as a kernel's, and returns the offsets from _text of the beginning of outer and of the return from it.
func buildVmlinux(t *testing.T, path string) (outer, returned uint64) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "kernel.c")
	if err := os.WriteFile(source, []byte(kernelSource), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-O1", "-g", "-fno-toplevel-reorder", "-ffreestanding", "-fno-pie", "-no-pie", "-static", "-nostdlib",
		"-Wl,-e,_text", "-Wl,--build-id=0x" + kernelBuildID, source, "-o", path}
	if runtime.GOARCH == "amd64" {
		flags = append(flags, "-mcmodel=kernel", "-Wl,-Ttext=0xffffffff81000000")
	}
	if out, err := exec.Command("gcc", flags...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at, end := make(map[string]uint64), make(map[string]uint64)
	for _, s := range symbols {
		at[s.Name], end[s.Name] = s.Value, s.Value+s.Size
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	for a := at["caller"]; a+5 <= end["caller"]; a++ {
		i := a - text.Addr
		switch {
		case f.Machine == elf.EM_X86_64 && code[i] == 0xe8:
			returned = a + 5
		case f.Machine == elf.EM_AARCH64 && a%4 == 0 && code[i+3]&0xfc == 0x94:
			returned = a + 4
		}
	}
	return at["outer"] - at["_text"], returned - at["_text"]
}

// kernelCapture is a sample in outer, called from caller, of a kernel that was loaded at another address than that it was linked for.
func kernelCapture(t *testing.T, path, buildID string, outer, returned uint64) {
	t.Helper()
	text := fmt.Sprintf(`section host="box" boot_id="b" open=1000000 close=+5000
  source 1 name=timer period=10000000
task 1 tid=12 pid=12 comm="ping"
module 1 path="[kernel]" build_id=%s base=0xffffffff9a400000 kind=kernel
module 2 path="[ext4]" base=0xffffffffc0000000 kind=kernel_module
frame 1 module=1 offset=%#x function_offset=5 caller
  line function="caller"
frame 2 module=1 offset=%#x
  line function="outer_recorded"
frame 3 module=2 offset=%#[3]x
  line function="ext4_read"
frame 4 module=1 offset=0x3fffffff
  line function="elsewhere"
stack 1 frames=1,4,3,2 kernel_frames=4
+0 cpu0 state_cpu 1 prio=120 since=-50
+1000    cpu0 sample 1 stack=1 source=1
end
`, buildID, returned, outer)
	if err := os.WriteFile(path, fromtext.Stream(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKernelFramesGetLines: from a vmlinux of the recorded build, wherever that is, and from an archive made with it; not from
// another build's.
func TestKernelFramesGetLines(t *testing.T) {
	dir := t.TempDir()
	vmlinux := filepath.Join(dir, "image")
	outer, returned := buildVmlinux(t, vmlinux)
	capture, other := filepath.Join(dir, "capture"), filepath.Join(dir, "other")
	kernelCapture(t, capture, kernelBuildID, outer, returned)
	kernelCapture(t, other, strings.Repeat("cd", 20), outer, returned)
	debugDir := func(at string) string {
		folder := t.TempDir()
		path := filepath.Join(folder, at)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(vmlinux, path); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	archive := filepath.Join(dir, "archive.tar")
	tools.Run(t, "wprof-symbolize", "--collect", archive, "--debug-dir", debugDir("vmlinux"), capture)
	const (
		lined = `"frames":["[K] caller+0x5","[K] elsewhere","[K] ext4_read","[K] outer_recorded","[K] inner (inlined)"],` +
			`"srcs":["DIR/kernel.c:5","","","DIR/kernel.c:3","DIR/kernel.c:2"]`
		plain = `"frames":["[K] caller+0x5","[K] elsewhere","[K] ext4_read","[K] outer_recorded"]`
	)
	for _, c := range []struct {
		flags         []string
		capture, want string
	}{
		{[]string{"--debug-dir", debugDir("vmlinux")}, capture, lined},
		{[]string{"--debug-dir", debugDir("boot/vmlinux-6.1.0-9-amd64")}, capture, lined},
		{[]string{"--debug-dir", debugDir("lib/modules/6.1.0-9-amd64/vmlinux")}, capture, lined},
		{[]string{"--debug-dir", debugDir("usr/lib/modules/6.1.0-9-amd64/build/vmlinux")}, capture, lined},
		{[]string{"--debug-dir", debugDir(".build-id/ab/" + kernelBuildID[2:] + ".debug")}, capture, lined},
		{[]string{"--symbol-archive", archive}, capture, lined},
		{[]string{"--debug-dir", debugDir("vmlinux"), "--no-lines"}, capture, plain},
		{[]string{"--debug-dir", debugDir("vmlinux")}, other, plain},
		{[]string{"--symbol-archive", archive}, other, plain},
		{[]string{"--debug-dir", debugDir("elsewhere")}, capture, plain},
	} {
		out := filepath.Join(dir, "out")
		tools.Run(t, "wprof-symbolize", append(c.flags, "-o", out, c.capture)...)
		json := string(tools.Run(t, "wprof-json", out))
		if got := sourcePaths.ReplaceAllString(json, `"DIR/kernel.c`); !strings.Contains(got, c.want) || strings.Contains(got, `"srcs"`) != (c.want == lined) {
			t.Errorf("%q: want %s, got\n%s", c.flags, c.want, got)
		}
		if c.want == lined {
			const want = "ping-12;caller (kernel.c:5);elsewhere;ext4_read;outer_recorded (kernel.c:3);inner (kernel.c:2)_[c] 5\n"
			if got := string(tools.Run(t, "wprof-flame", "--folded", "--lines", "--inline", out)); got != want {
				t.Errorf("%q: want %s, got\n%s", c.flags, want, got)
			}
		}
	}
}

var sourcePaths = regexp.MustCompile(`"[^"]*/kernel\.c`)
