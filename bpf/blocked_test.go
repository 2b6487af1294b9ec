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
)

// A process that hangs with its memory locked for writing keeps nobody waiting: it has its kernel stack, and the part
// of its user stack that cannot be read is said to be missing.
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
	if !found || r.u32(32) == 0 || r.u32(36) != 1 || r.u32(28) != 2 {
		t.Errorf("found %v, %d frames of the kernel and %d of user space, cut %d; want some, the first, and 2", found, r.u32(32), r.u32(36), r.u32(28))
	}
}

// lockMemory starts a process that waits for a file system in the middle of a change to its memory: it maps something
// else over a page of a file that has to be written back, and the file system, this process, does not answer.
func lockMemory(t *testing.T) (pid int) {
	t.Helper()
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this kernel has no FUSE")
	}
	must(t, err)
	t.Cleanup(func() { _ = device.Close() })
	folder := t.TempDir()
	must(t, unix.Mount("wprof-test", folder, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device.Fd())))
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	writing := make(chan struct{})
	go serveFUSE(int(device.Fd()), writing)
	path, err := unix.BytePtrFromString(filepath.Join(folder, "file"))
	must(t, err)
	pid, err = forkAs(0, mapOver, uintptr(unsafe.Pointer(path)), 0)
	runtime.KeepAlive(path)
	must(t, err)
	t.Cleanup(func() {
		_ = unix.Unmount(folder, unix.MNT_FORCE)
		kill(t, pid)
	})
	select {
	case <-writing:
	case <-time.After(time.Minute):
		t.Fatal("the file system was not asked to write")
	}
	waitFor(t, func() bool { return stateOf(pid) == "D" })
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

// serveFUSE is a file system with one file of a page, which answers everything but a write: include/uapi/linux/fuse.h.
func serveFUSE(device int, writing chan<- struct{}) {
	const (
		lookup, forget, getattr, setattr, open, read, write, release, flush, initialise, opendir = 1, 2, 3, 4, 14, 15, 16, 18, 25, 26, 27

		bigWrites, writebackCache = 1 << 5, 1 << 16
	)
	le := binary.NativeEndian
	attr := func(node uint64) []byte {
		mode, size := uint32(unix.S_IFREG|0o644), uint64(4096)
		if node == 1 {
			mode, size = unix.S_IFDIR|0o755, 0
		}
		b := le.AppendUint64(le.AppendUint64(nil, node), size)
		b = append(b, make([]byte, 4*8+3*4)...)
		b = le.AppendUint32(le.AppendUint32(b, mode), 1)
		return append(b, make([]byte, 5*4)...)
	}
	buf := make([]byte, 1<<20)
	for {
		n, err := unix.Read(device, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		unique, node := le.Uint64(buf[8:]), le.Uint64(buf[16:])
		var answer []byte
		var refused int32
		switch le.Uint32(buf[4:]) {
		case initialise:
			answer = make([]byte, 64)
			le.PutUint32(answer, 7)
			le.PutUint32(answer[4:], 31)
			le.PutUint32(answer[12:], bigWrites|writebackCache)
			le.PutUint32(answer[20:], 65536)
		case lookup:
			answer = le.AppendUint64(nil, 2)
			answer = append(append(answer, make([]byte, 32)...), attr(2)...)
		case getattr, setattr:
			answer = append(make([]byte, 16), attr(node)...)
		case open, opendir:
			answer = make([]byte, 16)
		case read:
			answer = make([]byte, 4096)
		case write:
			writing <- struct{}{}
			continue
		case forget:
			continue
		case release, flush:
		default:
			refused = -int32(unix.ENOSYS)
		}
		reply := le.AppendUint32(nil, uint32(16+len(answer)))
		reply = le.AppendUint64(le.AppendUint32(reply, uint32(refused)), unique)
		_, _ = unix.Write(device, append(reply, answer...))
	}
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
		for i := range r.u32(36) {
			got = append(got, uint64(r.u64(56+8*(r.u32(32)+i))))
		}
		if !found || !slices.Equal(got, want) {
			t.Errorf("found %v with frames %#x, want %#x", found, got, want)
		}
	}
}
