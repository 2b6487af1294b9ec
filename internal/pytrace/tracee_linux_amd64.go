package pytrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	ptraceSeize       = 0x4206
	ptraceInterrupt   = 0x4207
	ptraceGetSigmask  = 0x420a
	ptraceSetSigmask  = 0x420b
	ptraceGetRseq     = 0x420f
	ptraceGetDispatch = 0x4211 // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
	eventStop         = 128
	// syscallStop is the signal of a stop at a system call, by PTRACE_O_TRACESYSGOOD.
	syscallStop = unix.SIGTRAP | 0x80
	maxRounds   = 100
	userCode64  = 0x33 // the segment of 64-bit code
)

// tracee is a thread that is stopped.
type tracee struct {
	tid  int
	regs unix.PtraceRegs
}

// stopped is a process all of whose threads are stopped.
type stopped struct {
	pid     int
	threads map[int]*tracee
}

// stop stops all threads of a process. It is for a goroutine that is locked to its thread, as all that follows.
func stop(pid int) (*stopped, error) {
	s := &stopped{pid: pid, threads: make(map[int]*tracee)}
	for range maxRounds {
		added, err := s.addThreads()
		if err != nil {
			s.resume()
			return nil, err
		}
		if !added {
			return s, nil
		}
	}
	s.resume()
	return nil, errors.New("it makes threads faster than they are stopped")
}

// addThreads stops those threads that are not. A stopped process makes none, so that a round that finds none was the last one.
func (s *stopped) addThreads() (added bool, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
	if err != nil {
		return false, errors.New("it has ended")
	}
	var fresh []*tracee
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		if s.threads[tid] != nil || tid == 0 {
			continue
		}
		err := ptrace(ptraceSeize, tid, 0, unix.PTRACE_O_TRACESYSGOOD)
		if err == nil {
			err = ptrace(ptraceInterrupt, tid, 0, 0)
		}
		switch {
		case err == nil:
			fresh = append(fresh, &tracee{tid: tid})
		case err == unix.ESRCH || err == unix.EPERM && s.isEnding(tid):
		default:
			s.collect(fresh) // best effort: what does not stop goes on when this process ends
			return false, fmt.Errorf("it cannot be stopped: %w", err)
		}
	}
	return len(fresh) > 0, s.collect(fresh)
}

// collect waits until threads have stopped.
func (s *stopped) collect(fresh []*tracee) (failed error) {
	for _, t := range fresh {
		switch err := t.awaitStop(); {
		case err == nil:
			s.threads[t.tid] = t
		case err != errEnded:
			failed = err
			s.detach(t)
		}
	}
	return failed
}

