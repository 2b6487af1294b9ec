package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity is a process's in /proc/PID/status (proc_pid_status(5)).
type Identity struct {
	PID uint32 // in its own PID namespace, the innermost
	UID uint32 // the effective user, by the id that this process sees
}

// ReadIdentity reads that of a process of any user.
func ReadIdentity(pid uint32) (Identity, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Identity{}, err
	}
	return parseIdentity(string(status), pid)
}

func parseIdentity(status string, pid uint32) (Identity, error) {
	uids := strings.Fields(statusField(status, "Uid"))
	if len(uids) < 2 {
		return Identity{}, fmt.Errorf("the status of process %d names no user", pid)
	}
	uid, err := strconv.ParseUint(uids[1], 10, 32)
	if err != nil {
		return Identity{}, fmt.Errorf("read the user of process %d: %w", pid, err)
	}
	id := Identity{PID: pid, UID: uint32(uid)}
	// Kernels without PID namespaces have no such line.
	if pids := strings.Fields(statusField(status, "NSpid")); len(pids) > 0 {
		own, err := strconv.ParseUint(pids[len(pids)-1], 10, 32)
		if err != nil {
			return Identity{}, fmt.Errorf("read the id that process %d has for itself: %w", pid, err)
		}
		id.PID = uint32(own)
	}
	return id, nil
}
