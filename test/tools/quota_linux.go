package tools

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Quota is a cgroup with a CPU quota, of version 2 or 1, whichever has the controller here.
type Quota struct {
	t      testing.TB
	Folder string
	Path   string // below the root of its hierarchy
	isV2   bool
}

// NewQuota makes a cgroup that may use so much of one CPU in each period of 100 ms, but less than one whole, and is preferred by
// the scheduler while it may. It is removed when the test ends; what runs in it has to end before.
func NewQuota(t testing.TB, percent int) *Quota {
	t.Helper()
	NeedPrivilege(t)
	q := &Quota{t: t, Path: "/wprof-quota-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	root := t.TempDir()
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	if !q.mountV2(root) && unix.Mount("none", root, "cgroup", 0, "cpu") != nil && unix.Mount("none", root, "cgroup", 0, "cpu,cpuacct") != nil {
		t.Skip("no hierarchy of cgroups has the controller cpu here")
	}
	q.Folder = filepath.Join(root, q.Path)
	if err := os.Mkdir(q.Folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.remove)
	if q.isV2 {
		q.write("cpu.weight", "10000")
		q.write("cpu.max", strconv.Itoa(1000*percent)+" 100000")
		return q
	}
	q.write("cpu.shares", "262144")
	q.write("cpu.cfs_period_us", "100000")
	q.write("cpu.cfs_quota_us", strconv.Itoa(1000*percent))
	return q
}

// mountV2 mounts the unified hierarchy if it has the controller.
func (q *Quota) mountV2(root string) bool {
	if unix.Mount("none", root, "cgroup2", 0, "") != nil {
		return false
	}
	if has(filepath.Join(root, "cgroup.controllers"), "cpu") {
		control := filepath.Join(root, "cgroup.subtree_control")
		if !has(control, "cpu") && os.WriteFile(control, []byte("+cpu"), 0) == nil {
			q.t.Cleanup(func() { _ = os.WriteFile(control, []byte("-cpu"), 0) })
		}
		q.isV2 = has(control, "cpu")
	}
	if !q.isV2 {
		_ = unix.Unmount(root, unix.MNT_DETACH)
	}
	return q.isV2
}

func has(file, word string) bool {
	text, err := os.ReadFile(file)
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+word+" ")
}

func (q *Quota) write(name, value string) {
	q.t.Helper()
	if err := os.WriteFile(filepath.Join(q.Folder, name), []byte(value), 0); err != nil {
		q.t.Fatal(err)
	}
}

func (q *Quota) remove() {
	for range 500 {
		if err := os.Remove(q.Folder); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	q.t.Errorf("cgroup %s is left", q.Path)
}

// Procs is the file that takes the processes of the cgroup.
func (q *Quota) Procs() string { return filepath.Join(q.Folder, "cgroup.procs") }

// Throttled is what the kernel counts: for how many ns the cgroup could run and had no quota, on each CPU by itself, and in how many periods.
func (q *Quota) Throttled() (ns, periods int64) {
	q.t.Helper()
	text, err := os.ReadFile(filepath.Join(q.Folder, "cpu.stat"))
	if err != nil {
		q.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "throttled_usec":
			ns = 1000 * n
		case "throttled_time":
			ns = n
		case "nr_throttled":
			periods = n
		}
	}
	return ns, periods
}
