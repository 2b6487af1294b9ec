package waits

import (
	"slices"
	"strings"

	"wprof/format"
)

// Facts are what is known of a time off-CPU.
type Facts struct {
	Wait   *format.Wait // nil: none was recorded
	State  format.State // in which the thread left its CPU
	Kernel []string     // functions of the kernel's part of the stack, innermost first
	User   []string     // functions of the user's part, innermost first; those that are inlined too
	// KernelThread is whether the thread is one of the kernel's.
	KernelThread bool
}

// rules are the tables, so that they are made once.
type rules struct {
	kernel, user []function
	runtime      []function // before user
	calls        map[string]Call
	classes      []ClassInfo
}

func newRules() *rules {
	r := &rules{kernel: kernelFunctions(), user: userFunctions(), runtime: builtOnConditions(), calls: make(map[string]Call), classes: Classes()}
	for _, c := range calls() {
		r.calls[c.Name] = c
	}
	return r
}

// classify returns what a thread waited for that was blocked: in turn by its state, by functions of the kernel that show it whatever
// the call, by the call with its descriptor or futex, and by what remains.
func (r *rules) classify(f *Facts) Class {
	if f.State&(format.StateStopped|format.StateTraced|format.StateFrozen|format.StateParked) != 0 {
		return Signal
	}
	if f.Wait.GetIsGil() {
		return GIL
	}
	call := ""
	if f.Wait != nil {
		call = string(f.Wait.Call)
	}
	if call == "" || call == "restart_syscall" { // which continues another call after a stop
		call = callOf(f.Kernel)
	}
	if class, found := r.byKernel(f, call); found {
		return class
	}
	if f.State&format.StateIOWait != 0 {
		return r.byMark(f, call)
	}
	if class := r.byCall(f, call); class != Unknown {
		return class
	}
	switch {
	case f.State&(format.StateUninterruptible|format.StateKillable) != 0 && f.Wait != nil && f.Wait.File == uint32(format.FileKind_FILE_REGULAR):
		return onDisk(r.calls[call])
	case f.KernelThread || f.Wait != nil && call != "":
		return KernelWork
	}
	return Unknown
}

func (r *rules) byKernel(f *Facts, call string) (Class, bool) {
	for _, name := range f.Kernel {
		class, found := find(r.kernel, name)
		switch {
		case !found:
			continue
		case class == Disk && r.inFault(f.Kernel):
			return PageFault, true
		case class == Disk:
			return onDisk(r.calls[call]), true
		}
		return class, true
	}
	return Unknown, false
}

// inFault reports whether a kernel stack is that of a page fault.
func (r *rules) inFault(kernel []string) bool {
	return slices.ContainsFunc(kernel, func(name string) bool {
		class, _ := find(r.kernel, name)
		return class == PageFault
	})
}

// onDisk returns the class of a wait for a disk in a call.
func onDisk(call Call) Class {
	if call.disk == Unknown {
		return Disk
	}
	return call.disk
}

// byMark returns the class of a wait that the kernel counts as one for I/O. In user mode, only a page fault waits for I/O.
func (r *rules) byMark(f *Facts, call string) Class {
	if call == "" && f.Wait != nil && !f.KernelThread {
		return PageFault
	}
	return onDisk(r.calls[call])
}

func (r *rules) byCall(f *Facts, name string) Class {
	call, known := r.calls[name]
	switch {
	case !known:
		return Unknown
	case call.Use&useFutex != 0:
		return r.byFutex(f)
	case name == "fcntl" && !locksFile(f.Wait):
		return KernelWork
	case waitsForTime(name, f.Wait):
		return Timer
	case name == "epoll_wait" || name == "epoll_pwait" || name == "epoll_pwait2":
		return Poll
	case f.Wait.GetHasFd() && f.Wait.File != uint32(format.FileKind_FILE_UNKNOWN):
		return byFile(f.Wait, call)
	}
	return call.Class
}

// The commands of fcntl(2) that wait for a lock: F_SETLKW and F_OFD_SETLKW.
func locksFile(w *format.Wait) bool {
	return w != nil && len(w.Args) > 1 && (w.Args[1] == 7 || w.Args[1] == 38)
}

