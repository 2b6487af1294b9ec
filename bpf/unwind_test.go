//go:build linux && amd64

package bpf

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
)

// Code without frame pointers may have 0 there, as the root has. Only the table of its file tells them apart.
func TestFramePointerIsNoRootBeforeTheTable(t *testing.T) {
	program := filepath.Join(t.TempDir(), "zero")
	if out, err := exec.Command("gcc", "-O2", "-fomit-frame-pointer", "-o", program, "testdata/zero.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	tracer := mustLoad(t, Options{OffCPU: OffCPU{Stacks: Stacks{User: true}}, Unwind: Unwinding{Tables: true}})
	addTable(t, tracer, "/lib/x86_64-linux-gnu/libc.so.6")
	ends := stackEndsOf(t, tracer, program)
	if ends[format.StackEnd_STACK_END_ROOT] > 0 || ends[format.StackEnd_STACK_END_NO_TABLE] == 0 {
		t.Errorf("without its table: stacks by end: %v", ends)
	}
	var st unix.Stat_t
	must(t, unix.Stat(program, &st))
	must(t, tracer.UnwindTables().AddUnreadable(unwindFileOf(&st)))
	ends = stackEndsOf(t, tracer, program)
	if ends[format.StackEnd_STACK_END_ROOT] > 0 || ends[format.StackEnd_STACK_END_NO_TABLE] == 0 {
		t.Errorf("with a table that could not be made: stacks by end: %v", ends)
	}
	addTable(t, tracer, program)
	if ends := stackEndsOf(t, tracer, program); ends[format.StackEnd_STACK_END_ROOT] == 0 {
		t.Errorf("with its table: stacks by end: %v", ends)
	}
}

// Whoever makes tables is woken once the programs miss that of another file, and not before.
func TestMissedTableWakes(t *testing.T) {
	program := filepath.Join(t.TempDir(), "zero")
	if out, err := exec.Command("gcc", "-O2", "-o", program, "testdata/zero.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	var st unix.Stat_t
	must(t, unix.Stat(program, &st))
	tracer := mustLoad(t, Options{OffCPU: OffCPU{Stacks: Stacks{User: true}}, Unwind: Unwinding{Tables: true}})
	addTable(t, tracer, "/lib/x86_64-linux-gnu/libc.so.6")
	tables := tracer.UnwindTables()
	isReady := func(wait time.Duration) bool {
		t.Helper()
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(tables.MissedFD()), Events: unix.POLLIN}}, int(wait.Milliseconds()))
		must(t, err)
		return n == 1
	}
	if isReady(0) {
		t.Error("it is ready before the window opens")
	}
	recording(t, tracer, func() { must(t, exec.Command(program).Run()) })
	if !isReady(10 * time.Second) {
		t.Fatal("it is not ready after a program without a table has blocked")
	}
	missed, err := tables.Missed()
	must(t, err)
	if _, ok := missed[unwindFileOf(&st)]; !ok {
		t.Errorf("the program's file is not among the %d missed ones", len(missed))
	}
	if isReady(0) {
		t.Error("it is still ready after the missed files were read")
	}
}

// A stack that is deeper than those that the kernel walks is whole by tables.
func TestDeepStacksAreWholeByTables(t *testing.T) {
	tracer := mustLoad(t, Options{Sample: Sample{Period: time.Millisecond, User: true}, Unwind: Unwinding{Tables: true}})
	addTable(t, tracer, "/proc/self/exe")
	records := recording(t, tracer, func() { onThread(func() { recurse(400, 200*time.Millisecond) }) })
	if count(records, func(r record) bool { return r.isOwnStack() && r.frames() > 400 && r.flags()&ringdata.FlagCut == 0 }) == 0 {
		t.Error("no stack of more than 400 frames is whole")
	}
}

// stackEndsOf runs a program and counts its user stacks by why they end.
func stackEndsOf(t *testing.T, tracer *Tracer, program string) (ends [format.StackEnds]int) {
	t.Helper()
	cmd := exec.Command(program)
	for _, r := range recording(t, tracer, func() { must(t, cmd.Run()) }) {
		if r.is(ringdata.KindStack) && r.stackPID() == cmd.Process.Pid {
			ends[r.bytes[ringdata.StackEnded]]++
		}
	}
	return ends
}
