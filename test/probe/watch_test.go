//go:build linux

package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/test/tools"
)

// needBreakpoints skips a test where the processor has no breakpoints, as in some virtual machines.
func needBreakpoints(t *testing.T) {
	t.Helper()
	tools.NeedPrivilege(t)
	if _, err := os.Stat("/sys/bus/event_source/devices/breakpoint"); err != nil {
		t.Skip(err)
	}
}

// Every write by every thread of a command is there, with the values of the only writer at a time.
func TestWritesOfThreads(t *testing.T) {
	needBreakpoints(t)
	c := record(t, []string{"watch:counter", "watch:counter:rw (arg:value) | id:rw |", "watch:idle | id:idle |"}, tools.Path("watched"), "threads 4")
	events := c.of("watch:counter")
	if len(events) != 400 {
		t.Fatalf("%d events of 400 writes", len(events))
	}
	last, by := int64(5), make(map[int]int64)
	for i := range events {
		e := &events[i]
		before, value := e.number(t, "before"), e.number(t, "value")
		if before != last {
			t.Fatalf("write %d: before is %d, and the value was %d", i, before, last)
		}
		last = value
		by[e.Task.TID] += value - before
		if frames := c.stacks[e.StackID]; len(frames) == 0 || !strings.HasPrefix(frames[len(frames)-1], "[U] write_counter") {
			t.Fatalf("stack of write %d: %v", i, frames)
		}
		checkRegisters(t, e)
	}
	if last != 1005 || last != c.number(t, "counter") {
		t.Errorf("the last value is %d", last)
	}
	sums := make(map[int64]bool)
	for _, sum := range by {
		sums[sum] = true
	}
	if len(by) != 4 || !sums[100] || !sums[200] || !sums[300] || !sums[400] {
		t.Errorf("by thread: %v", by)
	}
	if n := len(c.of("rw")); n != 801 { // each += reads too, and main() at the end
		t.Errorf("%d reads and writes", n)
	}
	if n := len(c.of("idle")); n > 0 {
		t.Errorf("%d events of a variable that is not written", n)
	}
}

// checkRegisters checks that an event of a program has all registers of x86-64, as far as it is known what is in them.
func checkRegisters(t *testing.T, e *event) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, name := range []string{"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"} {
		if !strings.HasPrefix(e.arg(t, name), "0x") {
			t.Errorf("%s is %s", name, e.arg(t, name))
		}
	}
	const alwaysSet, interrupts = 0x2, 0x200 // EFLAGS
	flags, err := strconv.ParseUint(strings.TrimPrefix(e.arg(t, "eflags"), "0x"), 16, 64)
	if err != nil || flags&(alwaysSet|interrupts) != alwaysSet|interrupts {
		t.Errorf("eflags is %s", e.arg(t, "eflags"))
	}
	if ip, sp := e.arg(t, "ip"), e.arg(t, "rsp"); len(ip) < 8 || !strings.HasPrefix(sp, "0x7f") {
		t.Errorf("ip is %s, rsp %s", ip, sp)
	}
}

// Values have the types of the variables, or those of the definition.
func TestWatchedValues(t *testing.T) {
	needBreakpoints(t)
	c := record(t, []string{
		"watch:sum (arg:before, arg:value) | id:sum |", "watch:small_one (arg:before, arg:value:s16/name(v)) | id:small, if:v!=3 |",
		"watch:ratio (arg:before, arg:value) | id:ratio |", "watch:state (arg:before, arg:value) | id:state |",
	}, tools.Path("watched"), "values")
	sum := int64(-1000)
	check(t, c.args("sum"), each(10, func(int) string {
		sum *= -2
		return fmt.Sprintf(`{"before":%d,"value":%d}`, sum/-2, sum)
	}))
	check(t, c.args("small"), each(10, func(i int) string { // before is of the hit before, which the condition has left out
		switch i {
		case 0:
			return `{"before":65535,"v":0}`
		case 3:
			return ""
		}
		return fmt.Sprintf(`{"before":%d,"v":%d}`, i-1, i)
	}))
	check(t, c.args("ratio")[:2], []string{`{"before":0.5,"value":0.75}`, `{"before":0.75,"value":1}`})
	check(t, c.args("state")[:3], []string{`{"before":"IDLE","value":"BUSY"}`, `{"before":"BUSY","value":"DONE"}`, `{"before":"DONE","value":"BUSY"}`})

	c = record(t, []string{"watch:table+12:4 (arg:value:s32, arg:rsp, arg:al) | id:element |", "watch:table+12:2 (arg:*) | id:all |"}, tools.Path("watched"), "values")
	if events := c.of("element"); len(events) != 10 || events[9].number(t, "value") != 9 || !strings.HasPrefix(events[0].arg(t, "rsp"), "0x7ff") {
		t.Errorf("%v", c.args("element"))
	}
	if events := c.of("all"); len(events) != 10 || events[9].number(t, "before") != 8 || events[9].arg(t, "ip") == "" || events[9].arg(t, "r9") == "" {
		t.Errorf("%v", c.args("all"))
	}
	c = record(t, []string{"watch:buffer (arg:value/x, stack)"}, tools.Path("watched"), "kernel")
	if events := c.of("watch:buffer"); len(events) < 2 || events[len(events)-1].arg(t, "value") != "0x0" {
		t.Errorf("writes of read(2): %v", c.args("watch:buffer"))
	}
}

