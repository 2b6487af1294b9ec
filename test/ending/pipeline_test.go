//go:build linux

package ending

import (
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
	"google.golang.org/protobuf/encoding/protowire"

	"wprof/test/tools"
)

// pipeline is wprof-record | wprof-filter | wprof-perfetto -o t.pb, in one process group as a shell starts it.
type pipeline struct {
	t      testing.TB
	dir    string // with t.pb, and the recorder's spool while it has one
	tools  [3]*exec.Cmd
	stderr [3]tools.Buffer
}

const (
	recorder = iota
	filter
	perfetto
)

// group names all of them as a target of signals.
const group = -1

func startPipeline(t testing.TB, recorderArgs ...string) *pipeline {
	t.Helper()
	p := &pipeline{t: t, dir: t.TempDir()}
	p.tools[recorder] = exec.Command(tools.Path("wprof-record"), append([]string{"-v"}, recorderArgs...)...)
	p.tools[filter] = exec.Command(tools.Path("wprof-filter"))
	p.tools[perfetto] = exec.Command(tools.Path("wprof-perfetto"), "-o", filepath.Join(p.dir, "t.pb"))
	var ends []*os.File
	for i := range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.tools[i].Stdout, p.tools[i+1].Stdin = w, r
		ends = append(ends, r, w)
	}
	pgid := 0
	for i, cmd := range p.tools {
		cmd.Env = append(os.Environ(), "TMPDIR="+p.dir)
		cmd.Stderr = &p.stderr[i]
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: pgid}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			pgid = cmd.Process.Pid
		}
	}
	for _, f := range ends {
		f.Close()
	}
	t.Cleanup(func() { _ = syscall.Kill(-pgid, syscall.SIGKILL) })
	return p
}

func (p *pipeline) pid(i int) int { return p.tools[i].Process.Pid }

// until waits for something that takes as long as the machine is busy.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// inSyscall reports whether a thread of the process is in the system call, with that first argument.
func inSyscall(pid, number, argument int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.HasPrefix(string(text), fmt.Sprintf("%d %#x ", number, argument)) {
			return true
		}
	}
	return false
}

// reading waits until both readers wait for their input: from then on they take a first signal as the recorder's.
func (p *pipeline) reading() {
	p.t.Helper()
	for _, i := range []int{filter, perfetto} {
		until(p.t, "a reader waits for its input", func() bool { return inSyscall(p.pid(i), unix.SYS_READ, 0) })
	}
}

// hasPrograms reports whether the recorder has loaded anything into the kernel, and has not unloaded it.
func (p *pipeline) hasPrograms() bool {
	held := attached{}
	held.heldBy(strconv.Itoa(p.pid(recorder)))
	return len(held) > 0
}

// Stages of a recording's life.
const (
	starting   = "before the window is open"
	recording  = "recording"
	finalising = "finalising"
)

// reach waits for a stage. In the last one the filter is stopped, so that the recorder cannot come to its end. It is stopped before the
// window opens: on a busy machine the window may be closed, and all written, before the test sees that it was open.
func (p *pipeline) reach(stage string) {
	p.t.Helper()
	p.reading()
	until(p.t, "the recorder has loaded something", p.hasPrograms)
	if stage == starting {
		return
	}
	if stage == finalising {
		p.signal(filter, syscall.SIGSTOP)
		p.narrow(filter)
	}
	until(p.t, "the window is open", func() bool { return strings.Contains(p.stderr[recorder].String(), "window open") })
	if stage == recording {
		time.Sleep(100 * time.Millisecond)
		return
	}
	until(p.t, "the recorder waits for its reader", func() bool { return inSyscall(p.pid(recorder), unix.SYS_WRITE, 1) && !p.hasPrograms() })
}

// narrow makes the pipe that a tool reads hold less than a recording has, after both of its ends have widened it.
func (p *pipeline) narrow(i int) {
	p.t.Helper()
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", p.pid(i)), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 64<<10); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pipeline) signal(target int, sig syscall.Signal) {
	pid := -p.pid(recorder)
	if target != group {
		pid = p.pid(target)
	}
	_ = syscall.Kill(pid, sig)
}

