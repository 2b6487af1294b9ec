package pytrace

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// beginWithin bounds the wait for the end of an interpreter's initialisation.
	beginWithin = time.Second
	beginPause  = 200 * time.Microsecond
	// maxBeginStops bounds the system calls at which a program is stopped that may be one of Python. A dynamic linker makes some hundreds, and the
	// initialisation as many.
	maxBeginStops = 4000
	// maxOtherStops is that while it has no interpreter.
	maxOtherStops = 1000
)

// hasBegun reports whether the interpreter has been initialised. It has then not executed anything of its own yet but what is frozen: site comes later.
func (t *target) hasBegun() bool {
	begun, err := readInt(t.pid, t.runtime+t.layout.begun)
	return err == nil && begun == 1
}

// attachSoon attaches to a process when it has an interpreter that has been initialised, for which it is not stopped.
func attachSoon(pid int, set *settings) error {
	deadline := time.Now().Add(beginWithin)
	t, err := examine(pid)
	for ; errors.Is(err, ErrNoPython) && time.Now().Before(deadline); t, err = examine(pid) {
		time.Sleep(beginPause)
	}
	if err != nil {
		return err
	}
	for !t.hasBegun() {
		if time.Now().After(deadline) {
			return errors.New("its interpreter has not begun")
		}
		if unix.Kill(pid, 0) != nil {
			return errEnded
		}
		time.Sleep(beginPause)
	}
	s, err := stop(pid)
	if err != nil {
		return err
	}
	return s.attach(t, callAgent(set), hand)
}

// begin follows a process from before it executes a program, by the system calls of its main thread.
type begin struct {
	pid      int
	t        *target
	executed bool
	// isStopped is false until the first stop.
	isStopped bool
	stops     int // since the last program was executed
}

// attachAtBegin attaches to the program that a process is about to execute, at the first system call at which its interpreter has been initialised.
// No code of the program's own has run then.
func attachAtBegin(pid int, set *settings) error {
	if err := ptrace(ptraceSeize, pid, 0, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACEEXEC); err != nil {
		return err
	}
	if err := send(messageSeized, "", nil); err != nil {
		return err
	}
	b := &begin{pid: pid}
	main := &tracee{tid: pid}
	s := &stopped{pid: pid, threads: map[int]*tracee{pid: main}}
	err := b.run(main)
	if errors.Is(err, errEnded) && b.t == nil {
		err = ErrNoPython
	}
	if err == nil {
		_, err = s.addThreads()
	}
	if err != nil {
		s.resume()
		return err
	}
	return s.attach(b.t, callAgent(set), hand)
}

// run lets the process go on until it is to be attached to.
func (b *begin) run(main *tracee) error {
	for signal := 0; ; {
		request := unix.PTRACE_CONT
		if b.executed {
			request = unix.PTRACE_SYSCALL
		}
		// At first it is not stopped: it waits to be released.
		if err := ptrace(request, b.pid, 0, uintptr(signal)); err != nil && b.isStopped {
			return errEnded
		}
		status, err := b.await()
		if err != nil {
			return err
		}
		b.isStopped = true
		signal = 0
		switch {
		case status.StopSignal() == unix.SIGTRAP && status.TrapCause() == unix.PTRACE_EVENT_EXEC:
			b.executed, b.stops, b.t = true, 0, nil
		case status.StopSignal() == syscallStop:
			if done, err := b.look(main); done || err != nil {
				return err
			}
		case int(status)>>16 == 0:
			signal = int(status.StopSignal())
		}
	}
}

func (b *begin) await() (status unix.WaitStatus, err error) {
	for {
		_, err := unix.Wait4(b.pid, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil || status.Exited() || status.Signaled():
			return status, errEnded
		default:
			return status, nil
		}
	}
}

// look is called at each entry and exit of a system call. It returns true when the process is stopped where it can be attached to.
func (b *begin) look(main *tracee) (bool, error) {
	if b.stops++; b.stops > maxBeginStops || b.t == nil && b.stops > maxOtherStops {
		return false, ErrNoPython
	}
	if err := main.read(); err != nil {
		return false, err
	}
	if int64(main.regs.Rax) == -int64(unix.ENOSYS) { // its entry
		return false, nil
	}
	mapped := main.regs.Orig_rax == unix.SYS_MMAP && main.regs.Rdx&unix.PROT_EXEC != 0
	if b.t == nil && (mapped || b.stops == 1) {
		t, err := examine(b.pid)
		if err != nil && !errors.Is(err, ErrNoPython) {
			return false, err
		}
		b.t = t
	}
	if b.t == nil || !b.t.hasBegun() {
		return false, nil
	}
	// On the way out of the system call, where the thread has its own registers.
	if err := ptrace(ptraceInterrupt, b.pid, 0, 0); err != nil {
		return false, errEnded
	}
	if err := ptrace(unix.PTRACE_CONT, b.pid, 0, 0); err != nil {
		return false, errEnded
	}
	return true, main.awaitStop()
}
