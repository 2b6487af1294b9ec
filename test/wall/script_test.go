//go:build linux

package wall

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/test/tools"
)

// wallclock is a run of scripts/wprof-wallclock in a folder of its own.
type wallclock struct {
	t              testing.TB
	dir            string // where it runs and writes
	cmd            *exec.Cmd
	stdout, stderr tools.Buffer
}

// script prepares a run of the script as it is installed, with the tools of the test on PATH.
func script(t testing.TB, args ...string) *wallclock {
	t.Helper()
	w := &wallclock{t: t, dir: t.TempDir(), cmd: tools.Wallclock(t, args...)}
	w.cmd.Dir, w.cmd.Stdout, w.cmd.Stderr = w.dir, &w.stdout, &w.stderr
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return w
}

// start starts the script and returns when its recording has begun.
func (w *wallclock) start() *wallclock {
	w.t.Helper()
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) })
	return w
}

// spooling waits until the window is open: the spool of a capture grows again and again.
func (w *wallclock) spooling(prefix string) *wallclock {
	w.t.Helper()
	last, grown := int64(0), 0
	for end := time.Now().Add(3 * time.Minute); grown < 8; time.Sleep(20 * time.Millisecond) {
		if st, err := os.Stat(filepath.Join(w.dir, prefix+".wprof.part")); err == nil && st.Size() > last {
			last = st.Size()
			grown++
		}
		if time.Now().After(end) {
			w.t.Fatalf("the spool does not grow: %s", w.stderr.String())
		}
	}
	return w
}

// wait returns the script's exit status; a script that hangs fails the test.
func (w *wallclock) wait() int {
	w.t.Helper()
	late := time.AfterFunc(5*time.Minute, func() { _ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) })
	err := w.cmd.Wait()
	if !late.Stop() {
		w.t.Fatalf("%v did not end: %s", w.cmd.Args, w.stderr.String())
	}
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		w.t.Fatal(err)
	}
	return tools.Status(w.cmd.ProcessState)
}

// run runs the script to an end with status 0.
func (w *wallclock) run() *wallclock {
	w.t.Helper()
	if status := w.start().wait(); status != 0 {
		w.t.Fatalf("%v: status %d: %s", w.cmd.Args, status, w.stderr.String())
	}
	return w
}

// files are the names of all files that the script left.
func (w *wallclock) files() (names []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, w.dir+"/"))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

func (w *wallclock) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// of are the names of what the script writes of a process with one thread.
func of(prefix string) []string {
	names := []string{prefix + ".folded", prefix + ".svg", prefix + ".wprof", prefix + "_single_thread_analysis.txt"}
	slices.Sort(names)
	return names
}