// isEnding reports whether a thread is about to disappear. It executes nothing any more.
func (s *stopped) isEnding(tid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", s.pid, tid))
	state := statusField(text, "State")
	return err != nil || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

var errEnded = errors.New("it has ended")

// awaitStop waits until an interrupted thread stops where it neither delivers a signal nor is in a system call: signals that come first are
// delivered as they would have been.
func (t *tracee) awaitStop() error {
	for {
		status, err := t.wait(stopWithin)
		if err != nil {
			return err
		}
		if int(status)>>16 == eventStop {
			if sig := status.StopSignal(); sig != unix.SIGTRAP {
				return fmt.Errorf("it is stopped by %v", unix.SignalName(sig))
			}
			return t.read()
		}
		// Any stop takes the interruption back.
		if err := ptrace(ptraceInterrupt, t.tid, 0, 0); err != nil {
			return errEnded
		}
		if err := ptrace(unix.PTRACE_CONT, t.tid, 0, uintptr(status.StopSignal())); err != nil {
			return errEnded
		}
	}
}

const (
	// stopWithin bounds the wait for a thread, which may wait in the kernel for a device or for a child of vfork(2), while the others are stopped.
	stopWithin = 200 * time.Millisecond
	// callWithin bounds the wait for a system call, in the middle of which a thread cannot be left: it has other registers.
	callWithin = time.Minute
	// soon is how often a thread is looked after without a pause: most stop within microseconds.
	soon      = 200
	stopPause = 50 * time.Microsecond
)

func (t *tracee) wait(within time.Duration) (unix.WaitStatus, error) {
	var status unix.WaitStatus
	deadline := time.Now().Add(within)
	for n := 0; ; n++ {
		tid, err := unix.Wait4(t.tid, &status, unix.WALL|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil || tid != 0 && (status.Exited() || status.Signaled()):
			return status, errEnded
		case tid != 0:
			return status, nil
		case time.Now().After(deadline):
			return status, fmt.Errorf("its thread %d does not stop", t.tid)
		case n < soon:
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		default:
			time.Sleep(stopPause)
		}
	}
}

func (t *tracee) read() error {
	if err := unix.PtraceGetRegs(t.tid, &t.regs); err != nil {
		return errEnded
	}
	return nil
}

// isUsable reports whether the thread can execute system calls and then go on: nothing filters them, and it is in one already, or in no
// restartable sequence, which the kernel would not abort if it found the thread elsewhere.
func (s *stopped) isUsable(t *tracee) bool {
	if t.regs.Cs != userCode64 || t.isDispatched() || isFiltered(s.pid, t.tid) {
		return false
	}
	return int64(t.regs.Orig_rax) >= 0 || !t.isInSequence()
}

// isFiltered reports whether seccomp filters a thread's system calls.
func isFiltered(pid, tid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	mode := statusField(text, "Seccomp")
	return err == nil && mode != "0" && mode != "" // "": the kernel has no seccomp
}

// isDispatched reports whether the thread's system calls become signals: prctl(PR_SET_SYSCALL_USER_DISPATCH).
func (t *tracee) isDispatched() bool {
	var dispatch struct{ Mode, Selector, Offset, Bytes uint64 }
	err := ptraceInto(ptraceGetDispatch, t.tid, unsafeSize(&dispatch), unsafePointer(&dispatch))
	return err == nil && dispatch.Mode != 0
}

func (t *tracee) isInSequence() bool {
	var rseq struct {
		At        uint64
		Size      uint32
		Signature uint32
		Flags     uint32
		_         uint32
	}
	if err := ptraceInto(ptraceGetRseq, t.tid, unsafeSize(&rseq), unsafePointer(&rseq)); err != nil {
		return true
	}
	if rseq.At == 0 {
		return false
	}
	var section [8]byte
	_, err := unix.PtracePeekData(t.tid, uintptr(rseq.At)+8, section[:])
	return err != nil || section != [8]byte{}
}

// resume lets all threads go on.
func (s *stopped) resume() {
	for _, t := range s.threads {
		s.detach(t)
	}
	s.threads = nil
}

func (s *stopped) detach(t *tracee) { _ = ptrace(unix.PTRACE_DETACH, t.tid, 0, 0) }

// caller executes system calls in a stopped thread.
type caller struct {
	t       *tracee
	at      uint64 // of an instruction syscall
	mask    uint64
	changed bool
	stops   bool // SIGSTOP has come meanwhile, which cannot be blocked
}

// newCaller blocks the thread's signals, so that none is delivered while it has other registers.
func newCaller(t *tracee, at uint64) (*caller, error) {
	c := &caller{t: t, at: at}
	if err := ptraceInto(ptraceGetSigmask, t.tid, 8, unsafePointer(&c.mask)); err != nil {
		return nil, fmt.Errorf("read its blocked signals: %w", err)
	}
	all := ^uint64(0)
	if err := ptraceInto(ptraceSetSigmask, t.tid, 8, unsafePointer(&all)); err != nil {
		return nil, fmt.Errorf("block its signals: %w", err)
	}
	return c, nil
}

// call executes a system call.
func (c *caller) call(number uint64, args ...uint64) (uint64, error) {
	regs := c.t.regs
	var a [6]uint64
	copy(a[:], args)
	regs.Rip, regs.Rax, regs.Orig_rax = c.at, number, ^uint64(0)
	regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9 = a[0], a[1], a[2], a[3], a[4], a[5]
	c.changed = true
	if err := unix.PtraceSetRegs(c.t.tid, &regs); err != nil {
		return 0, errEnded
	}
	for range 2 { // its entry and its exit
		if err := c.step(); err != nil {
			return 0, err
		}
	}
	if err := unix.PtraceGetRegs(c.t.tid, &regs); err != nil {
		return 0, errEnded
	}
	if n := int64(regs.Rax); n < 0 && n > -4096 {
		return 0, unix.Errno(-n)
	}
	return regs.Rax, nil
}

// maxStops bounds the stops for other reasons than a system call.
const maxStops = 1000

// step goes on to the next entry or exit of a system call. Stops before it are those of SIGSTOP and SIGCONT, which come at any time.
func (c *caller) step() error {
	for range maxStops {
		if err := ptrace(unix.PTRACE_SYSCALL, c.t.tid, 0, 0); err != nil {
			return errEnded
		}
		status, err := c.t.wait(callWithin)
		if err != nil {
			return err
		}
		if status.StopSignal() == syscallStop {
			return nil
		}
		if err := c.note(status); err != nil {
			return err
		}
	}
	return errors.New("it is stopped again and again")
}

// note keeps a signal for the end.
func (c *caller) note(status unix.WaitStatus) error {
	switch {
	case int(status)>>16 == eventStop:
	case status.StopSignal() == unix.SIGSTOP:
		c.stops = true
	default:
		return fmt.Errorf("it stopped by %v in a system call", unix.SignalName(status.StopSignal()))
	}
	return nil
}

// end gives the thread its registers and signals back, where the kernel decides on the restart of the system call that it was stopped in: at a
// stop of its own, not at the exit of another call.
func (c *caller) end() error {
	var failed error
	if c.changed {
		failed = c.stopAgain()
	}
	if err := unix.PtraceSetRegs(c.t.tid, &c.t.regs); err != nil && failed == nil {
		failed = errEnded
	}
	if err := ptraceInto(ptraceSetSigmask, c.t.tid, 8, unsafePointer(&c.mask)); err != nil && failed == nil {
		failed = errEnded
	}
	return failed
}

func (c *caller) stopAgain() error {
	if err := ptrace(ptraceInterrupt, c.t.tid, 0, 0); err != nil {
		return errEnded
	}
	for {
		if err := ptrace(unix.PTRACE_CONT, c.t.tid, 0, 0); err != nil {
			return errEnded
		}
		status, err := c.t.wait(callWithin)
		if err != nil {
			return err
		}
		if int(status)>>16 == eventStop {
			return nil
		}
		if err := c.note(status); err != nil {
			return err
		}
		if err := ptrace(ptraceInterrupt, c.t.tid, 0, 0); err != nil {
			return errEnded
		}
	}
}

// usable returns a thread that can execute system calls; nil: there is none now.
func (s *stopped) usable() *tracee {
	for _, t := range s.threads {
		if s.isUsable(t) {
			return t
		}
	}
	return nil
}

// again lets the process run for a moment.
func (s *stopped) again() error {
	s.resume()
	time.Sleep(time.Millisecond)
	fresh, err := stop(s.pid)
	if err == nil {
		s.threads = fresh.threads
	}
	return err
}