// A function is executed as often as it is called, with its arguments; and counted in the kernel.
func TestWatchedCode(t *testing.T) {
	needBreakpoints(t)
	c := record(t, []string{"watch:called:x", "watch:called:x (arg:rdi, arg:1:u64, arg:a) | id:given, if:a>=2 |", "watch:write_counter:x | id:counted, count, by:by |"},
		tools.Path("watched"), "threads 3")
	var sum int64
	for _, e := range c.of("watch:called:x") {
		sum += e.number(t, "a")
		if frames := c.stacks[e.StackID]; e.number(t, "b") != 100 || len(frames) == 0 || !strings.HasPrefix(frames[len(frames)-1], "[U] called") {
			t.Errorf("%s %v", e.Args, frames)
		}
	}
	if n := len(c.of("watch:called:x")); n != 3 || sum != 6 {
		t.Errorf("%d calls", n)
	}
	if n := len(c.of("given")); n != 2 {
		t.Errorf("%d calls with other arguments", n)
	}
	total := int64(0)
	for _, e := range c.of("counted") {
		total += e.number(t, "events")
	}
	if total != 300 {
		t.Errorf("%d calls were counted", total)
	}
}

// Both ends of a span may watch the same variable: conditions are of one end each.
func TestSpansOfAVariable(t *testing.T) {
	needBreakpoints(t)
	c := record(t, []string{"watch:flag (arg:value/name(on)) ~~ watch:flag (arg:value/name(off), arg:before) | id:busy, if:on==1 && off==0 |"}, tools.Path("watched"), "spans 20")
	check(t, c.args("busy"), each(20, func(int) string { return `{"on":1,"off":0,"before":2}` }))
	for _, e := range c.of("busy") {
		if e.Dur <= 0 || e.Open != "" {
			t.Errorf("%+v", e)
		}
	}
	// Of two variables, without parameters.
	c = record(t, []string{"watch:small_one ~~ watch:state | id:pair |"}, tools.Path("watched"), "values")
	pairs := c.of("pair")
	if len(pairs) != 10 {
		t.Fatalf("%d spans between 10 writes of two variables", len(pairs))
	}
	for i := range pairs {
		e := &pairs[i]
		checkRegisters(t, e)
		if state := []string{"BUSY", "DONE"}[i%2]; e.Dur <= 0 || e.number(t, "value") != int64(i) || e.arg(t, "value_end") != state || len(c.stacks[e.StackID]) == 0 {
			t.Errorf("span %d: %+v %s", i, e, e.Args)
		}
	}
}

// watchRunning records a process while it does something.
func watchRunning(t *testing.T, w *tools.Workload, args []string, commands ...string) *capture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "running.wprof")
	tools.Record(t, file, args, func() {
		for _, command := range commands {
			do(w, command)
		}
	})
	return read(t, file)
}

