//go:build linux

package ending

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/internal/proc"
	"wprof/test/tools"
)

// startNamed starts a copy of a program under another name, on the first CPU.
func startNamed(t testing.TB, name, program string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	content, err := os.ReadFile(program)
	must(t, err)
	must(t, os.WriteFile(path, content, 0o700))
	cmd := exec.Command("taskset", append([]string{"-c", "0", path}, args...)...)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// Each condition leads to a snapshot with what caused it, and what does not fulfil it leads to none.
func TestSnapshotsAreTakenWhenConditionsHold(t *testing.T) {
	tools.NeedPrivilege(t)
	own := fmt.Sprintf("w%d-", os.Getpid()) // others that test here have names like these
	for name, c := range map[string]struct {
		condition string
		flags     []string
		harmless  func(t *testing.T)
		cause     func(t *testing.T, r *tools.Recorder)
		want      string // regular expression
	}{
		"a thread that is blocked": {
			condition: "offcpu:" + own + "nap*>300ms", flags: []string{"-n", own + "*"},
			harmless: func(t *testing.T) {
				must(t, startNamed(t, own+"nap", "/bin/sleep", "0.1").Wait())
				must(t, startNamed(t, own+"other", "/bin/sleep", "0.5").Wait())
			},
			cause: func(t *testing.T, _ *tools.Recorder) {
				must(t, startNamed(t, own+"nap2", "/bin/sleep", "0.5").Wait())
			},
			want: `offcpu:` + own + `nap\*>300ms: thread \d+ \(` + own + `nap2\) was blocked for (5\d\d|[6-9]\d\d|\d\.\d*)`,
		},
		"a thread that is blocked while the recorder does not run": {
			condition: "offcpu:" + own + "nap*>300ms", flags: []string{"-n", own + "*"},
			harmless: func(t *testing.T) { must(t, startNamed(t, own+"nap", "/bin/sleep", "0.1").Wait()) },
			cause: func(t *testing.T, r *tools.Recorder) {
				must(t, r.Cmd.Process.Signal(syscall.SIGSTOP))
				must(t, startNamed(t, own+"nap2", "/bin/sleep", "0.5").Wait())
				must(t, r.Cmd.Process.Signal(syscall.SIGCONT))
			},
			want: `offcpu:` + own + `nap\*>300ms: thread \d+ \(` + own + `nap2\) was blocked for (5\d\d|[6-9]\d\d|\d\.\d*)`,
		},
		"a thread that waits for a CPU": {
			condition: "runq:" + own + "hog>15ms", flags: []string{"-n", own + "*"},
			harmless: func(t *testing.T) {
				_ = startNamed(t, own+"other", tools.Path("steady"))
				_ = startNamed(t, own+"other", tools.Path("steady"))
				time.Sleep(500 * time.Millisecond)
			},
			cause: func(t *testing.T, _ *tools.Recorder) {
				for range 8 {
					_ = startNamed(t, own+"hog", "/bin/sh", "-c", "while :; do :; done")
				}
			},
			want: `runq:` + own + `hog>15ms: thread \d+ \(` + own + `hog\) was waiting for a CPU for \d+`,
		},
		"a process that is ended by a signal": {
			condition: "crash", flags: []string{"-n", own + "*"},
			harmless: func(t *testing.T) {
				for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
					cmd := startNamed(t, own+"good", "/bin/sleep", "60")
					time.Sleep(300 * time.Millisecond)
					must(t, cmd.Process.Signal(sig))
					_ = cmd.Wait()
				}
				cmd := startNamed(t, "not-recorded", "/bin/sleep", "60")
				time.Sleep(100 * time.Millisecond)
				must(t, cmd.Process.Signal(syscall.SIGSEGV))
				_ = cmd.Wait()
			},
			cause: func(t *testing.T, _ *tools.Recorder) {
				cmd := startNamed(t, own+"bad", "/bin/sleep", "60")
				time.Sleep(300 * time.Millisecond)
				must(t, cmd.Process.Signal(syscall.SIGSEGV))
				_ = cmd.Wait()
			},
			want: `crash: process \d+ \(` + own + `bad\) was ended by SIGSEGV`,
		},
		"a span that is too long": {
			condition: "slow:st>500us", flags: []string{"-U", "uspan:steady_function (path:" + tools.Path("steady") + ") | id:st |"},
			harmless: func(t *testing.T) { must(t, startNamed(t, own+"other", "/bin/sleep", "0.2").Wait()) },
			cause:    func(t *testing.T, _ *tools.Recorder) { _ = steadyNamed(t) },
			want:     `slow:st>500us: thread \d+( \(\S+\))?, \d+(\.\d+)?ms`,
		},
		"a system call that is too long": {
			condition: "slow:syscall:*nanosleep>300ms", flags: []string{"-f", "syscall", "-n", own + "*"},
			harmless: func(t *testing.T) {
				must(t, startNamed(t, own+"nap", "/bin/sleep", "0.1").Wait())
				must(t, startNamed(t, own+"sh", "/bin/sh", "-c", "sleep 0.5").Wait()) // wait4
			},
			cause: func(t *testing.T, _ *tools.Recorder) { must(t, startNamed(t, own+"nap", "/bin/sleep", "0.5").Wait()) },
			want:  `slow:syscall:\*nanosleep>300ms: thread \d+( \(\S+\))?, (5\d\d|[6-9]\d\d)(\.\d+)?ms`,
		},
		"a counter over a limit": {
			condition: "counter:page-faults@" + own + "fault*>10k/s", flags: []string{"-n", own + "*", "--pmu", "page-faults"},
			harmless: func(t *testing.T) {
				must(t, startNamed(t, own+"fault", "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=1", "status=none").Wait())
				must(t, startNamed(t, own+"other", "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1", "status=none").Wait())
			},
			cause: func(t *testing.T, _ *tools.Recorder) {
				must(t, startNamed(t, own+"fault2", "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1", "status=none").Wait())
			},
			want: `counter:page-faults@` + own + `fault\*>10k/s: page-faults 1\d,\d\d\d in 1s\)`,
		},
		"what a probe counts": {
			condition: "counter:st>2/s", flags: []string{"-U", "u:steady_function (path:" + tools.Path("steady") + ") | id:st, count |"},
			harmless: func(*testing.T) {},
			cause:    func(t *testing.T, _ *tools.Recorder) { _ = steadyNamed(t) },
			want:     `counter:st>2/s: \d+ events in 1s\)`,
		},
		"an event of a probe": {
			condition: "st", flags: []string{"-U", "u:steady_function (path:" + tools.Path("steady") + ") | id:st |"},
			harmless: func(*testing.T) {},
			cause:    func(t *testing.T, _ *tools.Recorder) { _ = steadyNamed(t) },
			want:     `st: thread \d+`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tools.DiskFolder(t)
			r := tools.Start(t, append(c.flags, "-F1s", "--no-stacks", "--snapshot-on", c.condition, "--snapshot-every=1h", "-o", filepath.Join(dir, "x.wprof"))...)
			c.harmless(t)
			time.Sleep(200 * time.Millisecond)
			if text := r.Stderr.String(); strings.Contains(text, ": snapshot ") {
				t.Errorf("what does not fulfil the condition leads to a snapshot: %s", text)
			}
			began := proc.Monotonic()
			c.cause(t, r)
			awaitMessages(t, r, func(text string) bool { return strings.Contains(text, ": snapshot ") })
			time.Sleep(300 * time.Millisecond) // what comes in the pause is ignored
			stopFlight(t, r)
			if text := r.Stderr.String(); !regexp.MustCompile(`: snapshot \S+ \(` + c.want).MatchString(text) {
				t.Errorf("it says %s, want %s", text, c.want)
			}
			if left := fmt.Sprint(names(t, dir)); left != "[x.1.wprof x.wprof]" {
				t.Errorf("the folder holds %s", left)
			}
			s := whole(t, filepath.Join(dir, "x.1.wprof"))
			if s.close < began {
				t.Errorf("the snapshot ends %d ms before what caused it began", (began-s.close)/1e6)
			}
			isMarked(t, filepath.Join(dir, "x.1.wprof"), c.condition, began-s.open, s.close-s.open)
		})
	}
}

