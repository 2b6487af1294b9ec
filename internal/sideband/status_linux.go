package sideband

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// identity is what /proc/PID/status says of a process (proc_pid_status(5)).
type identity struct {
	pid uint32 // in its own PID namespace, the innermost of the line NSpid
	uid uint32 // the effective user, by the id that this process sees
}

func identityOf(pid uint32) (identity, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return identity{}, err
	}
	own, ok := statusNumber(text, "NSpid:", -1)
	if !ok {
		own = pid
	}
	uid, ok := statusNumber(text, "Uid:", 1)
	if !ok {
		return identity{}, fmt.Errorf("the status of process %d names no user", pid)
	}
	return identity{pid: own, uid: uid}, nil
}

// statusNumber is the word of a line, counted from 0, or from the end if it is negative; false for a text without it.
func statusNumber(status []byte, name string, word int) (uint32, bool) {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		words := bytes.Fields(rest)
		if word < 0 {
			word += len(words)
		}
		if word < 0 || word >= len(words) {
			break
		}
		if n, err := strconv.ParseUint(string(words[word]), 10, 32); err == nil {
			return uint32(n), true
		}
	}
	return 0, false
}
