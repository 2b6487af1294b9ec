//go:build linux

package probe

import (
	"debug/elf"
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

	"github.com/cilium/ebpf"

	"wprof/test/tools"
)

// serve starts a workload that takes commands.
func serve(t *testing.T, path string, args ...string) *tools.Workload {
	t.Helper()
	w := tools.StartWorkload(t, exec.Command(path, args...))
	w.Until("ready")
	return w
}

// do sends a command and returns the answer.
func do(w *tools.Workload, command string) []string {
	w.Send(command + "\n")
	return w.Until("done")
}

// listGPUProcesses puts an nvidia-smi into PATH that lists these processes as the real one does.
func listGPUProcesses(t *testing.T, of ...*tools.Workload) {
	t.Helper()
	script := "#!/bin/sh\n[ \"$*\" = '--query-compute-apps=pid --format=csv,noheader' ] || exit 1\n"
	for _, w := range of {
		script += "echo " + w.PIDText() + "\n"
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// Probes of one process, of a file that is deleted, of a path in another process's root, and of what starts later.
func TestProcesses(t *testing.T) {
	tools.NeedPrivilege(t)
	known := tools.Path("known")
	deleted := filepath.Join(t.TempDir(), "deleted")
	text, err := os.ReadFile(known)
	if err == nil {
		err = os.WriteFile(deleted, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	one, other, gone := serve(t, known, "serve"), serve(t, known, "serve"), serve(t, deleted, "serve")
	if err := os.Remove(deleted); err != nil {
		t.Fatal(err)
	}
	listGPUProcesses(t, one, other)
	file := filepath.Join(t.TempDir(), "processes.wprof")
	var late *tools.Workload
	tools.Record(t, file, []string{
		"-U", "u:quick (arg:0:s32/name(n), pid:" + one.PIDText() + ") | id:pid |",
		"-U", "u:quick (arg:0:s32/name(n), pid:" + one.PIDText() + ", pid:" + other.PIDText() + ") | id:pids |",
		"-U", "u:quick (arg:0:s32/name(n), pid:nv-smi) | id:gpu |",
		"-U", "u:quick (arg:0:s32/name(n), pid:" + gone.PIDText() + ") | id:deleted |",
		"-U", "uret:quick (arg:ret:s32, path:" + known + ") | id:path |",
		"-U", "u:quick (arg:0:s32/name(n), path:/proc/" + one.PIDText() + "/root" + known + ") | id:root |",
		"-U", "uspan:hang (arg:0:s32/name(seconds), arg:ret:s32, path:" + known + ", comm:hang*) | id:hang |",
		"-U", "usdt:known:guarded (pid:" + other.PIDText() + ") | id:guarded |",
	}, func() {
		late = serve(t, known, "serve")
		for _, w := range []*tools.Workload{one, other, gone, late} {
			do(w, fmt.Sprintf("calls %d", 3))
		}
		do(late, "hang")
		if said := do(other, "semaphore"); said[0] != "semaphore=1" {
			t.Errorf("while it is recorded: %s", said)
		}
		if said := do(one, "semaphore"); said[0] != "semaphore=0" {
			t.Errorf("of the other process: %s", said)
		}
	})
	if said := do(other, "semaphore"); said[0] != "semaphore=0" {
		t.Errorf("after the recording: %s", said)
	}
	c := read(t, file)
	for id, want := range map[string][]*tools.Workload{"pid": {one}, "pids": {one, other}, "gpu": {one, other}, "deleted": {gone}, "path": {one, other, late}, "root": {one, other, late}} {
		var got, expected []string
		for _, e := range c.of(id) {
			got = append(got, fmt.Sprintf("%d %s", e.Task.PID, e.Args))
		}
		for _, w := range want {
			for i := range 3 {
				field, n := "n", i
				if id == "path" {
					field, n = "ret", i+1
				}
				expected = append(expected, fmt.Sprintf(`%d {"%s":%d}`, w.PID(), field, n))
			}
		}
		t.Run(id, func(t *testing.T) { check(t, got, expected) })
	}
	// What is open at the close is closed there, without what only its end would have.
	open, entries := c.of("hang"), c.entries("hang")
	if len(open) != 1 || len(entries) != 1 {
		t.Fatalf("%d spans and %d entries of what hangs, want 1", len(open), len(entries))
	}
	if e := open[0]; e.Open != "yes" || string(e.Args) != `{"seconds":100,"ret":null}` || e.Task.Comm != "hanging" || e.Dur < 1e7 || e.Start != entries[0].TS {
		t.Errorf("%+v %s", e, e.Args)
	}
}

// code is the first instruction of a function in a running process.
func code(t *testing.T, pid int, path string, functions ...string) []byte {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ := strings.Cut(string(maps), "-") // the program is mapped first
	load, err := strconv.ParseUint(base, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var all []byte
	for _, s := range symbols {
		if slices.ContainsFunc(functions, func(name string) bool { return strings.HasPrefix(s.Name, name) }) {
			b := make([]byte, 1)
			if _, err := mem.ReadAt(b, int64(load+s.Value)); err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
	}
	return all
}

const breakpoint = 0xcc

// probePrograms is how many programs of probes are loaded on this machine.
func probePrograms(t *testing.T) (n int) {
	t.Helper()
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}
		if info, err := p.Info(); err == nil && strings.HasPrefix(info.Name, "probe") && strings.Trim(info.Name[5:], "0123456789") == "" {
			n++
		}
		_ = p.Close()
	}
	return n
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s is not so after 20 s", what)
		}
	}
}

// A recorder that is killed leaves no probe behind.
func TestNothingStaysAfterKill(t *testing.T) {
	tools.NeedPrivilege(t)
	known := tools.Path("known")
	w := serve(t, known, "serve")
	before := code(t, w.PID(), known, "quick")
	loaded := probePrograms(t)
	r := tools.Start(t, "-d60s", "-o", filepath.Join(t.TempDir(), "killed.wprof"), "-U", "uspan:quick (pid:"+w.PIDText()+")",
		"-U", "usdt:known:guarded (path:"+known+")", "-U", "tp:task:task_rename", "-U", "raw_tp:sched_process_exit")
	do(w, "calls 1000")
	if got := code(t, w.PID(), known, "quick"); got[0] != breakpoint {
		t.Errorf("quick begins with %#x while it is probed", got)
	}
	if said, n := do(w, "semaphore"), probePrograms(t); said[0] != "semaphore=1" || n < loaded+5 {
		t.Errorf("while it is probed: %s, %d programs are loaded, and %d were", said, n, loaded)
	}
	if err := r.Cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = r.Cmd.Wait()
	eventually(t, "that the programs are gone", func() bool { return probePrograms(t) == loaded })
	eventually(t, "that the code is as it was", func() bool { return slices.Equal(code(t, w.PID(), known, "quick"), before) })
	eventually(t, "that the semaphore is 0", func() bool { return do(w, "semaphore")[0] == "semaphore=0" })
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if text, err := os.ReadFile(dir + "/uprobe_events"); err == nil && len(text) > 0 {
			t.Errorf("%s/uprobe_events: %s", dir, text)
		}
	}
}

// A glob attaches to a thousand functions of a process that runs, and leaves it as it was.
func TestThousandFunctions(t *testing.T) {
	tools.NeedPrivilege(t)
	many := tools.Path("many")
	w := serve(t, many)
	before := code(t, w.PID(), many, "many_")
	file := filepath.Join(t.TempDir(), "many.wprof")
	tools.Record(t, file, []string{"-U", "u:many_* (pid:" + w.PIDText() + ") | id:many |", "-U", "uspan:many_* (path:" + many + ") | id:spans, entry:no |"}, func() {
		for range 3 {
			do(w, "")
		}
		if during := code(t, w.PID(), many, "many_"); len(during) != 1000 || slices.ContainsFunc(during, func(b byte) bool { return b != breakpoint }) {
			t.Errorf("not all of %d functions are probed", len(during))
		}
	})
	c := read(t, file)
	for _, id := range []string{"many", "spans"} {
		var got []string
		for _, e := range c.of(id) {
			got = append(got, e.Name)
		}
		check(t, got, each(3000, func(i int) string { return fmt.Sprintf("many_%03d", i%1000) }))
	}
	eventually(t, "that the code is as it was", func() bool { return slices.Equal(code(t, w.PID(), many, "many_"), before) })
	refused := tools.Try(t, time.Minute, nil, "wprof-record", "-d300ms", "-o", file, "-U", "u:* (path:"+many+")")
	if refused.Status != 2 || !strings.Contains(string(refused.Stderr), "^") || !strings.Contains(string(refused.Stderr), "1,000") && !strings.Contains(string(refused.Stderr), "1000") {
		t.Errorf("more than 1,000 functions: status %d: %s", refused.Status, refused.Stderr)
	}
}

func TestSpansWithoutLoss(t *testing.T) {
	const n = 200_000
	c := record(t, []string{"uspan:quick (arg:0:s32/name(n), arg:ret:s32) | id:quick, entry:no |", "u:quick | id:count, count |",
		"u:quick | id:keys, hist:arg:0:u32, by:arg:0:u32/name(n), if:arg:0:u32<10000 |"}, tools.Path("known"), "quick", strconv.Itoa(n))
	check(t, c.args("quick"), each(n, func(i int) string { return fmt.Sprintf(`{"n":%d,"ret":%d}`, i, i+1) }))
	if got := len(c.counts(t, "keys", "n")); got != 10_000 {
		t.Errorf("%d numbers were counted, want 10,000", got)
	}
	if got := c.counts(t, "count", "")[""].events; got != n {
		t.Errorf("%d events were counted, want %d", got, n)
	}
}