// wait returns the exit statuses.
func (p *pipeline) wait() (statuses [3]int) {
	p.t.Helper()
	late := time.AfterFunc(2*time.Minute, func() { p.signal(group, syscall.SIGKILL) })
	for i, cmd := range p.tools {
		_ = cmd.Wait()
		statuses[i] = tools.Status(cmd.ProcessState)
	}
	if !late.Stop() {
		p.t.Errorf("the pipeline does not end: %v", p.said())
	}
	return statuses
}

// said is what the tools say, without what -v adds.
func (p *pipeline) said() (all [3]string) {
	for i := range all {
		for line := range strings.Lines(p.stderr[i].String()) {
			if !strings.Contains(line, "window open") && !strings.Contains(line, "user stacks look cut") && !strings.Contains(line, "tmpfs") {
				all[i] += line
			}
		}
	}
	return all
}

// packets are the whole packets of a trace; -1: it is damaged.
func packets(t testing.TB, file string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for len(raw) > 0 {
		number, typ, length := protowire.ConsumeField(raw)
		if length < 0 || number != 1 || typ != protowire.BytesType {
			return -1
		}
		raw = raw[length:]
		n++
	}
	return n
}

// complete checks that the trace is there, whole, and alone, with a number of packets at least: a recorder that was ended before it
// had written all leaves the readers the definitions of its stream.
func (p *pipeline) complete(atLeast int) {
	p.t.Helper()
	if left := names(p.t, p.dir); !slices.Equal(left, []string{"t.pb"}) {
		p.t.Fatalf("the folder holds %v, want the trace: %v", left, p.said())
	}
	if n := packets(p.t, filepath.Join(p.dir, "t.pb")); n < atLeast {
		p.t.Errorf("the trace has %d packets", n)
	}
}

// TestFirstSignalEndsAPipelineInOrder sends one signal to one tool, or to all as a terminal does, and wants everything
// that was recorded in the trace.
func TestFirstSignalEndsAPipelineInOrder(t *testing.T) {
	tools.NeedPrivilege(t)
	stampsFor(t, 10*time.Minute)
	before := everything(t)
	for _, c := range []struct {
		stage   string
		target  int
		signals []syscall.Signal
		ends    bool // the signal ends the recording
	}{
		{starting, group, []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}, true},
		{starting, recorder, []syscall.Signal{unix.SIGINT}, true},
		{starting, filter, []syscall.Signal{unix.SIGTERM}, false},
		{starting, perfetto, []syscall.Signal{unix.SIGHUP}, false},
		{starting, group, []syscall.Signal{unix.SIGPIPE}, false},
		{recording, group, []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}, true},
		{recording, recorder, []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}, true},
		{recording, filter, []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}, false},
		{recording, perfetto, []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}, false},
		{recording, group, []syscall.Signal{unix.SIGPIPE}, false},
		{finalising, group, []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE}, true},
		{finalising, recorder, []syscall.Signal{unix.SIGINT}, true},
		{finalising, filter, []syscall.Signal{unix.SIGINT}, true},
		{finalising, perfetto, []syscall.Signal{unix.SIGINT}, true},
	} {
		for _, sig := range c.signals {
			t.Run(fmt.Sprintf("%s/%s to %s", c.stage, unix.SignalName(sig), targetName(c.target)), func(t *testing.T) {
				t.Parallel()
				p := startPipeline(t, stageArgs[c.stage]...)
				p.reach(c.stage)
				held := attached{}
				held.heldBy(strconv.Itoa(p.pid(recorder)))
				p.signal(c.target, sig)
				if c.stage == finalising {
					p.signal(filter, syscall.SIGCONT)
				} else if !c.ends {
					until(t, "the window is open", func() bool { return strings.Contains(p.stderr[recorder].String(), "window open") })
					time.Sleep(100 * time.Millisecond)
					if !p.hasPrograms() {
						t.Error("the signal has ended the recording")
					}
					p.signal(recorder, unix.SIGINT)
				}
				if got := p.wait(); got != [3]int{} {
					t.Errorf("exit statuses %v: %q", got, p.said())
				}
				if said := p.said(); !strings.HasPrefix(said[recorder], "wprof-record: recorded ") || said[filter]+said[perfetto] != "" {
					t.Errorf("they say %q", said)
				}
				p.complete(100)
				nothingLeft(t, before, held)
			})
		}
	}
}

