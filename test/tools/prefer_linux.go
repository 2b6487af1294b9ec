package tools

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Prefer gives a process and its children, which have a session of their own, the CPU before other programs of the machine, until
// what it returns is called: other programs must not make a workload one that waits for a CPU. Only while a recorder records,
// because it needs a CPU to start and to end.
func Prefer(t testing.TB, pid int) (end func()) {
	t.Helper()
	set := func(nice int) {
		// In a kernel with autogroups a nice value counts only within the session's own group.
		_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/autogroup", []byte(strconv.Itoa(nice)), 0)
		if err := unix.Setpriority(unix.PRIO_PGRP, pid, nice); err != nil {
			t.Errorf("set the priority of process %d: %v", pid, err)
		}
	}
	set(-15)
	return func() { set(0) }
}
