package pytrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func ptrace(request, tid int, address, data uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ptraceInto is for requests that read or write size bytes of memory at p.
func ptraceInto(request, tid int, size uintptr, p unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), size, uintptr(p), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func unsafePointer[T any](v *T) unsafe.Pointer { return unsafe.Pointer(v) }

func unsafeSize[T any](v *T) uintptr { return unsafe.Sizeof(*v) }
