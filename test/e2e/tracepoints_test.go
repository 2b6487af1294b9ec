//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/tracefs"
	"wprof/test/tools"
)

// typedLine is a JSON line of an event of a tracepoint.
type typedLine struct {
	Name string
	Task struct{ TID, PID int }
	Args map[string]json.RawMessage
}

// typedLines returns the lines of a capture by the names of their types.
func typedLines(t *testing.T, file string) map[string][]typedLine {
	t.Helper()
	all := make(map[string][]typedLine)
	for line := range strings.Lines(string(tools.Run(t, "wprof-json", file))) {
		if !strings.Contains(line, `"t":"typed"`) {
			continue
		}
		var of typedLine
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[of.Name] = append(all[of.Name], of)
	}
	return all
}

// of returns the lines with a value.
func linesWith(lines []typedLine, arg, value string) (all []typedLine) {
	for _, l := range lines {
		if string(l.Args[arg]) == value {
			all = append(all, l)
		}
	}
	return all
}

// values returns the values of a field.
func valuesOf(lines []typedLine, arg string) (all []string) {
	for _, l := range lines {
		all = append(all, string(l.Args[arg]))
	}
	return all
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// tracepointWork does a known number of known things on a thread of its own, and returns the thread's id.
func tracepointWork(t *testing.T, rounds int, program string) (tid int) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: its affinity goes with it
		tid = unix.Gettid()
		done <- tracepointRounds(t, rounds, program)
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return tid
}

func tracepointRounds(t *testing.T, rounds int, program string) error {
	locked, err := os.Create(filepath.Join(t.TempDir(), "locked"))
	if err != nil {
		return err
	}
	defer locked.Close()
	for i := range rounds {
		var one unix.CPUSet
		one.Set(i % 2)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return err
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_TGKILL, uintptr(os.Getpid()), uintptr(unix.Gettid()), uintptr(unix.SIGWINCH)); errno != 0 {
			return errno
		}
		// Refused, and its arguments are seen.
		_, _, _ = unix.RawSyscall(unix.SYS_GETPRIORITY, ^uintptr(99), uintptr(12345+i), 0)
		name, _ := unix.BytePtrFromString("renamed " + string(rune('a'+i%26)))
		if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0); errno != 0 {
			return errno
		}
		for _, kind := range []int16{unix.F_WRLCK, unix.F_UNLCK} {
			if err := unix.FcntlFlock(locked.Fd(), unix.F_SETLK, &unix.Flock_t{Type: kind, Start: int64(i), Len: 7}); err != nil {
				return err
			}
		}
	}
	if program == "" {
		return nil
	}
	return exec.Command(program).Run()
}

