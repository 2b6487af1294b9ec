//go:build linux

package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/fuse"
	"wprof/test/tools"
)

// trouble is a program of testdata/sources.c with what the report says of it.
type trouble struct {
	name     string
	args     []string
	features string // -f
	finding  string // the kind that the report has; "": none of those below
	summary  string // what it says
	system   bool   // the whole system is recorded: kernel threads do the work
}

// sourceFindings are those that only a healthy program must not get.
func sourceFindings() []string {
	return []string{"interrupt-storm", "packet-drops", "slow-disk", "major-faults", "cgroup-throttled", "oom-kill"}
}

func (c *trouble) check(t *testing.T) {
	t.Helper()
	tools.NeedPrivilege(t)
	program := tools.StartWorkload(t, exec.Command(tools.Path("sources"), c.args...))
	program.Until("ready")
	time.Sleep(100 * time.Millisecond)
	file := filepath.Join(t.TempDir(), "sources.wprof")
	args := []string{"-f", c.features}
	if !c.system {
		args = append(args, "-p", program.PIDText())
	}
	tools.Record(t, file, args, func() {
		defer tools.Prefer(t, program.PID())()
		time.Sleep(1500 * time.Millisecond)
	})
	c.compare(t, file)
}

// compare compares what the report of a capture finds.
func (c *trouble) compare(t *testing.T, file string) {
	t.Helper()
	found := false
	var all []string
	for _, f := range report(t, file).Findings {
		all = append(all, f.Kind+": "+f.Summary)
		found = found || f.Kind == c.finding && regexp.MustCompile(c.summary).MatchString(f.Summary)
		for _, kind := range sourceFindings() {
			if kind == f.Kind && kind != c.finding {
				t.Errorf("%s is not one of %s", kind, c.name)
			}
		}
	}
	if text := strings.Join(all, "\n"); !found && c.finding != "" {
		t.Errorf("no finding %s with %q:\n%s", c.finding, c.summary, text)
	} else {
		t.Log(text)
	}
}

func TestThrottledCgroup(t *testing.T) {
	quota := tools.NewQuota(t, 30)
	c := trouble{name: "quota", args: []string{"quota", quota.Procs()}, features: "sched", finding: "cgroup-throttled",
		summary: `^threads of cgroup .*` + quota.Path + ` were throttled for .*: [4-9]\d% of the time in which they could run.*sources quota`}
	c.check(t)
}

// A program wants more memory than its cgroup may have; another one beside it has enough.
func TestOomKill(t *testing.T) {
	limit := tools.NewMemoryLimit(t, 20<<20)
	for bytes, isKilled := range map[string]bool{"80M": true, "1M": false} {
		program := exec.Command("sh", "-c", limit.Join()+"exec dd if=/dev/zero of=/dev/null count=1 bs="+bytes)
		file := tools.Record(t, filepath.Join(t.TempDir(), "memory.wprof"), []string{"-f", "memory"}, func() { _ = program.Run() })
		if status, _ := program.ProcessState.Sys().(syscall.WaitStatus); isKilled != (status.Signaled() && status.Signal() == unix.SIGKILL) {
			t.Fatalf("dd with %s of memory: %v", bytes, program.ProcessState)
		}
		pid, found := strconv.Itoa(program.Process.Pid), false
		want := regexp.MustCompile(`^dd .*\(pid ` + pid + `\) was killed for lack of memory .*; in cgroup .*` + limit.Path + `; the page was for dd \(` + pid + `\)$`)
		for _, f := range report(t, "-p", pid, file).Findings { // other tests may have processes killed meanwhile
			if f.Kind != "oom-kill" {
				continue
			}
			if found = want.MatchString(f.Summary); !found {
				t.Errorf("dd with %s of memory: %s", bytes, f.Summary)
			}
		}
		if found != isKilled {
			t.Errorf("dd with %s of memory: found %v, want %v", bytes, found, isKilled)
		}
	}
}

func TestPacketDrops(t *testing.T) {
	for _, c := range []trouble{
		{name: "flood", args: []string{"flood"}, features: "net", finding: "packet-drops", summary: `RCVBUF.* 100%.*; in .*udp.*; to UDP 127\.0\.0\.1:\d+ 100%.*sources flood`},
		{name: "datagrams", args: []string{"datagrams"}, features: "net"},
	} {
		t.Run(c.name, c.check)
	}
}

