package capture

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/cli"
)

// processes are those that --pid names: the recording ends when they have ended.
type processes struct {
	fds  []unix.PollFd // of pidfd_open(2), so that a later process with the same id does not count
	last int32         // the id of one that ended last
	pids map[int32]int32
}

// openProcesses opens the processes that --pid names. Threads are refused, and processes that do not exist, unless others in the list do.
// nil: none are named.
func openProcesses(inv *cli.Invocation, pids []int32) (*processes, error) {
	if len(pids) == 0 {
		return nil, nil
	}
	p := &processes{pids: map[int32]int32{}}
	var absent []error
	for _, pid := range pids {
		switch fd, err := openProcess(pid); {
		case err == nil:
			p.fds = append(p.fds, unix.PollFd{Fd: fd, Events: unix.POLLIN})
			p.pids[fd] = pid
		case errors.Is(err, unix.ESRCH):
			absent = append(absent, err)
		default:
			return nil, err
		}
	}
	if len(p.fds) == 0 {
		return nil, absent[len(absent)-1]
	}
	for _, err := range absent {
		inv.Warnf("%v; the others are recorded", err)
	}
	return p, nil
}

// openProcess returns an error that wraps ESRCH if the process does not exist or has ended.
func openProcess(pid int32) (int32, error) {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return 0, fmt.Errorf("record process %d: %w", pid, pidProblem(pid, err))
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err == nil && n > 0 {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("record process %d: %w", pid, &absentProcess{"it has ended already"})
	}
	return int32(fd), nil
}

func isAlive(pid int32) bool {
	fd, err := openProcess(pid)
	if err == nil {
		_ = unix.Close(int(fd))
	}
	return err == nil
}

// absentProcess is ESRCH with a text of its own.
type absentProcess struct{ text string }

func (e *absentProcess) Error() string { return e.text }

func (e *absentProcess) Unwrap() error { return unix.ESRCH }

func pidProblem(pid int32, err error) error {
	if errors.Is(err, unix.ESRCH) {
		return &absentProcess{"there is no such process; ps -e lists them"}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nTgid:\t")
	if process, _, found := strings.Cut(rest, "\n"); found && process != strconv.Itoa(int(pid)) {
		return fmt.Errorf("it is a thread of process %s; record that", process)
	}
	return err
}

// poll waits until a process ends, and removes those that have ended.
func (p *processes) poll(timeoutMs int) {
	if n, err := unix.Poll(p.fds, timeoutMs); err != nil || n == 0 {
		return
	}
	p.fds = slices.DeleteFunc(p.fds, func(f unix.PollFd) bool {
		if f.Revents == 0 {
			return false
		}
		p.last = p.pids[f.Fd]
		_ = unix.Close(int(f.Fd))
		return true
	})
}

// checkEvery is how often it is checked that the recording has not finished.
const checkEvery = 500 * time.Millisecond

// wait returns true when all processes have ended, false when the recording has. descendants are those that are recorded with them;
// nil: none.
func (p *processes) wait(finished <-chan struct{}, descendants *bpf.Followed) bool {
	for {
		select {
		case <-finished:
			return false
		default:
		}
		switch {
		case len(p.fds) > 0:
			p.poll(int(checkEvery.Milliseconds()))
		case descendants.Any(isAlive):
			time.Sleep(checkEvery / 5)
		default:
			return true
		}
	}
}

// ended describes what has ended.
func (p *processes) ended(descendants *bpf.Followed) string {
	switch {
	case descendants != nil:
		return fmt.Sprintf("process %d and its descendants have ended", p.last)
	case len(p.pids) > 1:
		return fmt.Sprintf("the last of the recorded processes, %d, has ended", p.last)
	}
	return fmt.Sprintf("process %d has ended", p.last)
}
