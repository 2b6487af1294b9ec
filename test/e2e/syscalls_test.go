//go:build linux

package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// recordedCall is a span of a system call.
type recordedCall struct {
	name       string
	tid        int32
	start, end int64
	open       bool
	args       map[string]string // as text
}

// callsIn reads the system calls of a capture.
func callsIn(t *testing.T, file string) (calls []recordedCall, r *format.Reader) {
	t.Helper()
	r = tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindTyped {
			return
		}
		of := r.EventType(e.TypeID())
		if string(of.GetGroup()) != "syscall" {
			return
		}
		values, ok := of.AppendValues(nil, e)
		start, isSpan := e.Start()
		if !ok || !isSpan || start > e.Time {
			t.Fatalf("%s: %v %v", of.Name, values, e)
		}
		c := recordedCall{string(of.Name), r.Task(e.Task).GetTid(), start, e.Time, e.Flags&format.FlagOpen != 0, map[string]string{}}
		for i := range values {
			c.args[string(values[i].Field.Name)] = valueText(r, &values[i])
		}
		calls = append(calls, c)
	})
	if lost := r.End().GetLosses(); len(lost) != 0 {
		t.Fatalf("%v", lost)
	}
	return calls, r
}

func valueText(r *format.Reader, v *format.Value) string {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_TEXT:
		return string(r.Text(v.ID()).GetText())
	case format.ValueType_VALUE_STRING:
		return string(v.Bytes)
	case format.ValueType_VALUE_ENUM:
		if name := v.Field.EnumName(v.Int()); name != nil {
			return string(name)
		}
	case format.ValueType_VALUE_UINT:
		return strconv.FormatUint(v.Number, 10)
	}
	return strconv.FormatInt(v.Int(), 10)
}

func compileCalls(t *testing.T) (program, program32 string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "calls")
	compile(t, "-O1", "-pthread", "-o", program, "testdata/calls.c")
	if runtime.GOARCH == "amd64" {
		program32 = filepath.Join(t.TempDir(), "calls32")
		compile(t, "-m32", "-O1", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector", "-o", program32, "testdata/calls32.c")
	}
	return program, program32
}