// typedRow is an event of a type in JSON lines, as far as tests need it.
type typedRow struct {
	TS   float64 `json:"ts"`
	Name string  `json:"name"`
	Open string  `json:"open"`
	Dur  float64 `json:"dur"`
	Task struct {
		TID int `json:"tid"`
	} `json:"task"`
	Args struct {
		Condition string `json:"condition"`
		Thread    any    `json:"thread"`
	} `json:"args"`
}

// typed returns the events of a type in a capture.
func typed(t testing.TB, file, name string) (all []typedRow) {
	t.Helper()
	for line := range bytes.Lines(tools.Run(t, "wprof-json", file)) {
		if !bytes.Contains(line, []byte(`"name":"`+name+`"`)) {
			continue
		}
		var row typedRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if row.Name == name {
			all = append(all, row)
		}
	}
	return all
}

// isMarked checks that the timeline of a snapshot shows its trigger once, between two times after its opening, with the thread if it is about one.
func isMarked(t testing.TB, file, condition string, from, to int64) {
	t.Helper()
	marks := typed(t, file, "snapshot")
	if len(marks) != 1 || marks[0].Args.Condition != condition || marks[0].TS*1e9 < float64(from) || marks[0].TS*1e9 > float64(to) ||
		(marks[0].Args.Thread == nil) != strings.HasPrefix(condition, "counter:") {
		t.Errorf("the timeline shows the triggers %+v, want %s from %d to %d", marks, condition, from, to)
	}
}