// value is the first number of a key in an analysis.
func value(t testing.TB, analysis, key string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(key) + `: +([0-9.]+)`).FindStringSubmatch(analysis)
	if m == nil {
		t.Fatalf("there is no %q in:\n%s", key, analysis)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sleeper is a process that does nothing for that many seconds.
func sleeper(t testing.TB, seconds string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", seconds)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestWrongUseIsReportedInOneSentence(t *testing.T) {
	tools.NeedPrivilege(t)
	known := startKnown(t, 1)
	pid := known.PIDText()
	other := threadOf(t, known.PID())
	ended := sleeper(t, "0")
	for zombie := false; !zombie; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", ended.Process.Pid))
		zombie = err != nil || bytes.Contains(stat, []byte(") Z "))
	}
	for _, c := range []struct {
		status int
		args   []string
		says   string
	}{
		{2, nil, "give the process to record"},
		{2, []string{"known"}, `"known" is not a process or thread id`},
		{2, []string{"no-such-name"}, `"no-such-name" is not a process or thread id`},
		{2, []string{"12x"}, `"12x" is not a process or thread id`},
		{2, []string{"0"}, "0 is the id of the idle threads"},
		{2, []string{"99999999999999999999"}, "is not a process or thread id"},
		{1, []string{"4194304"}, "record process 4194304: there is no such process"},
		{1, []string{other}, "record process " + other + ": it is a thread of process " + pid},
		{1, []string{strconv.Itoa(ended.Process.Pid)}, "it has ended already"},
		{2, []string{pid, "1"}, "1 is one argument too many"},
		{2, []string{pid, "-d", "0"}, "-d 0 is not a duration"},
		{2, []string{pid, "-d", "soon"}, "-d soon is not a duration"},
		{2, []string{pid, "-d-3"}, "-d -3 is not a duration"},
		{2, []string{pid, "-d"}, "-d needs a value"},
		{2, []string{pid, "-f", "0"}, "-f 0 is not a frequency"},
		{2, []string{pid, "-f", "99.5"}, "-f 99.5 is not a frequency"},
		{2, []string{pid, "-f99999"}, "99999hz"},
		{2, []string{pid, "-m", "-1"}, "-m -1 is not a time"},
		{2, []string{pid, "--min-block=1m"}, "-m 1m is not a time; give one with a unit, such as -m 1ms"},
		{2, []string{pid, "-F", "0"}, "-F 0 is not a frequency"},
		{2, []string{pid, "-o", "/tmp"}, "--report /tmp: it is a folder"},
		{2, []string{pid, "-o", "x/"}, "--report x/: not a file name prefix"},
		{2, []string{"-p", pid}, "there is no flag -p: the process is an argument, as in wprof-wallclock 1234"},
		{2, []string{"--pid=" + pid}, "there is no flag --pid: the process is an argument"},
		{2, []string{pid, "-x"}, "there is no flag -x; wprof-wallclock --help lists them"},
		{2, []string{pid, "--duratoin=3"}, "there is no flag --duratoin; wprof-wallclock --help lists them"},
		{2, []string{pid, "--freq", "9"}, "there is no flag --freq; wprof-wallclock --help lists them"},
		{2, []string{pid, "-duration=3"}, "-d uration=3 is not a duration"},
		{2, []string{pid, "-output", "x"}, "x is one argument too many"},
		{2, []string{pid, "-D", "3"}, "there is no flag -D; wprof-wallclock --help lists them"},
		{2, []string{pid, "--speed"}, "there is no flag --speed; wprof-wallclock --help lists them"},
		{2, []string{pid, "-d", "."}, "-d . is not a duration"},
		{2, []string{pid, "-d", ".0"}, "-d .0 is not a duration"},
		{2, []string{pid, "-o", "a\nb"}, "it has a line break or another control character"},
		{2, []string{pid, "--", "true"}, "a process and a command cannot be recorded together"},
		{2, []string{"--"}, "there is no command after --"},
		{1, []string{pid, "-d1", "-o", "none/x"}, "write none/x.svg: no such file or directory; make the folder none first"},
		{125, []string{"-o", "none/x", "--", "true"}, "write none/x.svg: no such file or directory; make the folder none first"},
		{127, []string{"--", "no-such-command"}, "run no-such-command: there is no such command"},
	} {
		w := script(t, c.args...)
		status := w.start().wait()
		said := w.stderr.String()
		if status != c.status || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: status %d, want %d; it says %q, want one line with %q", c.args, status, c.status, said, c.says)
		}
		if left := w.files(); len(left) > 0 {
			t.Errorf("%q: it leaves %v", c.args, left)
		}
	}
}

// threadOf is a thread of a process that is not its first one.
func threadOf(t testing.TB, pid int) string {
	t.Helper()
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, path := range all {
		if tid := filepath.Base(path); tid != strconv.Itoa(pid) {
			return tid
		}
	}
	t.Fatalf("process %d has one thread", pid)
	return ""
}