func targetName(target int) string {
	return map[int]string{group: "all", recorder: "wprof-record", filter: "wprof-filter", perfetto: "wprof-perfetto"}[target]
}

// stageArgs let a recorder reach a stage: what is finalised must be more than the pipe holds. Stacks
// take most of the time before the window and after it, where they may be what a signal interrupts.
var stageArgs = map[string][]string{
	starting:   {"-d100s"},
	recording:  {"-d100s", "--no-stacks"},
	finalising: {"-d1500ms", "-Sall", "--offcpu-min=0"},
}

// insist sends a signal until the tool has ended: signals that come at the same time are one.
func (p *pipeline) insist(target int, sig syscall.Signal) {
	p.t.Helper()
	until(p.t, "the tool ends", func() bool {
		_ = syscall.Kill(p.pid(target), sig)
		time.Sleep(20 * time.Millisecond)
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid(target)))
		return len(state) == 0 || strings.Contains(string(state), ") Z ")
	})
}

// TestSecondSignalEndsATool: the tool ends by the signal, the ones before it quietly, the ones after it with what they
// have been given.
func TestSecondSignalEndsATool(t *testing.T) {
	tools.NeedPrivilege(t)
	stampsFor(t, 10*time.Minute)
	before := everything(t)
	const pipe = 128 + int(unix.SIGPIPE)
	for _, c := range []struct {
		stage  string
		target int
		sig    syscall.Signal
		want   [3]int
		trace  bool // there is one; else nothing
	}{
		{finalising, recorder, unix.SIGINT, [3]int{130, 4, 0}, true},
		{finalising, recorder, unix.SIGTERM, [3]int{143, 4, 0}, true},
		{recording, filter, unix.SIGINT, [3]int{pipe, 130, 1}, false},
		{recording, filter, unix.SIGHUP, [3]int{pipe, 129, 1}, false},
		{recording, perfetto, unix.SIGINT, [3]int{pipe, pipe, 130}, false},
		{starting, perfetto, unix.SIGTERM, [3]int{pipe, pipe, 143}, false},
		{finalising, perfetto, unix.SIGINT, [3]int{pipe, pipe, 130}, false},
	} {
		t.Run(fmt.Sprintf("%s/%s to %s", c.stage, unix.SignalName(c.sig), targetName(c.target)), func(t *testing.T) {
			t.Parallel()
			p := startPipeline(t, stageArgs[c.stage]...)
			p.reach(c.stage)
			held := attached{}
			held.heldBy(strconv.Itoa(p.pid(recorder)))
			p.insist(c.target, c.sig)
			p.signal(filter, syscall.SIGCONT)
			if got := p.wait(); got != c.want {
				t.Errorf("exit statuses %v, want %v: %q", got, c.want, p.said())
			}
			for i, said := range p.said() {
				if quiet := i <= c.target; quiet == (said != "") && c.want[i] != 0 {
					t.Errorf("%s says %q", targetName(i), said)
				}
			}
			if c.trace {
				p.complete(10)
			} else if left := names(t, p.dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			nothingLeft(t, before, held)
		})
	}
}

// TestSecondSignalBeforeTheWindowLeavesNothing: with -o there is a spool by then, which holds nothing.
func TestSecondSignalBeforeTheWindowLeavesNothing(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	p := &pipeline{t: t}
	p.tools[recorder] = exec.Command(tools.Path("wprof-record"), "-v", "-d60s", "-o", filepath.Join(dir, "x.wprof"))
	cmd := p.tools[recorder]
	cmd.Stderr = &p.stderr[recorder]
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "there is a spool", func() bool { return len(names(t, dir)) > 0 })
	p.insist(recorder, unix.SIGINT)
	_ = cmd.Wait()
	opened := strings.Contains(p.stderr[recorder].String(), "window open")
	left := names(t, dir)
	switch status := tools.Status(cmd.ProcessState); {
	case status == 130 && !opened && len(left) == 0:
	case status == 130 && opened && slices.Equal(left, []string{"x.wprof.part"}):
	case status == 0 && opened && slices.Equal(left, []string{"x.wprof"}):
	default:
		t.Errorf("status %d, the folder holds %v: %s", status, left, p.stderr[recorder].String())
	}
}

