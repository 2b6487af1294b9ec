package tools

import (
	"os"
	"syscall"
)

// Status is the exit status of a process that has ended; 128 and the signal if one ended it.
func Status(p *os.ProcessState) int {
	if s := p.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return p.ExitCode()
}

// PeakBytes is the most memory that a process that has ended was resident with (getrusage(2), ru_maxrss).
func PeakBytes(p *os.ProcessState) int64 {
	return p.SysUsage().(*syscall.Rusage).Maxrss << 10
}