func TestProcessOfOneThreadHasOneSetOfFiles(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	pid := sleeper(t, "300").Process.Pid
	w := script(t, strconv.Itoa(pid), "-d", "500ms", "-o", "nap").run()
	if got := w.files(); !slices.Equal(got, of("nap")) {
		t.Errorf("it leaves %v, want %v", got, of("nap"))
	}
	for _, name := range w.files() {
		if st, err := os.Stat(filepath.Join(w.dir, name)); err != nil || st.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
	}
	text := w.read("nap_single_thread_analysis.txt")
	window := value(t, text, "window")
	if window < 0.5 || value(t, text, "threads") != 1 || value(t, text, "total") != window || value(t, text, "idle") != window || value(t, text, "coverage") != 0 {
		t.Errorf("a process that sleeps all the time is reported as:\n%s", text)
	}
	if !strings.Contains(text, "nanosleep_[k]") || value(t, text, "recorder CPU") <= 0 {
		t.Errorf("the analysis does not show where the thread was, or what the recorder cost:\n%s", text)
	}
	if got, want := weight(t, w.read("nap.folded")), window*1e6; math.Abs(got-want) > 2 {
		t.Errorf("folded stacks add up to %.0f us, the window is %.0f", got, want)
	}
	wellFormed(t, w.read("nap.svg"))
}

// weight is the sum of folded stacks.
func weight(t testing.TB, folded string) (sum float64) {
	t.Helper()
	for line := range strings.Lines(folded) {
		n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		if err != nil {
			t.Fatalf("folded line %q: %v", line, err)
		}
		sum += n
	}
	return sum
}

func wellFormed(t testing.TB, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
}