// TestQuitEndsARecorderAtOnce, and its spool stays.
func TestQuitEndsARecorderAtOnce(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.wprof")
	r := tools.Start(t, "-d100s", "-o", file)
	early := filepath.Join(t.TempDir(), "early")
	until(t, "there is a whole round in the spool", func() bool {
		return tools.Try(t, time.Minute, nil, "wprof-symbolize", "--no-lines", file+".part", "-o", early).Status == 4
	})
	must(t, r.Cmd.Process.Signal(unix.SIGQUIT))
	if got, said := r.Wait(), r.Stderr.String(); got != 128+int(unix.SIGQUIT) || !strings.HasSuffix(said, keptLine(file)) || strings.Contains(said, "goroutine") {
		t.Errorf("status %d: %.300q", got, said)
	}
	if left := names(t, dir); !slices.Equal(left, []string{"x.wprof.part"}) {
		t.Errorf("the folder holds %v", left)
	}
	if r := tools.Try(t, time.Minute, nil, "wprof-symbolize", "--no-lines", file+".part", "-o", file); r.Status != 4 {
		t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
	}
	whole(t, file)
}

// keptLine is the message of a recorder that is ended by a signal while its window is open.
func keptLine(file string) string {
	return fmt.Sprintf("wprof-record: ended by a signal; what was recorded is kept: to finish it, run wprof-symbolize %s.part -o %[1]s\n", file)
}