// waitsForTime reports whether a poll has no descriptors: the number of them is the second argument of poll(2), and the first one of select(2).
func waitsForTime(name string, w *format.Wait) bool {
	switch {
	case w == nil:
		return false
	case name != string(w.Call):
		return false
	case name == "poll" || name == "ppoll":
		return !w.HasFd && argument(w, 1) == 0
	}
	return (name == "select" || name == "pselect6") && argument(w, 0) == 0
}

// argument returns an argument of a system call; arguments after the last one that is not 0 are not stored.
func argument(w *format.Wait, n int) uint64 {
	if n < len(w.Args) {
		return w.Args[n]
	}
	return 0
}

const pollOut = 4 // POLLOUT of poll(2)

// byFile returns the class of a wait for a descriptor.
func byFile(w *format.Wait, call Call) Class {
	polls := call.Use&usePollFD != 0
	switch format.FileKind(w.File) {
	case format.FileKind_FILE_SOCKET:
		switch {
		case !polls && call.Class != KernelWork && call.Class != Pipe:
			return call.Class
		case w.Accepts:
			return Accept
		case polls && len(w.Args) > 2 && w.Args[2]&pollOut != 0 || !polls && call.disk == DiskWrite:
			return Send
		}
		return Receive
	case format.FileKind_FILE_PIPE:
		return Pipe
	case format.FileKind_FILE_TERMINAL:
		return Terminal
	case format.FileKind_FILE_TIMERFD:
		return Timer
	case format.FileKind_FILE_EVENTFD:
		return Condition
	case format.FileKind_FILE_SIGNALFD:
		return Signal
	case format.FileKind_FILE_PIDFD:
		return Child
	case format.FileKind_FILE_EPOLL, format.FileKind_FILE_INOTIFY, format.FileKind_FILE_IO_URING:
		return Poll
	case format.FileKind_FILE_REGULAR, format.FileKind_FILE_DIRECTORY, format.FileKind_FILE_BLOCK_DEVICE:
		if call.Class == Lock || polls {
			return call.Class
		}
		return onDisk(call)
	case format.FileKind_FILE_CHARACTER_DEVICE, format.FileKind_FILE_ANONYMOUS, format.FileKind_FILE_PSEUDO:
		if strings.HasPrefix(call.Name, "read") || strings.HasPrefix(call.Name, "pread") {
			return Condition
		}
	}
	return call.Class
}

// The operations of futex(2), and values of contended mutexes: of glibc, Go and Rust, and, with the owner or without, of robust
// ones and those of musl.
const (
	futexCommand    = 127
	futexWait       = 0
	futexLockPI     = 6
	futexWaitBitset = 9
	futexLockPI2    = 13
	contended       = 2
	hasWaiters      = 1 << 31
	parked          = 1<<32 - 1 // of a thread of Rust, in its own futex
)

// isLock reports whether the operation and the expected value are those of a lock.
func isLock(w *format.Wait) bool {
	switch w.FutexOp & futexCommand {
	case futexLockPI, futexLockPI2:
		return true
	case futexWait, futexWaitBitset:
		return w.FutexValue == contended || w.FutexValue > hasWaiters && w.FutexValue != parked
	}
	return false
}

// byFutex returns the class of a wait for a futex: by the function that waits, or else by the operation and the value.
func (r *rules) byFutex(f *Facts) Class {
	for _, functions := range [][]function{r.runtime, r.user} {
		for _, name := range f.User[:min(len(f.User), userFrames)] {
			if class, found := find(functions, name); found {
				return class
			}
		}
	}
	if f.Wait.GetIsFutex() && isLock(f.Wait) {
		return Lock
	}
	return Condition
}

// callOf returns the system call in a kernel stack of which nothing else is known; "" if it shows none.
func callOf(kernel []string) string {
	for _, name := range kernel {
		if call := CallOf(name); call != "" && call != "restart_syscall" {
			return call
		}
		name = strings.TrimLeft(name, "_")
		for _, in := range [...]struct{ begins, call string }{{"futex_wait", "futex"}, {"hrtimer_nanosleep", "nanosleep"}, {"do_sys_poll", "poll"}, {"do_poll", "poll"}} {
			if strings.HasPrefix(name, in.begins) {
				return in.call
			}
		}
	}
	return ""
}
