//go:build linux

package bpf

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// maxFollowedRead bounds the followed processes among which MayRecord searches for one.
const maxFollowedRead = 1024

// MayRecord returns false for a process of which the filter currently records nothing. What cannot be determined is
// treated as recorded: threads' names, and processes that have ended, unless their ids are excluded. It needs the host's
// process ids where the filter has ids.
func (t *Tracer) MayRecord(pid uint32) bool {
	f := &t.options.Filter
	if slices.Contains(f.NoPIDs, int32(pid)) || f.NoSelf && int(pid) == t.options.SelfPID {
		return false
	}
	children := f.children(t.options.Follow)
	if len(f.PIDs) > 0 || f.Idle || f.Kthread || children == childrenMeetProcess {
		if !slices.Contains(f.PIDs, int32(pid)) && (children != childrenMeetProcess || !t.mayBeFollowed(pid)) {
			return false
		}
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return true
	}
	text := strings.TrimSuffix(string(name), "\n")
	if matchesAny(f.NoNames, text) || len(f.TIDs) > 0 && !hasThread(pid, f.TIDs) {
		return false
	}
	return len(f.Names) == 0 || matchesAny(f.Names, text) || children == childrenMeetName && t.mayBeFollowed(pid)
}

// OnlyProcesses returns the processes of -p, or nil if stacks of others may be recorded too: of their children, or of wakers in any process.
func (t *Tracer) OnlyProcesses() (pids []uint32) {
	f := &t.options.Filter
	if f.children(t.options.Follow) != childrenNone || t.options.Waker.Kernel || t.options.Waker.User {
		return nil
	}
	for _, pid := range f.PIDs {
		pids = append(pids, uint32(pid))
	}
	return pids
}

// hasThread also returns true for a process that has ended.
func hasThread(pid uint32, tids []int32) bool {
	for _, tid := range tids {
		if exists(fmt.Sprintf("/proc/%d/task/%d", pid, tid)) {
			return true
		}
	}
	return !exists(fmt.Sprintf("/proc/%d", pid))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mayBeFollowed also returns true for a process that has ended and is no longer followed. The id is enough to identify it.
func (t *Tracer) mayBeFollowed(pid uint32) bool {
	var key processKey
	var one uint8
	entries := t.collection.Maps["followed"].Iterate()
	for n := 0; entries.Next(&key, &one); n++ {
		if key.PID == uint64(pid) || n >= maxFollowedRead {
			return true
		}
	}
	return entries.Err() != nil || !exists(fmt.Sprintf("/proc/%d", pid))
}