// Threads that exist, and later ones, but neither another process nor the children.
func TestWatchedProcess(t *testing.T) {
	needBreakpoints(t)
	w, other := serve(t, tools.Path("watched"), "serve"), serve(t, tools.Path("watched"), "serve")
	file := filepath.Join(t.TempDir(), "running.wprof")
	tools.Record(t, file, []string{"--watch", "counter", "-p", w.PIDText()}, func() {
		do(other, "threads 3")
		do(w, "threads 3")
		do(w, "fork")
		do(w, "threads 2")
	})
	c := read(t, file)
	events := c.of("watch:counter")
	if len(events) != 500 || events[0].number(t, "before") != 5 || events[499].number(t, "value") != 905 {
		t.Fatalf("%d events of 500 writes: %s", len(events), some(c.args("watch:counter"), 0))
	}
	for _, e := range events {
		if e.Task.PID != w.PID() {
			t.Errorf("an event of process %d", e.Task.PID)
		}
	}
	// The value at the beginning is the process's, not the file's; and an address is as good as a name.
	c = watchRunning(t, w, []string{"-U", "watch:counter (pid:" + w.PIDText() + ", pid:" + other.PIDText() + ", arg:before, arg:value) | id:both |"}, "loop 3")
	check(t, c.args("both"), []string{`{"before":905,"value":0}`, `{"before":0,"value":1}`, `{"before":1,"value":2}`})
}

