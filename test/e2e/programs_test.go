//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"wprof/format"
	"wprof/test/tools"
)

// TestProgramsLoadedMeanwhileHaveNames samples a BPF program that is loaded, run and taken out while the window is open.
func TestProgramsLoadedMeanwhileHaveNames(t *testing.T) {
	tools.NeedPrivilege(t)
	samplesProgram(t, func(record func(func())) {
		record(func() {
			program := countsUp(t)
			defer program.Close()
			runProgram(t, program)
		})
	})
}

// TestProgramsLoadedBeforeHaveNames samples a program of another process's that was there before the recorder.
func TestProgramsLoadedBeforeHaveNames(t *testing.T) {
	tools.NeedPrivilege(t)
	samplesProgram(t, func(record func(func())) {
		program := countsUp(t)
		defer program.Close()
		record(func() { runProgram(t, program) })
	})
}

func countsUp(t *testing.T) *ebpf.Program {
	code := asm.Instructions{asm.Mov.Imm(asm.R0, 0)}
	for range 2000 {
		code = append(code, asm.Add.Imm(asm.R0, 1))
	}
	code = append(code, asm.Return())
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "counts_up", Type: ebpf.SocketFilter, License: "GPL", Instructions: code})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func runProgram(t *testing.T, program *ebpf.Program) {
	if _, err := program.Run(&ebpf.RunOptions{Data: make([]byte, 64), Repeat: 500_000}); err != nil {
		t.Fatal(err)
	}
}

// samplesProgram looks for the names of the program that runs during a recording.
func samplesProgram(t *testing.T, during func(record func(func()))) {
	t.Helper()
	var capture string
	during(func(run func()) {
		capture = tools.Record(t, filepath.Join(t.TempDir(), "program.wprof"), []string{"-Stimer=1khz"}, run)
	})
	found := 0
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		stack := r.Stack(e.Sample().Stack())
		if stack == nil {
			return
		}
		for _, id := range stack.Frames {
			frame := r.Frame(id)
			if string(r.Module(frame.Module).GetPath()) != "[bpf]" {
				continue
			}
			if len(frame.Lines) == 0 || !strings.HasPrefix(string(frame.Lines[0].Function), "bpf_") {
				t.Fatalf("a frame of a program is called %v", frame.Lines)
			}
			if strings.HasSuffix(string(frame.Lines[0].Function), "_counts_up") {
				found++
			}
		}
	})
	if found < 20 {
		t.Errorf("the program is in %d samples", found)
	}
}
