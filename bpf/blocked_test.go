//go:build linux

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
	"wprof/test/fuse"
)

// Listing blocked threads does not wait for a process that hangs with its mmap_lock held for writing: it has its kernel stack
// and the innermost frame of its user stack, which is marked as cut.
func TestLockedMemoryIsNotWaitedFor(t *testing.T) {
	tracer := mustLoad(t, Options{OffCPU: OffCPU{Stacks: Stacks{Kernel: true, User: true}}})
	pid := lockMemory(t)
	var list bytes.Buffer
	read := make(chan error, 1)
	go func() { read <- tracer.ReadBlocked(&list, now()) }()
	select {
	case err := <-read:
		must(t, err)
	case <-time.After(30 * time.Second):
		t.Error("the list of blocked threads waits for a lock")
		return
	}
	r, found := blockedRecord(list.Bytes(), pid)
	if !found || r.u32(ringdata.BlockedKernelCount) == 0 || r.u32(ringdata.BlockedUserCount) != 1 || r.u32(ringdata.BlockedCut) != 2 {
		t.Errorf("found %v, %d frames of the kernel and %d of user space, cut %d; want some, the first, and 2", found, r.u32(ringdata.BlockedKernelCount), r.u32(ringdata.BlockedUserCount), r.u32(ringdata.BlockedCut))
	}
}

// lockMemory starts a process that holds its mmap_lock for writing while it waits for a file system: it maps memory over a
// dirty page of a file, and the write is never answered.
func lockMemory(t *testing.T) (pid int) {
	t.Helper()
	file, writes := fuse.Mount(t, make([]byte, 4096), func(r fuse.Request) bool { return r.Op == fuse.Write })
	path, err := unix.BytePtrFromString(file)
	must(t, err)
	pid, err = forkAs(0, mapOver, uintptr(unsafe.Pointer(path)), 0)
	runtime.KeepAlive(path)
	must(t, err)
	t.Cleanup(func() {
		_ = unix.Unmount(filepath.Dir(file), unix.MNT_FORCE)
		kill(t, pid)
	})
	select {
	case <-writes:
	case <-time.After(time.Minute):
		t.Fatal("the file system got no request to write")
	}
	state := ""
	waitFor(t, func() bool {
		before := stateOf(pid)
		time.Sleep(time.Second / 2) // D is also a short wait on the way to S
		state = stateOf(pid)
		return state == before && (state == "D" || state == "S")
	})
	if state == "S" { // it has mapped the memory, and waits to be killed
		t.Skip("this kernel writes pages of FUSE files from copies, and waits for nothing (docs/kernels.md)")
	}
	return pid
}

// stateOf is the third field of proc_pid_stat(5).
func stateOf(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// mapOver locks the memory of a process that forkAs made.
//
//go:nosplit
func mapOver(path, _ uintptr) {
	here := unix.AT_FDCWD
	fd, _, _ := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(here), path, unix.O_RDWR, 0, 0, 0)
	page, _, _ := unix.RawSyscall6(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, fd, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_GETRANDOM, page, 1, 0) // makes the page dirty
	_, _, _ = unix.RawSyscall6(unix.SYS_MMAP, page, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0), 0)
	waitRaw(0, 0)
}

// narrowProgram is a program of 32 bits that waits two calls deep, as compilers make them with frame pointers. Above
// the innermost frame stands what would be a return address if frames had 64 bits.
func narrowProgram(shift int) (elf []byte, frames []uint64) {
	const base, headers = 0x08048000, 52 + 32
	le := binary.LittleEndian
	var code []byte
	call := func(back int) { // of what follows behind so many bytes
		code = le.AppendUint32(append(code, 0xe8), uint32(back))
		frames = append([]uint64{base + headers + uint64(len(code))}, frames...)
	}
	code = append(code, 0x31, 0xed) // xor %ebp,%ebp
	for range shift {
		code = append(code, 0x50) // push %eax
	}
	call(1)
	code = append(code, 0xf4)                                     // hlt
	code = append(code, 0x55, 0x89, 0xe5, 0x83, 0xec, 16)         // push %ebp; mov %esp,%ebp; sub $16,%esp
	code = append(code, 0xc7, 0x44, 0x24, 4, 0x56, 0x34, 0x12, 0) // movl $0x123456,4(%esp)
	call(1)
	code = append(code, 0xf4)                                            // hlt
	code = append(code, 0x55, 0x89, 0xe5, 0xb8, 29, 0, 0, 0, 0xcd, 0x80) // push %ebp; mov %esp,%ebp; mov $29,%eax; int $0x80: pause
	frames = append([]uint64{base + headers + uint64(len(code))}, frames...)
	code = append(code, 0xeb, 0xf7) // jmp to the mov

	elf = append(elf, 0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	elf = le.AppendUint16(le.AppendUint16(elf, 2), 3) // ET_EXEC, EM_386
	for _, v := range []uint32{1, base + headers, 52, 0, 0} {
		elf = le.AppendUint32(elf, v)
	}
	for _, v := range []uint16{52, 32, 1, 0, 0, 0} {
		elf = le.AppendUint16(elf, v)
	}
	size := uint32(headers + len(code))
	for _, v := range []uint32{1, 0, base, base, size, size, 5, 4096} { // PT_LOAD, readable and executable
		elf = le.AppendUint32(elf, v)
	}
	return append(elf, code...), frames
}

func TestBlockedThreadOfA32BitProgramHasItsCallers(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("32-bit programs of this architecture have one frame (docs/kernels.md)")
	}
	tracer := mustLoad(t, Options{OffCPU: OffCPU{Stacks: Stacks{User: true}}})
	for shift := range 2 { // a frame that is aligned to 8 bytes, and one that is not
		elf, want := narrowProgram(shift)
		path := filepath.Join(t.TempDir(), "narrow")
		must(t, os.WriteFile(path, elf, 0o700))
		program := exec.Command(path)
		if err := program.Start(); errors.Is(err, unix.ENOEXEC) {
			t.Skip("this kernel runs no programs of 32 bits (docs/kernels.md)")
		} else if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return stateOf(program.Process.Pid) == "S" })
		var list bytes.Buffer
		must(t, tracer.ReadBlocked(&list, now()))
		r, found := blockedRecord(list.Bytes(), program.Process.Pid)
		must(t, program.Process.Kill())
		_ = program.Wait()
		var got []uint64
		for i := range r.u32(ringdata.BlockedUserCount) {
			got = append(got, uint64(r.u64(ringdata.BlockedAddrs+8*(r.u32(ringdata.BlockedKernelCount)+i))))
		}
		if !found || !slices.Equal(got, want) {
			t.Errorf("found %v with frames %#x, want %#x", found, got, want)
		}
	}
}