// counterNow is what the workload says that its counter is.
func counterNow(t *testing.T, w *tools.Workload) int {
	t.Helper()
	answer := do(w, "kernel")
	n, err := strconv.Atoi(strings.TrimPrefix(answer[len(answer)-1], "counter="))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Threads that begin and end while breakpoints are set write once for each event.
func TestThreadsThatBeginMeanwhile(t *testing.T) {
	needBreakpoints(t)
	w := serve(t, tools.Path("watched"), "serve")
	stop := filepath.Join(t.TempDir(), "stop")
	do(w, "churn "+stop)
	defer os.WriteFile(stop, nil, 0o600)
	file := filepath.Join(t.TempDir(), "churn.wprof")
	tools.Record(t, file, []string{"-U", "watch:counter (pid:" + w.PIDText() + ", arg:before, arg:value) | id:churn |"}, func() {
		for first := counterNow(t, w); counterNow(t, w) < first+100; {
			time.Sleep(10 * time.Millisecond)
		}
	})
	events := read(t, file).of("churn")
	if len(events) < 100 {
		t.Fatalf("%d events", len(events))
	}
	for i := range events[1:] {
		if events[i].number(t, "value") != events[i+1].number(t, "before") {
			t.Fatalf("after %s is %s", events[i].Args, events[i+1].Args)
		}
		if d := events[i+1].number(t, "value") - events[i+1].number(t, "before"); d != 1 {
			t.Fatalf("a write is missing or there twice: number %d of %d: %s", i+1, len(events), events[i+1].Args)
		}
	}
}

// What cannot be watched is refused before the command runs, with a sentence.
func TestRefusedBreakpoints(t *testing.T) {
	needBreakpoints(t)
	watched := tools.Path("watched")
	for want, args := range map[string][]string{
		"a processor has 4 breakpoints":                  {"-U", "watch:sum", "-U", "watch:flag", "-U", "watch:state", "-U", "watch:counter ~~ watch:ratio"},
		"did you mean counter?":                          {"--watch", "countr"},
		"it is thread-local":                             {"--watch", "own"},
		"is no multiple of 4":                            {"--watch", "table+2:4"},
		"did you mean counter:rw?":                       {"--watch", "counter:r"},
		"called is a function: write :x":                 {"--watch", "called"},
		"parameters and settings are for -U":             {"--watch", "called (stack)"},
		"one breakpoint is for data or for code":         {"--watch", "counter:wx"},
		"is no address of the kernel":                    {"--watch", "kernel:0x1000"},
		"code is watched, and value is of data":          {"-U", "watch:called:x (arg:value)"},
		"did you mean value, before, ip":                 {"-U", "watch:counter (arg:nothing)"},
		"the memory that a breakpoint watches is no key": {"-U", "watch:flag ~~ watch:flag | key:value |"},
		"add (pid:N), or name a symbol":                  {"--watch", "0x1000"},
		"no instruction begins at":                       {"--watch", "called+1:x"},
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", append(args, "-o", filepath.Join(t.TempDir(), "a.wprof"), "--", watched)...)
		if r.Status == 0 || !bytes.Contains(r.Stderr, []byte(want)) || bytes.Contains(r.Stdout, []byte("counter=")) {
			t.Errorf("%v: status %d: %s", args, r.Status, r.Stderr)
		}
	}
	if r := tools.Try(t, time.Minute, nil, "wprof-record", "--watch", "counter", "-o", filepath.Join(t.TempDir(), "a.wprof")); r.Status == 0 || !bytes.Contains(r.Stderr, []byte("add -p PID")) {
		t.Errorf("%s", r.Stderr)
	}
	// All four of another recorder are taken.
	w := serve(t, watched, "serve")
	file := filepath.Join(t.TempDir(), "first.wprof")
	tools.Record(t, file, []string{"-p", w.PIDText(), "--watch", "counter", "--watch", "sum", "--watch", "flag", "--watch", "state"}, func() {
		r := tools.Try(t, time.Minute, nil, "wprof-record", "--watch", "counter", "-p", w.PIDText(), "-d1s", "-o", filepath.Join(t.TempDir(), "a.wprof"))
		if r.Status == 0 || !bytes.Contains(r.Stderr, []byte("all breakpoints of a thread are used")) {
			t.Errorf("%s", r.Stderr)
		}
	})
}

// Commands of which breakpoints are set at the entry run as without: with their status, signals and failures.
func TestWatchedCommands(t *testing.T) {
	needBreakpoints(t)
	file := filepath.Join(t.TempDir(), "a.wprof")
	for _, row := range []struct {
		status  int
		command []string
	}{{0, []string{"true"}}, {1, []string{"false"}}, {128 + int(syscall.SIGTERM), []string{"sh", "-c", "kill -TERM $$"}}, {7, []string{"sh", "-c", "exit 7"}}} {
		args := append([]string{"-U", "watch:malloc:x (path:libc.so.6) | count |", "-o", file, "--"}, row.command...)
		if r := tools.Try(t, time.Minute, nil, "wprof-record", args...); r.Status != row.status {
			t.Errorf("%v: status %d: %s", row.command, r.Status, r.Stderr)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("exit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := tools.Try(t, time.Minute, nil, "wprof-record", "-U", "watch:malloc:x (path:"+tools.Path("libknown.so")+")", "-o", file, "--", "true")
	if r.Status == 0 {
		t.Errorf("a library that is not there: %s", r.Stderr)
	}
	r = tools.Try(t, time.Minute, nil, "wprof-record", "-U", "watch:stdout (path:libc.so.6)", "-o", file, "--", script)
	if r.Status != 3 {
		t.Errorf("a script: status %d: %s", r.Status, r.Stderr)
	}
	t.Chdir(tools.Folder()) // a program that has to be at low addresses, by a name that is no path of /proc/PID/maps
	tools.Run(t, "wprof-record", "--watch", "counter", "-o", file, "--", "./watched-fixed", "threads 1")
	if n := len(read(t, file).of("watch:counter")); n != 100 {
		t.Errorf("a program at fixed addresses: %d events of 100 writes", n)
	}
}

// Nothing stays when the recorder is killed, also while the command has not come to its entry; and a process may end meanwhile.
func TestBreakpointsOfAKilledRecorder(t *testing.T) {
	needBreakpoints(t)
	w := serve(t, tools.Path("watched"), "serve")
	file := filepath.Join(t.TempDir(), "killed.wprof")
	killed := tools.Start(t, "-p", w.PIDText(), "--watch", "counter", "--watch", "sum", "--watch", "flag", "--watch", "state", "-d1m", "-o", file)
	_ = killed.Cmd.Process.Kill()
	_ = killed.Cmd.Wait()
	do(w, "threads 2")
	c := watchRunning(t, w, []string{"--watch", "counter", "--watch", "sum", "--watch", "flag", "--watch", "state", "-p", w.PIDText()}, "threads 1")
	if n := len(c.of("watch:counter")); n != 100 {
		t.Errorf("%d events", n)
	}
	// The process ends: the recording ends early.
	r := tools.Start(t, "-p", w.PIDText(), "--watch", "counter", "-d1m", "-o", file)
	do(w, "threads 1")
	_ = syscall.Kill(w.PID(), syscall.SIGKILL)
	if err := r.Cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, r.Stderr.String())
	}
	if n := len(read(t, file).of("watch:counter")); n != 100 {
		t.Errorf("%d events of a process that has ended", n)
	}
}

// --list has the variables of a file with their sizes, as -U takes them.
func TestListOfVariables(t *testing.T) {
	path := tools.Path("watched")
	out := string(tools.Run(t, "wprof-record", "--list", "watch:"+path+":s*"))
	for name, size := range map[string]string{"sum": "8 bytes", "small_one": "2 bytes", "state": "4 bytes"} {
		if !regexp.MustCompile(`(?m)^watch:` + name + ` \(path:` + path + `\) +value ` + size + `$`).MatchString(out) {
			t.Errorf("%s is not in\n%s", name, out)
		}
	}
	if strings.Contains(out, "own") {
		t.Errorf("a thread-local variable is in\n%s", out)
	}
}