// steadyNamed starts the program whose function has probes.
func steadyNamed(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(tools.Path("steady"))
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestConditionsThatCannotHoldAreRefused(t *testing.T) {
	tools.NeedPrivilege(t)
	for typed, want := range map[string]string{
		"-F --snapshot-on nosuch":                                "--snapshot-on nosuch: no probe has the id nosuch; -U defines probes",
		"-F --snapshot-on crsh":                                  "--snapshot-on crsh: no probe has the id crsh (did you mean crash?); -U defines probes",
		"-F --snapshot-on slow:block:*>1s":                       "--snapshot-on slow:block:*>1s: these events are not recorded: add -f block",
		"-F --snapshot-on slow:syscall:nosuch>1s -f syscall":     "--snapshot-on slow:syscall:nosuch>1s: no span of syscall that is recorded has such a name",
		"-F --snapshot-on slow:syscall:write>1s -f syscall=read": "--snapshot-on slow:syscall:write>1s: no span of syscall that is recorded has such a name",
		"-F --snapshot-on crash -f no-task-life":                 "--snapshot-on crash: these events are switched off by -f",
		"-F --snapshot-on slow:x":                                `--snapshot-on: "slow:x" has no limit: write slow:x>50ms`,
		"-F --snapshot-every 5s":                                 "--snapshot-every is a pause in which conditions are ignored: add --snapshot-on CONDITION",
		"--snapshot-on crash":                                    "--snapshot-on is for snapshots of a flight recorder: add -F",
		"-F --snapshot-on offcpu:>1s -f no-sched -Swaker":        "--snapshot-on offcpu:>1s: these events are switched off by -f",

		"-F --snapshot-on counter:cs>1/s":                  "--snapshot-on counter:cs>1/s: no counter is called cs; --pmu EVENT counts one, and so does a probe with count (-U)",
		"-F --snapshot-on counter:faults>1 --pmu faults":   "--snapshot-on counter:faults>1: faults is a number of events, which needs a time: write counter:faults>1/s or counter:faults>1/100ms",
		"-F --snapshot-on counter:fautls>1/s --pmu faults": "--snapshot-on counter:fautls>1/s: no counter is called fautls; did you mean faults?",
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-record", append(strings.Fields(typed), "-o", filepath.Join(t.TempDir(), "x"))...)
		if text := string(r.Stderr); r.Status != 2 || text != "wprof-record: "+want+"\n" {
			t.Errorf("%q: status %d: %q, want 2: %q", typed, r.Status, text, want)
		}
	}
}