func TestEveryThreadHasItsFilesAndAddsUp(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	known := startKnown(t, 1)
	w := script(t, known.PIDText(), "-d2", "-F", "99hz", "-m0ms", "-o", "sub/of.it")
	if err := os.Mkdir(filepath.Join(w.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.start().spooling("sub/of.it")
	all := work(t, known)
	if status := w.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, w.stderr.String())
	}
	want := of("sub/of.it")
	roles := map[string]string{"main": known.PIDText()}
	for _, m := range all {
		roles[m.name] = strconv.Itoa(m.tid)
	}
	whole := w.read("sub/of.it_single_thread_analysis.txt")
	window, onCPU, folded := value(t, whole, "window"), 0.0, 0.0
	for role, tid := range roles {
		name := "sub/multithread_of.it/thread_" + tid + "_" + role
		want = append(want, name+".svg", name+".folded", name+"_analysis.txt")
		text := w.read(name + "_analysis.txt")
		if value(t, text, "threads") != 1 || value(t, text, "window") != window || value(t, text, "total") != window {
			t.Errorf("%s lived for all of the window of %v s:\n%s", role, window, text)
		}
		onCPU += value(t, text, "on-CPU")
		folded += weight(t, w.read(name+".folded"))
		wellFormed(t, w.read(name+".svg"))
	}
	table := w.read("sub/multithread_of.it/of.it_thread_analysis.txt")
	want = append(want, "sub/multithread_of.it/of.it_thread_analysis.txt")
	slices.Sort(want)
	got := w.files()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("it leaves %v, want %v", got, want)
	}
	threads := float64(len(roles))
	near := func(what string, got, want, by float64) {
		if math.Abs(got-want) > by {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("threads", value(t, whole, "threads"), threads, 0)
	near("the total of all", value(t, whole, "total"), threads*window, 1e-5)
	near("on-CPU of all", value(t, whole, "on-CPU"), onCPU, 1e-5)
	near("folded stacks of the threads", folded, weight(t, w.read("sub/of.it.folded")), 2*threads)
	near("folded stacks of all", weight(t, w.read("sub/of.it.folded")), threads*window*1e6, 2*threads)
	near("coverage", value(t, whole, "coverage"),
		100*(value(t, whole, "on-CPU")+value(t, whole, "blocked")+value(t, whole, "scheduling delay"))/window, 0.1)
	if n := len(regexp.MustCompile(`(?m)^ *\d+ \S+( +[\d.]+){5} +[\d.]+%$`).FindAllString(table, -1)); n != len(roles) {
		t.Errorf("the table has %d rows, want %d:\n%s", n, len(roles), table)
	}
}

// A tenth of the bursts or so has a sample: span by span the rest would be reported as not sampled.
func TestShortTimesOnTheCPUCountForTheSamples(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	bursts := tools.StartWorkload(t, exec.Command(tools.Path("bursts")))
	bursts.Until("ready")
	w := script(t, bursts.PIDText(), "-d2", "-f", "199", "-m0", "-o", "short").run()
	text := w.read("short_single_thread_analysis.txt")
	window, onCPU := value(t, text, "window"), value(t, text, "on-CPU")
	if samples := regexp.MustCompile(`Functions on the CPU.* \([1-9]\d* samples\)`); onCPU <= 0 || !samples.MatchString(text) {
		t.Fatalf("the bursts have no samples:\n%s", text)
	}
	folded := w.read("short.folded")
	if strings.Contains(folded, "[not sampled]") || strings.Contains(w.read("short.svg"), "[not sampled]") || strings.Contains(text, "not sampled:") {
		t.Errorf("time on the CPU is reported as not sampled:\n%s\n%s", folded, text)
	}
	sum := 0.0
	for line := range strings.Lines(folded) {
		if strings.Contains(line, "_[c] ") {
			sum += weight(t, line)
		}
	}
	if math.Abs(sum-1e6*onCPU) > 2 || math.Abs(weight(t, folded)-1e6*window) > 2 {
		t.Errorf("folded stacks have %.0f us on the CPU of %.0f, and the analysis %v s of %v", sum, weight(t, folded), onCPU, window)
	}
}

func TestWaitingForWorkIsNoCoverage(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	server := tools.StartWorkload(t, exec.Command(tools.Path("server")))
	server.Until("ready")
	w := script(t, server.PIDText(), "-d", "1s", "-o", "idle").run()
	text := w.read("idle_single_thread_analysis.txt")
	idle, window := value(t, text, "idle"), value(t, text, "window")
	if idle < window/2 || value(t, text, "coverage") >= 50 || !strings.Contains(text, "mostly idle") || !strings.Contains(w.stderr.String(), "mostly idle") {
		t.Errorf("a server without work is reported as:\n%s\n%s", text, w.stderr.String())
	}
}

func TestEndOfTheProcessEndsTheRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	process := sleeper(t, "300")
	pid := strconv.Itoa(process.Process.Pid)
	w := script(t, pid, "-d", "1000", "-o", "gone").start().spooling("gone")
	_ = process.Process.Kill() // a zombie from now on, as this test has not waited for it
	if status := w.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, w.stderr.String())
	}
	if said := w.stderr.String(); !strings.Contains(said, "process "+pid+" has ended, and the recording with it\n") {
		t.Errorf("it does not say that the process ended: %s", said)
	}
	text := w.read("gone_single_thread_analysis.txt")
	if got := w.files(); !slices.Equal(got, of("gone")) || value(t, text, "idle") <= 0 {
		t.Errorf("it leaves %v, and prints:\n%s", got, text)
	}
}

func TestInterruptedRecordingIsWritten(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	for _, send := range []func(pid int) error{
		func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) }, // as Ctrl-C does
		func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
	} {
		w := script(t, strconv.Itoa(sleeper(t, "300").Process.Pid), "-d", "1000", "-o", "cut").start().spooling("cut")
		if err := send(w.cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if status := w.wait(); status != 0 || !strings.Contains(w.stderr.String(), "wprof-record: recorded ") {
			t.Errorf("status %d: %s", status, w.stderr.String())
		}
		if got := w.files(); !slices.Equal(got, of("cut")) {
			t.Errorf("it leaves %v", got)
		}
	}
}

