package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what this process has cost so far, all threads together.
type Usage struct {
	User, System time.Duration
	PeakRSS      uint64 // bytes
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// ReadUsage reads what this process has used. The peak is VmHWM and not getrusage's ru_maxrss, which a
// program inherits from the one that exec'd it.
func ReadUsage() (Usage, error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return Usage{}, fmt.Errorf("read the CPU time used: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Usage{}, fmt.Errorf("read the peak memory: %w", err)
	}
	return Usage{
		User:    time.Duration(ru.Utime.Nano()),
		System:  time.Duration(ru.Stime.Nano()),
		PeakRSS: statusKB(string(status), "VmHWM") << 10,
	}, nil
}

// statusKB is a field of /proc/PID/status in KiB; 0 if it is not there.
func statusKB(status, name string) uint64 {
	kb, _ := strconv.ParseUint(strings.TrimSuffix(statusField(status, name), " kB"), 10, 64)
	return kb
}

func statusField(status, name string) string {
	for line := range strings.Lines(status) {
		if key, value, _ := strings.Cut(line, ":"); key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
