package sideband

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// ownPID is the process id that a process has in its own PID namespace, the innermost in the line NSpid of its status.
func ownPID(pid uint32) uint32 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return pid
	}
	if own, ok := innermostPID(text); ok {
		return own
	}
	return pid
}

// innermostPID is false for a text without the line.
func innermostPID(status []byte) (pid uint32, ok bool) {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte("NSpid:"))
		if !ok {
			continue
		}
		words := bytes.Fields(rest)
		if len(words) == 0 {
			break
		}
		if own, err := strconv.ParseUint(string(words[len(words)-1]), 10, 32); err == nil {
			return uint32(own), true
		}
	}
	return 0, false
}