func TestKilledRecordersSpoolBecomesAProfile(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	w := script(t, strconv.Itoa(sleeper(t, "300").Process.Pid), "-d", "1000", "-o", "killed").start().spooling("killed")
	_ = syscall.Kill(w.recorder(), syscall.SIGKILL)
	if status := w.wait(); status != 128+9 {
		t.Errorf("status %d, want that of a recorder that was killed: %s", status, w.stderr.String())
	}
	if said := w.stderr.String(); strings.Contains(said, "line ") || strings.Contains(said, "Killed") {
		t.Errorf("the shell has its own word: %s", said)
	}
	if text := w.read("killed_single_thread_analysis.txt"); value(t, text, "threads") != 1 || value(t, text, "unknown") <= 0 {
		t.Errorf("what was recorded is reported as:\n%s\n%s", text, w.stderr.String())
	}
}

// recorder is the recorder that the script has started.
func (w *wallclock) recorder() (pid int) {
	w.t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", w.cmd.Process.Pid))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, child := range strings.Fields(string(children)) {
		if name, _ := os.ReadFile("/proc/" + child + "/comm"); string(name) == "wprof-record\n" {
			pid, _ = strconv.Atoi(child)
			return pid
		}
	}
	w.t.Fatal("the script runs no recorder")
	return 0
}

func TestSecondInterruptEndsEverything(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	interruptTwice(t, syscall.SIGCONT)
}

func TestSpoolLeftBySecondInterruptCanBeFinished(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	w := interruptTwice(t, syscall.SIGKILL)
	const how = "wprof-wallclock: what was recorded is in twice.wprof.part: finish it by wprof-symbolize twice.wprof.part -o twice.wprof, or remove it\n"
	if said := w.stderr.String(); !strings.HasSuffix(said, how) {
		t.Fatalf("it says %s, want %s", said, how)
	}
	finish := exec.Command("sh", "-c", "wprof-symbolize twice.wprof.part -o twice.wprof")
	finish.Dir, finish.Env = w.dir, w.cmd.Env
	if out, err := finish.CombinedOutput(); tools.Status(finish.ProcessState) != 4 {
		t.Errorf("finishing what was left: %v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "twice.wprof")); err != nil {
		t.Error(err)
	}
}

// interruptTwice runs the script until it has ended by a second Ctrl-C, before which its recorder could not end. What the
// recorder gets then is a signal of its own: go on, or be killed.
func interruptTwice(t *testing.T, then syscall.Signal) *wallclock {
	t.Helper()
	w := script(t, strconv.Itoa(sleeper(t, "300").Process.Pid), "-d", "1000", "-o", "twice").start().spooling("twice")
	recorder := w.recorder()
	_ = syscall.Kill(recorder, syscall.SIGSTOP)
	threadsSay(t, recorder, `^State:\s*T`) // else one of them may still take the first one
	_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGINT)
	threadsSay(t, recorder, `^ShdPnd:\s*[0-9a-f]*[2367abef]$`) // SIGINT is the second bit
	_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGINT)
	w.handled()
	_ = syscall.Kill(recorder, then)
	if status := w.wait(); status != 130 {
		t.Errorf("status %d, want 130: %s", status, w.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(w.dir, "twice.svg")); err == nil {
		t.Error("it goes on and writes a profile")
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", recorder)); err == nil {
		t.Error("the recorder runs on")
	}
	return w
}

// handled waits until the shell has taken all signals that it was sent.
func (w *wallclock) handled() { threadsSay(w.t, w.cmd.Process.Pid, `^ShdPnd:\s*0+$`) }

// threadsSay waits until the status of all threads of a process has a line.
func threadsSay(t testing.TB, pid int, line string) {
	t.Helper()
	want := regexp.MustCompile("(?m)" + line)
	does := func() bool {
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		return !slices.ContainsFunc(all, func(path string) bool {
			text, err := os.ReadFile(path)
			return err != nil || !want.Match(text)
		})
	}
	for end := time.Now().Add(2 * time.Minute); !does(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not all threads of process %d say %s", pid, line)
		}
	}
}

