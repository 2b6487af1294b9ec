package symbolize

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"wprof/format"
	"wprof/internal/proc"
)

// mapSlack is how much earlier than it was a file may seem to be written, and a process to begin.
const mapSlack = 10e6

// openPerfMap opens the map file of generated code if it is still that of the program that was recorded: the process lives
// on, or it was written last after the code had been mapped and before until, when the recording ended. The zero time is
// not known.
func openPerfMap(m *format.Module, until time.Time) (*os.File, error) {
	f, err := openRegular(string(m.Path))
	if err != nil {
		return nil, err
	}
	if err := checkPerfMap(f, m, until); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkPerfMap(f *os.File, m *format.Module, until time.Time) error {
	var pid uint32
	if _, err := fmt.Sscanf(string(m.Path), "/tmp/perf-%d.map", &pid); err != nil || m.Generation == 0 {
		return errOtherProgram
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	since, written := int64(m.Generation), proc.MonotonicOf(info.ModTime().UnixNano())
	started, err := proc.Started(pid)
	if err != nil || started.Monotonic > since {
		if until.IsZero() || info.ModTime().After(until) || written+mapSlack < since || err == nil && written+mapSlack >= started.Monotonic {
			return errOtherProgram
		}
		return nil
	}
	process, err := proc.ReadIdentity(pid)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 0 && owner.Uid != process.UID || written+mapSlack < started.Monotonic {
		return errOtherProgram
	}
	return nil
}
