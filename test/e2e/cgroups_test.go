//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// cgroups is a mount of the unified hierarchy for one test, which may make cgroups below base.
type cgroups struct {
	t    *testing.T
	root string // where it is mounted
	base string // path of a cgroup of the test's own
}

func newCgroups(t *testing.T) *cgroups {
	t.Helper()
	tools.NeedPrivilege(t)
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		t.Fatalf("mount the unified hierarchy of cgroups: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	c := &cgroups{t, root, ""}
	c.base = c.make("/wprof-test-" + strconv.Itoa(os.Getpid()) + "-" + t.Name()[4:])
	return c
}

// make makes a cgroup, which is removed when the test ends, with the processes in it.
func (c *cgroups) make(path string) string {
	c.t.Helper()
	if err := os.Mkdir(c.root+path, 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = os.WriteFile(c.root+path+"/cgroup.kill", []byte("1"), 0)
		for range 500 {
			if err := os.Remove(c.root + path); err == nil || os.IsNotExist(err) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		c.t.Errorf("cgroup %s is left", path)
	})
	return path
}

// command is a command that begins in a cgroup.
func (c *cgroups) command(cgroup string, words ...string) *exec.Cmd {
	c.t.Helper()
	dir, err := os.Open(c.root + cgroup)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = dir.Close() })
	cmd := exec.Command(words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	return cmd
}

func (c *cgroups) moveTo(cgroup string, pid int) {
	c.t.Helper()
	if err := os.WriteFile(c.root+cgroup+"/cgroup.procs", []byte(strconv.Itoa(pid)), 0); err != nil {
		c.t.Fatal(err)
	}
}

// ownCgroup is the path that a capture has of a thread whose /proc/PID/cgroup has these lines.
func ownCgroup(lines string) string {
	path, systemd, cpu := "/", "", ""
	for line := range strings.Lines(lines) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || fields[2] == "/" {
			continue
		}
		switch controllers := strings.Split(fields[1], ","); {
		case fields[0] == "0":
			return fields[2]
		case slices.Contains(controllers, "name=systemd"):
			systemd = fields[2]
		case slices.Contains(controllers, "cpu"):
			cpu = fields[2]
		}
	}
	for _, p := range []string{systemd, cpu} {
		if p != "" {
			return p
		}
	}
	return path
}

// cgroupsIn are the paths of each thread's cgroups in a capture, one after the other, as far as events have them.
func cgroupsIn(t *testing.T, capture string) map[int32][]string {
	t.Helper()
	all := map[int32][]string{}
	see := func(r *format.Reader, id format.TaskID) {
		d := r.Task(id)
		if d == nil || d.Cgroup == 0 {
			return
		}
		path := string(r.Text(d.Cgroup).Text)
		if seen := all[d.Tid]; len(seen) == 0 || seen[len(seen)-1] != path {
			all[d.Tid] = append(seen, path)
		}
	}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		see(r, e.Task)
		switch e.Kind {
		case format.KindSwitch:
			see(r, e.Switch().Next())
		case format.KindFork:
			see(r, e.Fork().Child())
		}
	})
	return all
}

// report lets a shell print its id and its cgroups, without another process.
const reportCgroups = `echo $$; while read -r line; do echo "$line"; done < /proc/self/cgroup`