func TestCommandIsRecordedToItsEnd(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	w := script(t, "-o", "cmd", "--", "sh", "-c", "echo out; sleep 0.5; exit 7")
	if status := w.start().wait(); status != 7 {
		t.Fatalf("status %d, want 7: %s", status, w.stderr.String())
	}
	if w.stdout.String() != "out\n" {
		t.Errorf("standard output is %q, not the command's", w.stdout.String())
	}
	text := w.read("cmd_single_thread_analysis.txt")
	if value(t, text, "window") < 0.5 || value(t, text, "threads") != 2 || value(t, text, "of") != 2 {
		t.Errorf("a shell and its child are reported as:\n%s", text)
	}
	if strings.Contains(w.read("cmd.folded"), "wprof-record") {
		t.Errorf("the recorder, which the command was before, is reported as well:\n%s", w.read("cmd.folded"))
	}
	w = script(t, "--", "true").run()
	if all, _ := filepath.Glob(w.dir + "/combined_profile_true_*.svg"); len(all) != 1 {
		t.Errorf("without -o it leaves %v", w.files())
	}
}

func TestFileNamesHaveProcessAndTime(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	pid := sleeper(t, "300").Process.Pid
	w := script(t, strconv.Itoa(pid), "-d.2").run()
	for _, name := range w.files() {
		if !regexp.MustCompile(fmt.Sprintf(`^combined_profile_pid%d_\d{8}_\d{6}(\.svg|\.folded|\.wprof|_single_thread_analysis\.txt)$`, pid)).MatchString(name) {
			t.Errorf("a file is called %s", name)
		}
	}
}

