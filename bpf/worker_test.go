//go:build linux

package bpf

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// io_uring's workers are created without the fork tracepoint; they still have one fork record, before the wakeup.
func TestWorkersOfIOUringAreForked(t *testing.T) {
	tracer := mustLoad(t, Options{})
	var err error
	records := recording(t, tracer, func() {
		onThread(func() { err = readInWorker() })
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skip("this kernel has no io_uring")
	}
	must(t, err)
	worker := 0
	for _, r := range records {
		if r.kind() == ringdata.KindRename && r.identPID() == os.Getpid() && strings.HasPrefix(r.identComm(), "iou-wrk") {
			worker = r.tid()
		}
	}
	var kinds []uint8
	for _, r := range records {
		switch {
		case r.kind() == ringdata.KindFork && r.identTID() == worker, r.kind() == ringdata.KindWakeupNew && r.wakee() == worker:
			kinds = append(kinds, r.kind())
		}
	}
	if worker == 0 || string(kinds) != string([]uint8{ringdata.KindFork, ringdata.KindWakeupNew}) {
		t.Errorf("worker %d: records of kinds %v, want fork and wakeup_new", worker, kinds)
	}
}

// readInWorker has io_uring read from a pipe, which blocks: so it needs a worker.
func readInWorker() error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	params := make([]byte, 120) // struct io_uring_params, include/uapi/linux/io_uring.h
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	ring, err := unix.Mmap(int(fd), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	const entries, async, opRead = 0x10000000, 1 << 4, 22
	entry, err := unix.Mmap(int(fd), entries, 256, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	buf := make([]byte, 8)
	entry[0], entry[1] = opRead, async
	binary.NativeEndian.PutUint32(entry[4:], uint32(pipe[0]))
	binary.NativeEndian.PutUint64(entry[16:], uint64(uintptr(unsafe.Pointer(&buf[0]))))
	binary.NativeEndian.PutUint32(entry[24:], 8)
	binary.NativeEndian.PutUint32(ring[binary.NativeEndian.Uint32(params[44:]):], 1) // tail; array[0] is 0
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	time.Sleep(50 * time.Millisecond)
	_, err = unix.Write(pipe[1], buf)
	return err
}