// strace counts the calls of a command and its children by name, and those of them that failed.
func strace(t *testing.T, command ...string) (calls, failed map[string]int) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("strace is missing; scripts/test installs it")
	}
	out, err := exec.Command("strace", append([]string{"-f", "-c", "-S", "name"}, command...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("strace: %v: %s", err, out)
	}
	calls, failed = map[string]int{}, map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^ +[\d.]+ +[\d.]+ +\d+ +(\d+)(?: +(\d+))? +(\w+)$`).FindAllStringSubmatch(string(out), -1) {
		n, _ := strconv.Atoi(m[1])
		errors, _ := strconv.Atoi(m[2])
		calls[m[3]] += n
		failed[m[3]] += errors
	}
	return calls, failed
}

// TestSystemCallsAreCountedExactly compares the calls of a command, its threads and its children, with those that it made by its
// source, and with strace.
func TestSystemCallsAreCountedExactly(t *testing.T) {
	tools.NeedPrivilege(t)
	program, program32 := compileCalls(t)
	command := []string{program, "count"}
	if program32 != "" {
		command = append(command, program32)
	}
	file := filepath.Join(t.TempDir(), "calls.wprof")
	tools.Run(t, "wprof-record", append([]string{"-f", "syscall", "-o", file, "--"}, command...)...)
	calls, _ := callsIn(t, file)

	type key struct{ name, path, err, abi string }
	got, all, failed := map[key]int{}, map[string]int{}, map[string]int{}
	for _, c := range calls {
		k := key{c.name, "", c.args["error"], c.args["abi"]}
		if c.name == "openat" || c.name == "open" || c.name == "read" {
			k.path = c.args["path"] + c.args["file"]
		}
		got[k]++
		all[c.name]++
		if c.args["error"] != "" {
			failed[c.name]++
		}
	}
	want := map[key]int{
		{"read", "/zero", "", ""}: 1000, {"write", "", "", ""}: 500 + 2, {"openat", "/nonexistent/wprof", "ENOENT", ""}: 300,
		{"nanosleep", "", "", ""}: 50, {"close", "", "EBADF", ""}: 20, {"dup", "", "", ""}: 64, {"sendto", "", "", ""}: 3,
		{"unknown call", "", "ENOSYS", ""}: 1, {"getppid", "", "", ""}: 300, {"nanosleep", "", "ERESTART_RESTARTBLOCK", ""}: 1,
		{"restart_syscall", "", "", ""}: 1, {"socketpair", "", "", ""}: 1, {"exit", "", "", ""}: 2,
	}
	if program32 != "" {
		want[key{"getppid", "", "", "i386"}] = 21
		want[key{"open", "/nonexistent/compat", "ENOENT", "i386"}] = 7
		want[key{"open", "/nonexistent/32", "ENOENT", "i386"}] = 5
		want[key{"exit", "", "", "i386"}] = 1
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%d of %v, want %d", got[k], k, n)
		}
	}
	// Both of pipes: one that a signal interrupts, and one that begins anew after a signal.
	interrupted, signalled := 0, 0
	for k, n := range got {
		if k.name == "read" && k.err == "ERESTARTSYS" && strings.HasPrefix(k.path, "pipe:[") {
			interrupted += n
		}
		if k.name == "rt_sigreturn" {
			signalled += n
		}
	}
	if interrupted != 2 || signalled != 2 {
		t.Errorf("%d reads are interrupted, want 2; %d returns from handlers, want 2", interrupted, signalled)
	}
	compareWithStrace(t, all, failed, command)
	compareWithPerfetto(t, file, all)
}

// compareWithPerfetto counts the slices that Perfetto's engine has of the calls. Calls do not nest.
func compareWithPerfetto(t *testing.T, file string, all map[string]int) {
	t.Helper()
	trace := convertForEngine(t, file)
	rows := engine.Query(t, trace, `select s.name as name, count(*) as n, max(s.depth) as depth from slice s join thread_track t on s.track_id = t.id
		where t.name = 'System calls' group by 1`)[0]
	got := map[string]int{}
	for _, row := range rows {
		got[row["name"].(string)] = int(row["n"].(int64))
		if row["depth"] != int64(0) {
			t.Errorf("a slice of %v is in another one", row["name"])
		}
	}
	if !maps.Equal(got, all) {
		t.Errorf("Perfetto has the slices %v, want %v", got, all)
	}
}

// compareWithStrace leaves out the calls that strace itself interrupts or delays, and exit_group, which it does not count.
func compareWithStrace(t *testing.T, all, failed map[string]int, command []string) {
	t.Helper()
	wantAll, wantFailed := strace(t, command...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch name {
		case "wait4", "clock_nanosleep", "restart_syscall", "futex", "exit", "exit_group", "unknown call", "nanosleep":
			continue
		}
		if all[name] != wantAll[name] || failed[name] != wantFailed[name] {
			t.Errorf("%d of %s, %d failed; strace counts %d and %d", all[name], name, failed[name], wantAll[name], wantFailed[name])
		}
		delete(wantAll, name)
	}
	for name, n := range wantAll {
		if all[name] == 0 {
			t.Errorf("%d of %s by strace alone", n, name)
		}
	}
}

// TestCallArgumentsAreDecoded looks at arguments by name.
func TestCallArgumentsAreDecoded(t *testing.T) {
	tools.NeedPrivilege(t)
	program, _ := compileCalls(t)
	file := filepath.Join(t.TempDir(), "calls.wprof")
	tools.Run(t, "wprof-record", "-f", "syscall=openat,sendto,kill,exec*,exit_group,futex,socket*,close,rt_sigaction", "-o", file, "--", program, "count")
	calls, _ := callsIn(t, file)
	of := func(name string, with map[string]string) string {
		for _, c := range calls {
			if c.name != name {
				continue
			}
			same := true
			for field, text := range with {
				same = same && c.args[field] == text
			}
			if same {
				return ""
			}
		}
		return fmt.Sprintf("no %s has %v", name, with)
	}
	for _, missing := range []string{
		of("execve", map[string]string{"path": program, "ret": "0"}),
		of("openat", map[string]string{"dirfd": "AT_FDCWD", "path": "/nonexistent/wprof", "flags": "O_RDWR|O_CLOEXEC", "ret": "-2", "error": "ENOENT"}),
		of("sendto", map[string]string{"flags": "MSG_DONTWAIT|MSG_NOSIGNAL", "length": "1", "ret": "1"}),
		of("kill", map[string]string{"signal": "SIGSTOP"}),
		of("futex", map[string]string{"op": "FUTEX_WAKE|FUTEX_PRIVATE_FLAG", "val": "1"}),
		of("socketpair", map[string]string{"family": "AF_UNIX", "type": "SOCK_STREAM"}),
		of("close", map[string]string{"file": "/zero", "ret": "0"}),
		of("rt_sigaction", map[string]string{"signal": "SIGALRM"}),
		of("exit_group", map[string]string{"status": "0"}),
	} {
		if missing != "" {
			t.Error(missing)
		}
	}
	for _, c := range calls {
		if c.name == "read" || c.name == "write" {
			t.Fatalf("%s was not requested", c.name)
		}
	}
}

// TestCallsAreOpenAtBothEnds records a process that is in calls when the programs are attached, when the window opens, and when it closes.
func TestCallsAreOpenAtBothEnds(t *testing.T) {
	tools.NeedPrivilege(t)
	program, _ := compileCalls(t)
	w := tools.StartWorkload(t, exec.Command(program, "wait"))
	w.Until("ready")
	w.WaitAsleep()
	file := tools.Record(t, filepath.Join(t.TempDir(), "calls.wprof"), []string{"-f", "syscall", "-p", w.PIDText()}, func() {
		time.Sleep(50 * time.Millisecond)
		w.Send("x")
		w.WaitAsleep()
	})
	calls, r := callsIn(t, file)
	if len(calls) != 3 {
		t.Fatalf("%d calls: %+v", len(calls), calls)
	}
	opened, closed := r.Session().Open, r.End().GetClose()
	slices.SortFunc(calls, func(a, b recordedCall) int { return strings.Compare(a.name+a.args["fd"], b.name+b.args["fd"]) })
	sleep, line, forEver := calls[0], calls[1], calls[2]
	if sleep.name != "nanosleep" || !sleep.open || sleep.start < line.end || sleep.start > closed || sleep.end != closed {
		t.Errorf("the sleep: %+v", sleep)
	}
	if line.name != "read" || line.open || line.start >= opened || line.end-opened < 40e6 || line.args["ret"] != "1" || line.tid != int32(w.PID()) {
		t.Errorf("the read of a line: %+v", line)
	}
	if forEver.name != "read" || !forEver.open || forEver.start >= opened || forEver.end != closed || !strings.HasPrefix(forEver.args["file"], "pipe:[") {
		t.Errorf("the read for ever: %+v", forEver)
	}
	if _, has := forEver.args["ret"]; has {
		t.Errorf("a call that is open has a result: %+v", forEver)
	}
}