// TestCgroupsAreThoseOfProc records processes that live for some milliseconds in cgroups that are removed at once, and compares with what
// the processes read in /proc: of those that begin in their cgroup, of those that move there, and of one beside them.
func TestCgroupsAreThoseOfProc(t *testing.T) {
	c := newCgroups(t)
	want := map[int32][]string{}
	run := func(cmd *exec.Cmd, before ...string) {
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(string(out), "\n")
		pid, err := strconv.Atoi(first)
		if err != nil {
			t.Fatal(err)
		}
		want[int32(pid)] = append(before, ownCgroup(rest))
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	file := tools.Record(t, filepath.Join(t.TempDir(), "c.wprof"), nil, func() {
		for i := range 10 {
			path := fmt.Sprintf("%s/short %d.scope", c.base, i)
			if err := os.Mkdir(c.root+path, 0o755); err != nil {
				t.Fatal(err)
			}
			run(c.command(path, "sh", "-c", reportCgroups))
			run(exec.Command("sh", "-c", `echo $$ > "$0/cgroup.procs"; `+reportCgroups, c.root+path), ownCgroup(string(own)))
			if err := os.Remove(c.root + path); err != nil {
				t.Fatal(err)
			}
		}
		run(exec.Command("sh", "-c", reportCgroups))
	})
	got := cgroupsIn(t, file)
	for pid, paths := range want {
		if !slices.Equal(got[pid], paths) {
			t.Errorf("process %d: cgroups %q, want %q", pid, got[pid], paths)
		}
	}
	if len(want) != 21 {
		t.Errorf("%d processes", len(want))
	}
}

// TestMovesBetweenCgroups records a process with two threads that is moved as a whole, deep down and back, while it runs.
func TestMovesBetweenCgroups(t *testing.T) {
	c := newCgroups(t)
	program := filepath.Join(t.TempDir(), "twothreads")
	compile(t, "-O1", "-pthread", "-o", program, "testdata/twothreads.c")
	deep := c.base
	var made []string
	for range 12 {
		deep += "/" + strings.Repeat("d", 100)
		made = append(made, deep)
	}
	for _, path := range made {
		c.make(path)
	}
	before := c.make(c.base + "/before")
	cmd := c.command(before, program)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	var tids []int32
	for len(tids) < 2 && lines.Scan() {
		tid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		tids = append(tids, int32(tid))
	}
	file := tools.Record(t, filepath.Join(t.TempDir(), "c.wprof"), nil, func() {
		for _, to := range []string{deep, before} {
			time.Sleep(200 * time.Millisecond)
			c.moveTo(to, cmd.Process.Pid)
		}
		time.Sleep(200 * time.Millisecond)
	})
	got := cgroupsIn(t, file)
	for _, tid := range tids {
		if want := []string{before, deep, before}; !slices.Equal(got[tid], want) {
			t.Errorf("thread %d: cgroups %.300q, want %.300q", tid, got[tid], want)
		}
	}
}

// seenIn are the processes with events of their own in a capture.
func seenIn(t *testing.T, capture string) map[int32]bool {
	t.Helper()
	seen := map[int32]bool{}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		if e.Flags&format.FlagSubject != 0 {
			seen[r.Task(e.Task).GetPid()] = true
		}
		if e.Kind == format.KindSwitch && e.Flags&format.FlagObject != 0 {
			seen[r.Task(e.Switch().Next()).GetPid()] = true
		}
	})
	return seen
}

// TestFiltersOnCgroups compares which processes a recording with a filter has, of those that live for milliseconds in cgroups that are
// made meanwhile and of one that was there before, with where they are; and wprof-filter with the recorder.
func TestFiltersOnCgroups(t *testing.T) {
	c := newCgroups(t)
	const id = "3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8"
	scope, other := c.base+"/docker-"+id+".scope", c.base+"/other.service"
	inner := scope + "/system.slice"
	old := c.make(c.base + "/old.service")
	sleeper := c.command(old, "sh", "-c", "while :; do sleep 0.01; done")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	record := func(t *testing.T, file string, flags []string) (capture string, in map[int32]string) {
		in = map[int32]string{int32(sleeper.Process.Pid): old}
		capture = tools.Record(t, file, flags, func() {
			for _, path := range []string{scope, inner, other} {
				if err := os.Mkdir(c.root+path, 0o755); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					cmd := c.command(path, "sh", "-c", ":")
					if err := cmd.Run(); err != nil {
						t.Fatal(err)
					}
					in[int32(cmd.Process.Pid)] = path
				}
			}
			for _, path := range []string{inner, scope, other} {
				if err := os.Remove(c.root + path); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(50 * time.Millisecond)
		})
		return capture, in
	}
	all, inAll := record(t, filepath.Join(t.TempDir(), "all.wprof"), nil)
	for _, f := range []struct {
		flags []string
		want  []string // the cgroups whose processes are kept
	}{
		{[]string{"--cgroup", c.base}, []string{old, scope, inner, other}},
		{[]string{"--cgroup", c.base + "/*.service"}, []string{old, other}},
		{[]string{"--container", id[:12]}, []string{scope, inner}},
		{[]string{"--container", id, "--no-cgroup", "system.slice"}, []string{scope}},
		{[]string{"--cgroup", c.base, "--no-container", id[:5]}, []string{old, other}},
		{[]string{"--cgroup", "*/docker-" + id + ".scope/sys*"}, []string{inner}},
		{[]string{"--cgroup", c.base, "--container", "4" + id[:8]}, nil},
		{[]string{"--cgroup", old, "--cgroup", other}, []string{old, other}},
	} {
		t.Run(strings.ReplaceAll(strings.Join(f.flags, " "), "/", "|"), func(t *testing.T) {
			check := func(what string, in map[int32]string, seen map[int32]bool) {
				for pid, path := range in {
					if want := slices.Contains(f.want, path); seen[pid] != want {
						t.Errorf("%s: process %d of %s: recorded %v, want %v", what, pid, path, seen[pid], want)
					}
				}
			}
			dir := t.TempDir()
			some, in := record(t, filepath.Join(dir, "some.wprof"), f.flags)
			check("wprof-record", in, seenIn(t, some))
			check("wprof-filter", inAll, seenIn(t, tools.Convert(t, filepath.Join(dir, "kept.wprof"), "wprof-filter", append(f.flags, all)...)))
		})
	}
}

