package symbolize

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/symbol"
)

// mapSlack is by how much the mtime of a file and the start time of a process may be too early.
const mapSlack = 10e6

// openPerfMap opens the map file of generated code if it is that of the recorded program: the process is still alive, or the
// file was last written after the code was mapped and before until, when the recording ended; zero: not known.
func openPerfMap(m *format.Module, until time.Time) (*os.File, error) {
	f, err := symbol.OpenUntrusted(string(m.Path))
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
	_, err := fmt.Sscanf(string(m.Path), "/tmp/perf-%d.map", &pid)
	if err != nil || string(m.Path) != fmt.Sprintf("/tmp/perf-%d.map", pid) || m.Generation == 0 {
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
