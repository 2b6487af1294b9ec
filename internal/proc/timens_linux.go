package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// clockOffsets are by how many ns the clocks of this process's time namespace (time_namespaces(7)) are ahead of the
// kernel's own, which BPF programs and perf events use.
type clockOffsets struct{ monotonic, boottime int64 }

// ownOffsets is constant: setns(2) refuses another time namespace to a process with several threads.
var ownOffsets = sync.OnceValues(readOffsets)

// initTimeNamespace has a fixed number, PROC_TIME_INIT_INO in include/linux/proc_ns.h.
const initTimeNamespace = "time:[4026531834]"

// CheckClocks returns why this process cannot read the kernel's own clocks; nil: it can.
func CheckClocks() error {
	_, err := ownOffsets()
	return err
}

// readOffsets returns none where the kernel has no time namespaces. /proc/self/timens_offsets has the offsets of the
// namespace of children, which is another one only between unshare(2) and an exec, on kernels before 6.3.
func readOffsets() (clockOffsets, error) {
	own, err := os.Readlink("/proc/self/ns/time")
	if errors.Is(err, fs.ErrNotExist) || err == nil && own == initTimeNamespace {
		return clockOffsets{}, nil
	}
	if err != nil {
		return clockOffsets{}, fmt.Errorf("read the time namespace: %w", err)
	}
	if children, err := os.Readlink("/proc/self/ns/time_for_children"); err != nil || children != own {
		return clockOffsets{}, errors.New("read the offsets of the time namespace: this kernel shows only those of child processes, " +
			"which are in another one: start the recorder as a child (unshare --fork)")
	}
	text, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return clockOffsets{}, fmt.Errorf("read the offsets of the time namespace: %w", err)
	}
	return parseOffsets(string(text))
}

// parseOffsets reads lines of CLOCK SECONDS NANOSECONDS.
func parseOffsets(text string) (o clockOffsets, err error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return clockOffsets{}, fmt.Errorf("read the offsets of the time namespace: %q is not an offset", line)
		}
		seconds, err := strconv.ParseInt(words[1], 10, 34) // the kernel allows 146 years
		if err != nil {
			return clockOffsets{}, fmt.Errorf("read the offsets of the time namespace: %w", err)
		}
		ns, err := strconv.ParseInt(words[2], 10, 31)
		if err != nil {
			return clockOffsets{}, fmt.Errorf("read the offsets of the time namespace: %w", err)
		}
		switch words[0] {
		case "monotonic":
			o.monotonic = seconds*1e9 + ns
		case "boottime":
			o.boottime = seconds*1e9 + ns
		}
	}
	return o, nil
}
