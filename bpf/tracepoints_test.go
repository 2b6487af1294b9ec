//go:build linux

package bpf

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
	"wprof/internal/tracepoint"
)

// TestRawTracepointsHaveTheirNumber records two of them by one program with cookies, and by copies of it.
func TestRawTracepointsHaveTheirNumber(t *testing.T) {
	read, err := Check()
	must(t, err)
	var chosen []*tracepoint.Tracepoint
	for _, name := range []string{"sched_process_hang", "task_rename", "signal_generate"} {
		of, err := read.RawTracepoint(tracepoint.RawGroup, name)
		if err != nil {
			continue // the first is not in every kernel
		}
		chosen = append(chosen, of)
	}
	rename := uint32(len(chosen) - 2)
	for _, copies := range []bool{false, true} {
		tracer := mustLoad(t, Options{Tracepoints: chosen, copyRawProgram: copies})
		if programs := len(tracer.rawPrograms); copies && programs != len(chosen) {
			t.Errorf("%d programs for %d tracepoints", programs, len(chosen))
		}
		tid := 0
		records := recording(t, tracer, func() {
			tid = onThread(func() {
				name, err := unix.BytePtrFromString("renamed")
				must(t, err)
				if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0); errno != 0 {
					t.Error(errno)
				}
				if _, _, errno := unix.RawSyscall(unix.SYS_TGKILL, uintptr(unix.Getpid()), uintptr(unix.Gettid()), uintptr(unix.SIGWINCH)); errno != 0 {
					t.Error(errno)
				}
			})
		})
		var decoder tracepoint.Decoder
		names, signals := 0, 0
		for _, r := range records {
			if r.kind() != ringdata.KindTyped || r.tid() != tid {
				continue
			}
			number := uint32(r.u32(ringdata.TracepointType)) - ringdata.TypeTracepoint
			values := decoder.Values(&chosen[number].Layout, r.bytes[ringdata.TracepointBytes:][:r.u32(ringdata.TracepointLength)])
			switch {
			case number == rename && string(values[1].Bytes) == "renamed":
				names++
			case number == rename+1 && values[0].Int() == int64(unix.SIGWINCH):
				signals++
			}
		}
		if names != 1 || signals != 1 {
			t.Errorf("with copies %t: %d renames and %d signals, want 1 of each", copies, names, signals)
		}
		must(t, tracer.Close())
	}
}
