package tools

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Status is the exit status of a process that has ended; 128 and the signal if one ended it.
func Status(p *os.ProcessState) int {
	if s := p.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return p.ExitCode()
}

// watchPeak looks until ended at the most memory that a process was resident with (VmHWM). ru_maxrss would tell that of
// the test if it is more, because a program inherits it from the process that starts it.
func watchPeak(pid int, ended <-chan struct{}) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		most := int64(0)
		look := time.NewTicker(3 * time.Millisecond)
		defer look.Stop()
		for {
			most = max(most, peakBytes(pid))
			select {
			case <-ended:
				peak <- most
				return
			case <-look.C:
			}
		}
	}()
	return peak
}

func peakBytes(pid int) (n int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(after, &n)
	return n << 10
}
