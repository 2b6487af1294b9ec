package capture

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"wprof/internal/cli"
	"wprof/internal/filter"
)

// processes are the processes of --until-exit: the recording ends when they have ended.
type processes struct {
	pids []int32
	fds  []unix.PollFd // of pidfd_open(2), so that a later process with the same id does not count
}

// openProcesses returns nil without --until-exit.
func openProcesses(inv *cli.Invocation) (*processes, error) {
	if !inv.Bool("until-exit") {
		return nil, nil
	}
	o, err := filter.OptionsFrom(inv)
	if err != nil {
		return nil, err
	}
	p := &processes{pids: o.Threads.PIDs}
	if len(p.pids) == 0 {
		return nil, cli.Usagef("--until-exit waits for the end of processes; name them with --pid")
	}
	for _, pid := range p.pids {
		fd, err := unix.PidfdOpen(int(pid), 0)
		if err != nil {
			return nil, fmt.Errorf("record process %d: %w", pid, pidProblem(pid, err))
		}
		p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if p.poll(0); len(p.fds) == 0 {
		return nil, fmt.Errorf("record process %d: it has ended already", p.pids[len(p.pids)-1])
	}
	return p, nil
}

func pidProblem(pid int32, err error) error {
	if errors.Is(err, unix.ESRCH) {
		return errors.New("there is no such process; ps -e lists them")
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
		_ = unix.Close(int(f.Fd))
		return true
	})
}

// wait returns true when all processes have ended, false when the recording has.
func (p *processes) wait(finished <-chan struct{}) bool {
	const checkMs = 500 // that the recording has not finished
	for len(p.fds) > 0 {
		select {
		case <-finished:
			return false
		default:
			p.poll(checkMs)
		}
	}
	return true
}