// TestContainersAreShown records a process that moves to the cgroup of a container, as a manager's helper does, and calls exec there; and
// looks for it in what each tool shows.
func TestContainersAreShown(t *testing.T) {
	c := newCgroups(t)
	const id = "3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8"
	scope := c.make(c.base + "/docker-" + id + ".scope")
	var pid int
	file := tools.Record(t, filepath.Join(t.TempDir(), "c.wprof"), nil, func() {
		// The shell forks in the container too: that child calls no exec.
		cmd := exec.Command("sh", "-c", `echo $$ > "$0/cgroup.procs"; (:); exec nice sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'`, c.root+scope)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		pid = cmd.Process.Pid
	})

	trace := tools.Convert(t, filepath.Join(t.TempDir(), "t.pb"), "wprof-perfetto", file)
	engine.CheckStats(t, trace)
	all := engine.Query(t, trace, fmt.Sprintf(`select name from process where pid = %d`, pid),
		`select count(*) as n from process where name glob '*(docker:3f8a1c0de5b7)'`,
		fmt.Sprintf(`select distinct extract_arg(s.arg_set_id, 'debug.cgroup') as cgroup, s.name glob 'forked by*' as forked from slice s
			where extract_arg(s.arg_set_id, 'debug.cgroup') glob '%s*' order by forked`, c.base))
	if name, _ := all[0][0]["name"].(string); !strings.HasPrefix(name, "sh ") || !strings.HasSuffix(name, " (docker:3f8a1c0de5b7)") {
		t.Errorf("Perfetto's process is called %q", name)
	}
	if n := all[1][0]["n"]; n != int64(2) {
		t.Errorf("%v processes of the container, want 2", n)
	}
	if len(all[2]) != 2 || all[2][0]["cgroup"] != scope || all[2][1]["cgroup"] != scope {
		t.Errorf("instants with cgroups: %v", all[2])
	}

	for _, form := range []string{"--chrome", "--firefox"} {
		if text := tools.Run(t, "wprof-json", form, file); !bytes.Contains(text, []byte("sh (docker:3f8a1c0de5b7)")) {
			t.Errorf("wprof-json %s has no process in the container", form)
		}
	}
	// The list of a busy machine's processes may not reach those of the container.
	alone := filepath.Join(t.TempDir(), "alone.wprof")
	tools.Run(t, "wprof-filter", "-p", strconv.Itoa(pid), "-o", alone, file)
	if text := string(tools.Run(t, "wprof-info", alone)); !strings.Contains(text, "(docker:3f8a1c0de5b7)") || !strings.Contains(text, "containers  1 container on CPU") {
		t.Errorf("wprof-info: %s", text)
	}

	folded := string(tools.Run(t, "wprof-flame", "--on-cpu", "--by", "container", file))
	if !strings.Contains(folded, "docker:3f8a1c0de5b7;sh -c i=0") || !strings.Contains(folded, "[no container];") {
		t.Errorf("wprof-flame --by container: %.500s", folded)
	}
	folded = string(tools.Run(t, "wprof-flame", "--on-cpu", "--by", "cgroup", file))
	if !strings.Contains(folded, scope+";sh -c i=0") {
		t.Errorf("wprof-flame --by cgroup: %.500s", folded)
	}
	if lines := string(tools.Run(t, "wprof-json", "-e", "cgroup", "-k", "exec", file)); !strings.Contains(lines, `"runtime":"docker","container":"`+id+`"`) {
		t.Errorf("wprof-json -e cgroup: %.500s", lines)
	}
}

// TestMovesBetweenCgroupsAreEvents moves a process that sleeps.
func TestMovesBetweenCgroupsAreEvents(t *testing.T) {
	c := newCgroups(t)
	from, to := c.make(c.base+"/from"), c.make(c.base+"/to")
	cmd := c.command(from, "sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	file := tools.Record(t, filepath.Join(t.TempDir(), "moves.wprof"), []string{"-f", "migrate"}, func() {
		c.moveTo(to, cmd.Process.Pid)
		c.moveTo(from, cmd.Process.Pid)
	})
	var got []string
	for _, l := range sourceLines(t, file, "cgroup_move") {
		if l.Task.TID == cmd.Process.Pid {
			by, _ := l.Args["by"].(map[string]any)
			got = append(got, fmt.Sprint(l.Args["from"], " ", l.Args["to"], " ", l.Args["process"], " ", by["pid"]))
		}
	}
	want := []string{fmt.Sprint(from, " ", to, " true ", os.Getpid()), fmt.Sprint(to, " ", from, " true ", os.Getpid())}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
