package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// entryPoll is the interval at which the command is checked for a stop.
const entryPoll = 100 * time.Microsecond

// errNotExecuted: the command has ended without its program; its exit status has the reason.
var errNotExecuted = errors.New("the command was not executed")

// watchCommand lets the command run to the entry point of its program, where its libraries are mapped and nothing of it has been executed, sets
// the breakpoints there, and lets it go on. It traces the command for that time, by one thread.
func (r *recorder) watchCommand() error {
	s := stopped{pid: r.command.PID(), isOver: r.isSignalled}
	defer r.command.untraced()
	if err := s.seize(); err != nil {
		return fmt.Errorf("stop the command at its entry to set breakpoints (%w): start it, and name it by -p", err)
	}
	if err := r.command.Release(); err != nil {
		return err
	}
	err := s.toEntry()
	if errors.Is(err, errNotExecuted) {
		return nil
	}
	if err == nil {
		err = r.tracer.WatchCommand(s.pid, func(site *probe.Site) (uint64, error) { return addressIn(s.pid, site) })
	}
	if err != nil {
		_ = unix.Kill(s.pid, unix.SIGKILL)
		s.detach()
		return fmt.Errorf("set breakpoints in the command: %w", err)
	}
	s.detach()
	return nil
}

// addressIn returns where a symbol is in a process.
func addressIn(pid int, site *probe.Site) (uint64, error) {
	f, err := usercode.Open(site.Path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	bias, err := biasOf(f, pid, site.Path)
	if err != nil {
		return 0, fmt.Errorf("find %s of %s: %w: what is loaded later, or started by the command, can be watched in the process, with -p", site.Name, site.Path, err)
	}
	return site.Address + bias, nil
}

// stopped is a process that is traced until it is at the entry point of its program.
type stopped struct {
	pid    int
	isOver func() bool
}

func (s *stopped) seize() error {
	const options = unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL // its entry has a trap instruction
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.pid), 0, options, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (s *stopped) detach() { _ = unix.PtraceDetach(s.pid) }

// toEntry returns when the process is at its entry point.
func (s *stopped) toEntry() error {
	if err := s.await(func(status unix.WaitStatus) bool {
		return status.StopSignal() == unix.SIGTRAP && status.TrapCause() == unix.PTRACE_EVENT_EXEC
	}); err != nil {
		return err
	}
	entry, err := entryOf(s.pid)
	if err != nil {
		return err
	}
	code := make([]byte, len(trapInstruction))
	if _, err := unix.PtracePeekText(s.pid, entry, code); err != nil {
		return fmt.Errorf("read the command's entry: %w", err)
	}
	if _, err := unix.PtracePokeText(s.pid, entry, []byte(trapInstruction)); err != nil {
		return fmt.Errorf("set a stop at the command's entry: %w", err)
	}
	if err := unix.PtraceCont(s.pid, 0); err != nil {
		return err
	}
	if err := s.await(func(status unix.WaitStatus) bool {
		var regs unix.PtraceRegs
		if status.StopSignal() != unix.SIGTRAP || unix.PtraceGetRegs(s.pid, &regs) != nil {
			return false
		}
		return regs.PC() == uint64(entry)+trapMoves
	}); err != nil {
		return err
	}
	if _, err := unix.PtracePokeText(s.pid, entry, code); err != nil {
		return fmt.Errorf("restore the command's entry: %w", err)
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(s.pid, &regs); err != nil {
		return err
	}
	regs.SetPC(uint64(entry))
	return unix.PtraceSetRegs(s.pid, &regs)
}

// await lets the process go on, with the signals that it gets, up to a certain stop.
func (s *stopped) await(isReached func(unix.WaitStatus) bool) error {
	for {
		status, err := s.next()
		if err != nil {
			return err
		}
		if isReached(status) {
			return nil
		}
		signal := 0
		if status.TrapCause() <= 0 && status.StopSignal() != unix.SIGTRAP {
			signal = int(status.StopSignal())
		}
		if err := unix.PtraceCont(s.pid, signal); err != nil {
			return err
		}
	}
}

// next waits for the next stop. It does not reap a process that has ended: [command.wait] does.
func (s *stopped) next() (status unix.WaitStatus, err error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, s.pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG|unix.WALL, nil)
		const exited, dumped = 1, 3 // CLD_EXITED to CLD_DUMPED
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return 0, fmt.Errorf("wait for the command: %w", err)
		case info.Code >= exited && info.Code <= dumped:
			return 0, errNotExecuted
		case info.Code != 0:
			_, err = unix.Wait4(s.pid, &status, unix.WALL, nil)
			return status, err
		case s.isOver():
			return 0, errors.New("interrupted")
		}
		time.Sleep(entryPoll)
	}
}

// entryOf returns the address at which a program begins.
func entryOf(pid int) (uintptr, error) {
	const atEntry = 9 // AT_ENTRY
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "auxv"))
	for at := 0; at+16 <= len(text); at += 16 {
		if binary.LittleEndian.Uint64(text[at:]) == atEntry {
			return uintptr(binary.LittleEndian.Uint64(text[at+8:])), nil
		}
	}
	return 0, errors.Join(errors.New("the command's entry is not known"), err)
}