func TestSudoIsUsedOnlyWhereItIsNeeded(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	w := script(t, strconv.Itoa(sleeper(t, "300").Process.Pid), "-d", "1")
	sudo := t.TempDir()
	if err := os.WriteFile(filepath.Join(sudo, "sudo"), []byte("#!/bin/sh\necho \"sudo $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{w.dir, sudo, filepath.Dir(w.cmd.Path)} {
		for _, dir := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.cmd.Env = append(w.cmd.Env, "PATH="+tools.Folder()+":"+sudo+":/usr/bin:/bin", "TMPDIR=/tmp")
	w.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	w.run()
	if want := "sudo -- " + w.cmd.Path + " " + strings.Join(w.cmd.Args[1:], " ") + "\n"; w.stdout.String() != want {
		t.Errorf("it goes on by %q, want %q", w.stdout.String(), want)
	}
}

func TestFilesBelongToWhoCalledSudo(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	w := script(t, startKnown(t, 1).PIDText(), "-d0.3", "-o", "mine")
	w.cmd.Env = append(w.cmd.Env, "SUDO_UID=65534", "SUDO_GID=65533")
	w.run()
	names := append(w.files(), "multithread_mine")
	if len(names) < 10 {
		t.Errorf("it leaves but %v", names)
	}
	for _, name := range names {
		st, err := os.Stat(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if owner := st.Sys().(*syscall.Stat_t); owner.Uid != 65534 || owner.Gid != 65533 {
			t.Errorf("%s belongs to %d, group %d", name, owner.Uid, owner.Gid)
		}
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	w := script(t, "--help").run()
	for line := range strings.Lines(w.stdout.String()) {
		if len(line) > 81 {
			t.Errorf("%q is wider than 80 columns", line)
		}
	}
}

func TestVersionAndCompletionNeedNoProcess(t *testing.T) {
	version := script(t, "--version").run()
	if got := version.stdout.String(); !strings.HasPrefix(got, "wprof-wallclock ") || strings.Count(got, "\n") != 1 {
		t.Errorf("--version prints %q", got)
	}
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		text := script(t, "--completion", shell).run().stdout.String()
		for _, flag := range []string{"duration", "frequency", "min-block", "output", "children", "help", "version", "completion"} {
			if !strings.Contains(text, flag) {
				t.Errorf("the completion for %s lacks --%s:\n%s", shell, flag, text)
			}
		}
		if path, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(path, check...)
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s does not accept its completion: %v: %s", shell, err, out)
			}
		}
	}
	w := script(t, "--completion", "tcsh")
	if status := w.start().wait(); status != 2 || w.stderr.String() != "wprof-wallclock: --completion tcsh: valid are bash, zsh, fish\n" {
		t.Errorf("for tcsh the status is %d: %q", status, w.stderr.String())
	}
}

// A process of several threads that is there for a part of the window is not idle in the rest of it.
func TestShortLifeInALongWindowIsNotIdle(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	fifo, capture := filepath.Join(t.TempDir(), "fifo"), filepath.Join(t.TempDir(), "x.wprof")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	waits := exec.Command(tools.Path("wprof-info"), fifo) // a Go program, which has several threads, waits for the other end
	tools.Record(t, capture, nil, func() {
		if err := waits.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(800 * time.Millisecond)
		_ = waits.Process.Kill()
		_ = waits.Wait()
		time.Sleep(2 * time.Second)
	})
	text := string(tools.Run(t, "wprof-flame", "--analysis", "-p", strconv.Itoa(waits.Process.Pid), capture))
	reading := regexp.MustCompile(`(?m)^reading: +short-lived: the threads were there for ([0-9.]+) s`).FindStringSubmatch(text)
	if reading == nil || value(t, text, "threads") < 3 {
		t.Fatalf("a process that lived for a fourth of the window is reported as:\n%s", text)
	}
	if lived, _ := strconv.ParseFloat(reading[1], 64); lived < 0.8 || lived > value(t, text, "window")-2 {
		t.Errorf("a process of 0.8 s was there for %v s:\n%s", lived, text)
	}
}

// Flags that choose threads choose whose waits are shown, not who may have ended them.
func TestChainsOfOneProcessAreThoseOfTheWholeCapture(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.wprof")
	tools.Run(t, "wprof-record", "-a", "-S+waker", "--offcpu-min=0", "-o", file, "--", "sh", "-c",
		"for i in 1 2 3 4 5 6 7 8; do echo $i | sed s/1/2/ | cat | grep -c x; sleep 0.02; done >&2")
	chains := func(args ...string) (lines []string) {
		for line := range strings.Lines(string(tools.Run(t, "wprof-flame", append([]string{"--wakeup-chain", "8", file}, args...)...))) {
			lines = append(lines, strings.ReplaceAll(line, ";[idle]", "")) // a wait for a child is idle where the child is selected too
		}
		slices.Sort(lines)
		return lines
	}
	whole, longest := map[string][]string{}, 0
	for _, line := range chains() {
		root, _, _ := strings.Cut(line, ";")
		pid := root[strings.LastIndexByte(root, '-')+1:]
		if _, err := strconv.Atoi(pid); err == nil && strings.Contains(root, "-") {
			whole[pid] = append(whole[pid], line)
		}
	}
	wakers := func(lines []string) (most int) {
		for _, line := range lines {
			most = max(most, strings.Count(line, ";--;"))
		}
		return most
	}
	pids := slices.SortedFunc(maps.Keys(whole), func(a, b string) int { return cmp.Compare(wakers(whole[b]), wakers(whole[a])) })
	compared := 0
	for _, pid := range pids {
		want := whole[pid]
		if name, _, _ := strings.Cut(want[0], "-"); !slices.Contains([]string{"sh", "sed", "cat", "grep", "sleep"}, strings.Fields(name)[0]) || compared == 12 {
			continue
		}
		compared++
		longest = max(longest, wakers(want))
		if got := chains("-p", pid); !slices.Equal(got, want) {
			t.Errorf("with -p %s the chains are\n%swithout\n%s", pid, strings.Join(got, ""), strings.Join(want, ""))
		}
	}
	if compared < 8 || longest < 2 {
		t.Errorf("%d processes are compared, with up to %d wakers", compared, longest)
	}
}