// TestSecondSignalWhileFinalisingKeepsTheSpool: two signals at once, of two kinds so that they do not become one.
func TestSecondSignalWhileFinalisingKeepsTheSpool(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps := stamps(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.wprof")
	p := &pipeline{t: t}
	p.tools[recorder] = exec.Command(tools.Path("wprof-record"), "-v", "-d1s", "-Sall", "--offcpu-min=0", "-o", file)
	cmd := p.tools[recorder]
	cmd.Stderr = &p.stderr[recorder]
	must(t, cmd.Start())
	until(t, "the window is open", func() bool { return strings.Contains(p.stderr[recorder].String(), "window open") })
	until(t, "the recorder finalises", func() bool { return !p.hasPrograms() })
	for _, sig := range []syscall.Signal{unix.SIGSTOP, unix.SIGINT, unix.SIGTERM, unix.SIGCONT} {
		_ = cmd.Process.Signal(sig)
	}
	_ = cmd.Wait()
	left := names(t, dir)
	switch status := tools.Status(cmd.ProcessState); {
	case status == 130 || status == 143:
		if said := p.said()[recorder]; said != keptLine(file) || !slices.Equal(left, []string{"x.wprof.part"}) {
			t.Fatalf("the folder holds %v, said: %q", left, said)
		}
		if r := tools.Try(t, time.Minute, nil, "wprof-symbolize", "--no-lines", file+".part", "-o", file); r.Status != 0 {
			t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
		}
	case status == 0 && slices.Equal(left, []string{"x.wprof"}): // it was faster
	default:
		t.Fatalf("status %d, the folder holds %v: %s", status, left, p.stderr[recorder].String())
	}
	if n := whole(t, file).compare(t, readStamps(t, stamps)); n < 100 {
		t.Errorf("%d departures could be compared", n)
	}
}

// startMaps runs processes with generated code, each with a map file of 100 MiB.
func startMaps(t *testing.T, processes int) {
	t.Helper()
	w := tools.StartWorkload(t, exec.Command(tools.Path("maps"), fmt.Sprint(processes), fmt.Sprint(100<<20)))
	maps := w.Until("ready")
	t.Cleanup(func() {
		for _, path := range maps {
			_ = os.Remove(strings.TrimSpace(path))
		}
	})
}

// TestFirstSignalWhileNamingLeavesNamesOut: any user can have map files that take long to read. The first signal ends that
// within a second, and the recording is whole but for names.
func TestFirstSignalWhileNamingLeavesNamesOut(t *testing.T) {
	tools.NeedPrivilege(t)
	const processes = 2
	startMaps(t, processes)
	file := filepath.Join(t.TempDir(), "x.wprof")
	p := &pipeline{t: t}
	cmd := exec.Command(tools.Path("wprof-record"), "-v", "-d4s", "-o", file)
	p.tools[recorder], cmd.Stderr = cmd, &p.stderr[recorder]
	must(t, cmd.Start())
	until(t, "the window is open", func() bool { return strings.Contains(p.stderr[recorder].String(), "window open") })
	until(t, "the recorder finalises", func() bool { return !p.hasPrograms() })
	_ = cmd.Process.Signal(unix.SIGTERM)
	_ = cmd.Wait()
	said := p.stderr[recorder].String()
	if status := tools.Status(cmd.ProcessState); status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	cut := strings.Contains(said, "naming of functions was ended by a signal") || strings.Contains(said, afterSignal)
	if functions := compiled(t, file); !cut && functions < processes {
		t.Errorf("%d places in the code of %d processes have names, and it says %q", functions, processes, said)
	}
	if r := tools.Try(t, time.Minute, nil, "wprof-info", "--check", file); r.Status != 0 {
		t.Errorf("wprof-info --check: status %d: %s", r.Status, r.Stderr)
	}
	signalBehindAPipe(t, file, processes)
}

const afterSignal = "were read for a second at most after the signal"

// compiled is how many places in generated code have names.
func compiled(t *testing.T, file string) int {
	t.Helper()
	return strings.Count(string(tools.Run(t, "wprof-info", "--dump", file)), `line function="compiled"`)
}

// signalBehindAPipe has wprof-symbolize name generated code from a pipe, and sends it a signal when it reads: it goes on to the
// end, but reads map files for a second only.
func signalBehindAPipe(t *testing.T, file string, processes int) {
	t.Helper()
	stream, err := os.ReadFile(file)
	must(t, err)
	r, w, err := os.Pipe()
	must(t, err)
	named := filepath.Join(t.TempDir(), "named.wprof")
	cmd := exec.Command(tools.Path("wprof-symbolize"), "-o", named)
	var said tools.Buffer
	cmd.Stdin, cmd.Stderr = r, &said
	must(t, cmd.Start())
	r.Close()
	some := min(len(stream), 16<<10)
	_, err = w.Write(stream[:some])
	must(t, err)
	until(t, "the tool reads", func() bool {
		left, err := unix.IoctlGetInt(int(w.Fd()), unix.TIOCINQ)
		return err == nil && left == 0
	})
	_ = cmd.Process.Signal(unix.SIGTERM)
	_, err = w.Write(stream[some:])
	must(t, err)
	w.Close()
	_ = cmd.Wait()
	if status := tools.Status(cmd.ProcessState); status != 0 {
		t.Fatalf("wprof-symbolize: status %d: %s", status, said.String())
	}
	functions := compiled(t, named)
	if !strings.Contains(said.String(), afterSignal) && functions < processes {
		t.Errorf("wprof-symbolize: %d places in the code of %d processes have names, and it says %q", functions, processes, said.String())
	}
}

// TestSignalThatEndsTheRecordingShortensNaming: map files of other users do not delay the end. The recording has
// its events, and says which names may be missing.
func TestSignalThatEndsTheRecordingShortensNaming(t *testing.T) {
	tools.NeedPrivilege(t)
	const processes = 4
	startMaps(t, processes)
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		r := tools.Start(t, "-d0", "-Stimer=997hz", "-o", file)
		time.Sleep(2 * time.Second) // until all have been sampled: each runs for 2% of the time
		must(t, r.Cmd.Process.Signal(sig))
		if status := r.Wait(); status != 0 {
			t.Fatalf("%v: status %d: %s", sig, status, r.Stderr.String())
		}
		named := compiled(t, file)
		if said := r.Stderr.String(); !strings.Contains(said, afterSignal) && named < processes {
			t.Errorf("%v: %d places in the code of %d processes have names, and it says %q", sig, named, processes, said)
		}
		if r := tools.Try(t, time.Minute, nil, "wprof-info", "--check", file); r.Status != 0 {
			t.Errorf("%v: wprof-info --check: status %d: %s", sig, r.Status, r.Stderr)
		}
	}
}
