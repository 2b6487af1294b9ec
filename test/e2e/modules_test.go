//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/test/tools"
)

// TestModulesLoadedMeanwhileHaveNames loads brd, a disk in memory, while it records, and writes to it.
func TestModulesLoadedMeanwhileHaveNames(t *testing.T) {
	tools.NeedPrivilege(t)
	module := os.Getenv("WPROF_TEST_MODULE")
	if module == "" {
		t.Skip("WPROF_TEST_MODULE names no module brd of this kernel (docs/kernels.md)")
	}
	var failed error
	found := framesWith(t, "[brd]", "brd_", func() {
		if out, err := exec.Command("insmod", module, "rd_nr=1", "rd_size=20000").CombinedOutput(); err != nil {
			t.Fatalf("insmod: %v: %s", err, out)
		}
		for range 20 {
			if failed = exec.Command("dd", "if=/dev/zero", "of=/dev/ram0", "bs=1M", "count=16", "oflag=direct").Run(); failed != nil {
				return
			}
		}
	})
	if failed != nil || found < 5 {
		t.Errorf("the module's functions are in %d frames: %v", found, failed)
	}
}

// TestTrampolinesOfBeforeHaveNames has a program called at the entry of a function of the kernel, which goes through code that
// the kernel has generated before the recording.
func TestTrampolinesOfBeforeHaveNames(t *testing.T) {
	tools.NeedPrivilege(t)
	code := asm.Instructions{asm.Mov.Imm(asm.R0, 0)}
	for range 2000 {
		code = append(code, asm.Add.Imm(asm.R0, 1))
	}
	code = append(code, asm.Mov.Imm(asm.R0, 0), asm.Return())
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "at_entry", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: "do_faccessat", License: "GPL", Instructions: code,
	})
	if err != nil {
		t.Skipf("this kernel calls no programs from its functions (docs/kernels.md): %v", err)
	}
	defer program.Close()
	attached, err := link.AttachTracing(link.TracingOptions{Program: program})
	if err != nil {
		t.Skipf("this kernel calls no programs from its functions (docs/kernels.md): %v", err)
	}
	defer attached.Close()
	found := framesWith(t, "[bpf]", "bpf_trampoline_", func() {
		for range 100_000 {
			_ = unix.Faccessat(unix.AT_FDCWD, "/", unix.F_OK, 0)
		}
	})
	if found < 5 {
		t.Errorf("the trampoline is in %d frames", found)
	}
}

// framesWith counts the frames of samples that are in a module, and whose function's name begins with some letters.
func framesWith(t *testing.T, module, name string, during func()) (found int) {
	t.Helper()
	capture := tools.Record(t, filepath.Join(t.TempDir(), "x.wprof"), []string{"-Stimer=1khz"}, during)
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		stack := r.Stack(e.Sample().Stack())
		if stack == nil {
			return
		}
		for _, id := range stack.Frames {
			frame := r.Frame(id)
			if string(r.Module(frame.Module).GetPath()) == module && len(frame.Lines) > 0 && strings.HasPrefix(string(frame.Lines[0].Function), name) {
				found++
			}
		}
	})
	return found
}
