package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Thread is a thread as in proc(5).
type Thread struct {
	TID, PID, PPID int
	Comm           string
	State          byte   // as ps(1) has it
	Flags          uint32 // task_struct.flags
	Prio           int    // kernel priority: 0-99 real time, 100-139 normal
	CPU            int
	Start          int64 // CLOCK_MONOTONIC ns, to 10 ms: proc(5) counts ticks
}

// PIDs are the process ids below a proc file system.
func PIDs(proc string) ([]int, error) {
	names, err := readNames(proc)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	return numbers(names), nil
}

// Threads are the threads of a process. Those that end meanwhile are left out.
func Threads(proc string, pid int) []Thread {
	dir := filepath.Join(proc, strconv.Itoa(pid), "task")
	names, err := readNames(dir)
	if err != nil {
		return nil
	}
	var all []Thread
	for _, tid := range numbers(names) {
		stat, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(tid), "stat"))
		if err != nil {
			continue
		}
		if t, ok := parseStat(stat, bootAhead()); ok {
			t.PID = pid
			all = append(all, t)
		}
	}
	return all
}

// ReadThread returns a thread, which may be one that has ended and waits to be reaped.
func ReadThread(tid uint32) (*Thread, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return nil, err
	}
	t, ok := parseStat(stat, bootAhead())
	if !ok {
		return nil, fmt.Errorf("read /proc/%d/stat: it is not in the format of proc(5)", tid)
	}
	return &t, nil
}

// HasEnded reports whether the thread has ended and waits to be reaped.
func (t *Thread) HasEnded() bool { return t.State == 'Z' || t.State == 'X' }

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func numbers(names []string) []int {
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// tick is the unit of times in proc(5), USER_HZ; 100 on x86-64 and arm64.
const tick = 10_000_000

// parseStat reads /proc/PID/task/TID/stat. The name stands in parentheses and may hold any byte, so the fields are
// counted from the last one. ahead is CLOCK_BOOTTIME less CLOCK_MONOTONIC.
func parseStat(stat []byte, ahead int64) (Thread, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return Thread{}, false
	}
	f := strings.Fields(string(stat[end+1:]))
	const first = 3 // number of the first field behind the name in proc(5)
	if len(f) <= 39-first || len(f[0]) != 1 {
		return Thread{}, false
	}
	t := Thread{Comm: string(stat[open+1 : end]), State: f[0][0]}
	var start int64
	var prio int
	var flags int64
	for _, field := range []struct {
		number int
		to     func(int64)
	}{
		{4, func(v int64) { t.PPID = int(v) }}, {9, func(v int64) { flags = v }}, {18, func(v int64) { prio = int(v) }},
		{22, func(v int64) { start = v }}, {39, func(v int64) { t.CPU = int(v) }},
	} {
		v, err := strconv.ParseInt(f[field.number-first], 10, 64)
		if err != nil {
			return Thread{}, false
		}
		field.to(v)
	}
	tid, err := strconv.Atoi(strings.TrimSpace(string(stat[:open])))
	if err != nil {
		return Thread{}, false
	}
	t.TID, t.Flags, t.Prio, t.Start = tid, uint32(flags), prio+100, start*tick-ahead
	return t, true
}

// bootAhead is how far CLOCK_BOOTTIME, as /proc shows it in this process's time namespace, is ahead of [Monotonic].
func bootAhead() int64 {
	var boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0
	}
	return boot.Nano() - Monotonic()
}

// InitPIDNamespace reports whether process ids here are the kernel's own. The first namespace has a fixed number,
// PROC_PID_INIT_INO in include/linux/proc_ns.h.
func InitPIDNamespace() bool {
	link, err := os.Readlink("/proc/self/ns/pid")
	return err != nil || link == "pid:[4026531836]"
}

// InitUserNamespace reports whether privilege here is that of the machine. The first namespace has a fixed number,
// PROC_USER_INIT_INO in include/linux/proc_ns.h.
func InitUserNamespace() bool {
	link, err := os.Readlink("/proc/self/ns/user")
	return err != nil || link == "user:[4026531837]"
}
