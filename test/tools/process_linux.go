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

// WatchPeak polls the peak resident memory of a process (VmHWM) until it has ended, and then returns it, in bytes.
// ru_maxrss would be that of the test if it is more, because a program inherits it from the process that starts it.
func WatchPeak(pid int) func() int64 {
	peak := make(chan int64, 1)
	go func() {
		most := int64(0)
		for {
			now, alive := peakBytes(pid)
			if !alive {
				break
			}
			most = max(most, now)
			time.Sleep(3 * time.Millisecond)
		}
		peak <- most
	}()
	return func() int64 { return <-peak }
}

// peakBytes is false for a process that has ended, waited for or not.
func peakBytes(pid int) (n int64, alive bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, alive := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(after, &n)
	return n << 10, alive
}