// Packets that are there when their sockets are closed are freed by interrupts later; no receiver was too slow for them.
func TestUnreadPackets(t *testing.T) {
	tools.NeedPrivilege(t)
	const sent = 400
	file := tools.Record(t, filepath.Join(t.TempDir(), "unread.wprof"), []string{"-f", "net"}, func() {
		tools.StartWorkload(t, exec.Command(tools.Path("sources"), "unread")).Until("ready")
		time.Sleep(300 * time.Millisecond)
	})
	freed := bytes.Count(tools.Run(t, "wprof-json", file), []byte(`"function":"udp_destruct_`))
	if freed < sent {
		t.Errorf("%d packets of %d were freed with their sockets", freed, sent)
	}
	for _, f := range report(t, file).Findings {
		if f.Kind == "packet-drops" && strings.Contains(f.Summary, "udp_destruct_") {
			t.Errorf("packets that were not read count as dropped: %s", f.Summary)
		}
	}
}

func TestInterruptStorm(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("it needs two CPUs")
	}
	tools.NeedPrivilege(t)
	program := tools.StartWorkload(t, exec.Command(tools.Path("sources"), "storm"))
	program.Until("ready")
	file := tools.Record(t, filepath.Join(t.TempDir(), "storm.wprof"), []string{"-f", "irq", "-p", program.PIDText()}, func() {
		defer tools.Prefer(t, program.PID())()
		program.Send("\n")
		time.Sleep(1500 * time.Millisecond)
		program.Send("\n")
	})
	c := trouble{name: "storm", finding: "interrupt-storm", summary: `sources storm .* had a CPU.*NET_RX`}
	c.compare(t, file)
}

func TestMajorFaults(t *testing.T) {
	device := slowDisk(t, 5*time.Millisecond)
	c := trouble{name: "map", args: []string{"map", device}, features: "fault", finding: "major-faults", summary: `major page faults a second: ` + filepath.Base(device) + ` (9[0-9]|100)%`}
	c.check(t)
}

// slowDisk is a block device that takes a time for each read: a loop device over a file of a file system that the test serves.
func slowDisk(t *testing.T, takes time.Duration) string {
	t.Helper()
	const reads = 15 // FUSE_READ
	path, _ := fuse.Mount(t, make([]byte, 256<<20), func(r fuse.Request) bool {
		if r.Op == reads {
			time.Sleep(takes)
		}
		return false
	})
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no loop devices here: %v", err)
	}
	defer control.Close()
	backing, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) // not os.Open: the runtime would poll it, and hold up the server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(backing) }()
	for range 10 { // another program may take the same one
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			t.Skipf("no loop device is free: %v", err)
		}
		device, err := os.Open("/dev/loop" + strconv.Itoa(n))
		if err != nil {
			t.Skipf("a loop device: %v", err)
		}
		config := unix.LoopConfig{Fd: uint32(backing)}
		config.Info.Flags = unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR
		if err = unix.IoctlLoopConfigure(int(device.Fd()), &config); err == nil {
			t.Cleanup(func() { _ = device.Close() })
			return device.Name()
		}
		_ = device.Close()
	}
	t.Fatal("no loop device could be set up")
	return ""
}

func TestSlowDisk(t *testing.T) {
	device := slowDisk(t, 10*time.Millisecond)
	name := filepath.Base(device)
	for _, c := range []trouble{
		{name: "one reader", args: []string{"read", device, "1"}, features: "block", finding: "slow-disk", system: true,
			summary: `requests of ` + name + ` took \d+\.\d ms on average.*1\.0 requests at a time: the device itself is slow`},
		{name: "many readers", args: []string{"read", device, "16"}, features: "block", finding: "slow-disk", system: true,
			summary: `requests of ` + name + ` took \d+\.\d ms on average.* at a time: it completes one in \d+\.\d ms, and the others wait`},
	} {
		t.Run(c.name, c.check)
	}
	file := filepath.Join(tools.DiskFolder(t), "read.file")
	if err := os.WriteFile(file, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("a fast one", (&trouble{name: "a fast one", args: []string{"read", file, "1"}, features: "block", system: true}).check)
}