// longProgram is a program with a very long path.
func longProgram(t *testing.T) string {
	dir := t.TempDir()
	for range 6 {
		dir = filepath.Join(dir, strings.Repeat("long", 30))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "true")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTracepointsHaveTheValuesOfTheirEvents compares all fields of tracepoints with what a workload did: numbers, fixed and dynamic strings,
// named numbers and flags.
func TestTracepointsHaveTheValuesOfTheirEvents(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	if runtime.NumCPU() < 2 {
		t.Skip("a migration needs two CPUs")
	}
	const rounds = 60
	program := longProgram(t)
	tid := 0
	file := tools.Record(t, filepath.Join(t.TempDir(), "tp.wprof"), []string{
		"-f", "tp=sched:sched_migrate_task,signal:signal_generate,sched_process_exec", "-f", "no-samples,tp=filelock:*,syscalls:sys_enter_getpriority",
		"-f", "tp=raw:task_rename",
	}, func() { tid = tracepointWork(t, rounds, program) })
	lines := typedLines(t, file)
	checkMigrations(t, linesWith(lines["sched:sched_migrate_task"], "pid", strconv.Itoa(tid)), rounds)
	checkSignals(t, lines["signal:signal_generate"], tid, rounds)
	checkLocks(t, ofThread(lines["filelock:posix_lock_inode"], tid), rounds)
	calls := ofThread(lines["syscalls:sys_enter_getpriority"], tid)
	renames := ofThread(lines["raw:task_rename"], tid)
	if len(calls) != rounds || len(renames) != rounds {
		t.Fatalf("%d calls and %d renames, want %d of each", len(calls), len(renames), rounds)
	}
	for i := range rounds {
		if which, who := string(calls[i].Args["which"]), string(calls[i].Args["who"]); which != "-100" || who != strconv.Itoa(12345+i) {
			t.Errorf("getpriority(%s, %s), want -100 and %d", which, who, 12345+i)
		}
		if got, want := string(renames[i].Args["comm"]), quoted("renamed "+string(rune('a'+i%26))); got != want {
			t.Errorf("renamed to %s, want %s", got, want)
		}
	}
	if execs := linesWith(lines["sched:sched_process_exec"], "filename", quoted(program)); len(execs) != 1 || string(execs[0].Args["pid"]) != strconv.Itoa(execs[0].Task.PID) {
		t.Errorf("%d events of the exec of %s: %v", len(execs), program, execs)
	}
	checkConversions(t, file)
	checkEngine(t, file, lines)
}

// checkEngine compares what Perfetto's engine finds with the JSON lines.
func checkEngine(t *testing.T, file string, lines map[string][]typedLine) {
	t.Helper()
	trace := convertForEngine(t, file)
	for _, name := range []string{"sched:sched_migrate_task", "filelock:posix_lock_inode", "raw:task_rename"} {
		row := one(t, trace, `select count(*) as n, count(distinct t.name) as tracks, min(t.name) as track from slice s join track t on s.track_id = t.id where s.name = '`+name+`'`)
		if n := number(t, row, "n"); n != int64(len(lines[name])) {
			t.Errorf("the engine has %d of %s, want %d: %v", n, name, len(lines[name]), row)
		}
	}
	moved := one(t, trace, `select count(*) as n from slice s join args a using (arg_set_id) where s.name = 'sched:sched_migrate_task' and a.key = 'debug.dest_cpu' and a.int_value = 1`)
	if n, want := number(t, moved, "n"), len(linesWith(lines["sched:sched_migrate_task"], "dest_cpu", "1")); n != int64(want) {
		t.Errorf("the engine has %d moves to CPU 1, want %d", n, want)
	}
}

func ofThread(lines []typedLine, tid int) (all []typedLine) {
	for _, l := range lines {
		if l.Task.TID == tid {
			all = append(all, l)
		}
	}
	return all
}

func checkMigrations(t *testing.T, moves []typedLine, rounds int) {
	t.Helper()
	to := valuesOf(moves, "dest_cpu")
	for i, l := range moves {
		if from, dest := string(l.Args["orig_cpu"]), string(l.Args["dest_cpu"]); from == dest || i > 0 && from != to[i-1] {
			t.Errorf("move %d is from CPU %s to CPU %s, after one to CPU %s", i, from, dest, to[max(i-1, 0)])
		}
	}
	// The first affinity may be that of the CPU that the thread is on; the thread may have been moved before it.
	if n := len(moves); n < rounds-1 || n > rounds+2 {
		t.Errorf("%d moves of the thread, want %d", n, rounds)
	}
}

func checkSignals(t *testing.T, all []typedLine, tid, rounds int) {
	t.Helper()
	sent := linesWith(linesWith(ofThread(all, tid), "sig", strconv.Itoa(int(unix.SIGWINCH))), "pid", strconv.Itoa(tid))
	if len(sent) != rounds {
		t.Errorf("%d signals, want %d", len(sent), rounds)
	}
	for _, l := range sent {
		const tkill = "-6"
		if string(l.Args["code"]) != tkill || string(l.Args["group"]) != "0" || string(l.Args["errno"]) != "0" {
			t.Errorf("a signal has %s", l.Args)
		}
	}
}

func checkLocks(t *testing.T, locks []typedLine, rounds int) {
	t.Helper()
	if len(locks) != 2*rounds {
		t.Fatalf("%d locks, want %d", len(locks), 2*rounds)
	}
	for i, l := range locks {
		want := map[string]string{"type": `"F_WRLCK"`, "fl_start": strconv.Itoa(i / 2), "fl_end": strconv.Itoa(i/2 + 6), "ret": "0", "flags": `["FL_POSIX"]`, "pid": strconv.Itoa(l.Task.PID)}
		if i%2 == 1 {
			want["type"] = `"F_UNLCK"`
		}
		for field, value := range want {
			got, ok := l.Args[field]
			if !ok {
				got = l.Args["fl_"+field] // before 6.9
			}
			if field == "flags" && strings.HasPrefix(string(got), `["FL_POSIX"`) {
				continue // FL_CLOSE and others may follow
			}
			if string(got) != value {
				t.Errorf("lock %d has %s=%s, want %s", i, field, got, value)
			}
		}
	}
}

// checkConversions runs the other tools on a capture, and compares a text form and back.
func checkConversions(t *testing.T, file string) {
	t.Helper()
	text := tools.Run(t, "wprof-info", "--dump", file)
	again := tools.Convert(t, filepath.Join(t.TempDir(), "again.wprof"), "wprof-info", "--undump", writeFile(t, text))
	if string(tools.Run(t, "wprof-info", "--dump", again)) != string(text) {
		t.Error("the text form differs after a round trip")
	}
	tools.Run(t, "wprof-info", "--check", file)
	tools.Run(t, "wprof-perfetto", file)
	if folded := tools.Run(t, "wprof-flame", "--folded", "--event", "filelock:posix_lock_inode", file); len(folded) == 0 {
		t.Error("wprof-flame -e does not find the events")
	}
	dir := filepath.Join(t.TempDir(), "columns")
	tools.Run(t, "wprof-json", "--parquet", dir, file)
	if found, _ := filepath.Glob(filepath.Join(dir, "typed_sched_sched_migrate_task*")); len(found) != 1 {
		t.Errorf("the columns of sched:sched_migrate_task are in %v", found)
	}
}

func writeFile(t *testing.T, text []byte) string {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func needTracefs(t *testing.T) {
	fs, err := tracefs.Open()
	if err != nil {
		t.Skipf("tracefs cannot be mounted: %v", err)
	}
	_ = fs.Close()
}

// TestHundredsOfTracepointsAreRecordedAtOnce records more than 300, most of which never fire, with one whose events are known. They are
// detached within the time in which a user waits for a prompt.
func TestHundredsOfTracepointsAreRecordedAtOnce(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	fs, err := tracefs.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	events, err := fs.Events()
	if err != nil {
		t.Fatal(err)
	}
	chosen := []string{"signal:signal_generate"}
	for _, event := range events {
		if strings.HasPrefix(event, "syscalls:sys_enter_") && len(chosen) < 320 && event != "syscalls:sys_enter_futex" {
			chosen = append(chosen, event)
		}
	}
	if len(chosen) < 300 {
		t.Skipf("this kernel has only %d tracepoints of system calls", len(chosen))
	}
	const rounds = 40
	tid := 0
	file := tools.Record(t, filepath.Join(t.TempDir(), "many.wprof"), []string{"-f", "no-sched,no-samples,tp=" + strings.Join(chosen, ",")}, func() {
		tid = tracepointWork(t, rounds, "")
	})
	lines := typedLines(t, file)
	checkSignals(t, lines["signal:signal_generate"], tid, rounds)
	for name, want := range map[string]int{"getpriority": rounds, "fcntl": 2 * rounds, "prctl": rounds, "tgkill": rounds} {
		if !slices.Contains(chosen, "syscalls:sys_enter_"+name) {
			continue
		}
		if got := len(ofThread(lines["syscalls:sys_enter_"+name], tid)); got < want || name != "fcntl" && got != want {
			t.Errorf("%d calls of %s, want %d", got, name, want)
		}
	}
}

// TestWrongTracepointsAreRefusedWithNearNames starts no recording.
func TestWrongTracepointsAreRefusedWithNearNames(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	for pattern, near := range map[string]string{
		"sched:sched_migrate_tusk": "sched:sched_migrate_task", "shed:sched_switch": "sched:sched_switch", "sched_swich": "sched_switch",
		"raw:sched_swich": "raw:sched_switch", "signl:*": "signal:*",
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", "-d1s", "-f", "tp="+pattern, "-o", filepath.Join(t.TempDir(), "x"))
		if r.Status != 2 || !strings.Contains(string(r.Stderr), "did you mean") || !strings.Contains(string(r.Stderr), near) {
			t.Errorf("%s: status %d: %s", pattern, r.Status, r.Stderr)
		}
	}
}

// TestListShowsTheTracepointsOfThisKernel compares a list with the kernel's own descriptions, and lists what an ordinary user may see.
func TestListShowsTheTracepointsOfThisKernel(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	fs, err := tracefs.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	events, err := fs.Events()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, event := range events {
		if strings.HasPrefix(event, "signal:") || strings.HasPrefix(event, "task:") {
			want = append(want, event)
		}
	}
	var got []string
	for line := range strings.Lines(string(tools.Run(t, "wprof-record", "--list", "signal:*", "task:*", "--json"))) {
		var of struct {
			Tracepoint string
			Fields     []struct{ Name, Type string }
		}
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, of.Tracepoint)
		text, err := fs.Format(of.Tracepoint)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range of.Fields {
			if !strings.Contains(string(text), " "+field.Name+";") && !strings.Contains(string(text), " "+field.Name+"[") {
				t.Errorf("%s has no field %s", of.Tracepoint, field.Name)
			}
		}
		if n := strings.Count(string(text), "\tfield:") - strings.Count(string(text), " common_"); n != len(of.Fields) {
			t.Errorf("%s has %d fields, want %d", of.Tracepoint, len(of.Fields), n)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	text := string(tools.Run(t, "wprof-record", "--list"))
	for _, word := range []string{"-f sched ", "-S offcpu ", "-f softirq", "-f tp=GROUP:NAME", strconv.Itoa(len(events))[:1] + ","} {
		if !strings.Contains(text, word) {
			t.Errorf("the list does not have %q:\n%s", word, text)
		}
	}
	if text := string(tools.Run(t, "wprof-record", "--list", "io_uring")); strings.Contains(text, "partly") {
		t.Errorf("one of two names of a tracepoint is enough:\n%s", text)
	}
	if text := string(tools.Run(t, "wprof-record", "--list", "softirq", "--measure")); !strings.Contains(text, "this machine just now") || strings.Contains(text, "not measured") {
		t.Errorf("measured:\n%s", text)
	}
}

// getPriorities calls getpriority on a thread of its own whenever it gets a number of calls, and returns the thread's id.
func getPriorities(t *testing.T) (tid int, call func(times int)) {
	times, done := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		done <- unix.Gettid()
		for n := range times {
			for i := range n {
				_, _, _ = unix.RawSyscall(unix.SYS_GETPRIORITY, ^uintptr(99), uintptr(i), 0)
			}
			done <- 0
		}
	}()
	t.Cleanup(func() { close(times) })
	return <-done, func(n int) {
		times <- n
		<-done
	}
}

// TestLostEventsOfTracepointsAreCounted fills small rings: what is recorded and what is lost is what happened.
func TestLostEventsOfTracepointsAreCounted(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	const calls = 300_000
	tid, call := getPriorities(t)
	file := tools.Record(t, filepath.Join(t.TempDir(), "lost.wprof"), []string{
		"-f", "no-sched,no-wakeup,no-samples,no-task-life,tp=syscalls:sys_enter_getpriority", "--ringbuf-size", "8kb", "--tid", strconv.Itoa(tid),
	}, func() { call(calls) })
	recorded, lost := uint64(0), uint64(0)
	r := tools.WalkFile(t, file, func(_ *format.Reader, e *format.Event) {
		if e.Kind == format.KindTyped {
			recorded++
		}
	})
	for _, l := range r.End().GetLosses() {
		if format.Kind(l.Kind) == format.KindTyped {
			lost += l.Count
		}
	}
	if recorded+lost != calls || lost == 0 || recorded == 0 {
		t.Errorf("%d recorded and %d lost, of %d", recorded, lost, calls)
	}
}

// TestTracepointsOfAKilledRecorderAreSaved kills the recorder: the spool has what decoding needs.
func TestTracepointsOfAKilledRecorderAreSaved(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	const calls = 1000
	tid, call := getPriorities(t)
	file := filepath.Join(t.TempDir(), "killed.wprof")
	r := tools.Start(t, "-d120s", "-o", file, "-f", "tp=syscalls:sys_enter_getpriority")
	call(calls)
	time.Sleep(3 * time.Second) // a generation, and some rounds
	if err := r.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.Cmd.Wait()
	saved := tools.Try(t, time.Minute, nil, "wprof-symbolize", file+".part", "-o", file)
	if saved.Status != 4 && saved.Status != 0 {
		t.Fatalf("wprof-symbolize: status %d: %s", saved.Status, saved.Stderr)
	}
	if got := ofThread(typedLines(t, file)["syscalls:sys_enter_getpriority"], tid); len(got) != calls {
		t.Errorf("%d calls, want %d", len(got), calls)
	} else if who := string(got[calls-1].Args["who"]); who != strconv.Itoa(calls-1) {
		t.Errorf("the last call is of %s", who)
	}
}

// TestLiveRecordingsHaveTracepoints reads them from a pipe.
func TestLiveRecordingsHaveTracepoints(t *testing.T) {
	tools.NeedPrivilege(t)
	needTracefs(t)
	const calls = 1000
	tid, call := getPriorities(t)
	file := tools.Record(t, filepath.Join(t.TempDir(), "live.wprof"), []string{"--live", "-f", "tp=syscalls:sys_enter_getpriority"}, func() { call(calls) })
	if got := ofThread(typedLines(t, file)["syscalls:sys_enter_getpriority"], tid); len(got) != calls {
		t.Errorf("%d calls, want %d", len(got), calls)
	}
}
