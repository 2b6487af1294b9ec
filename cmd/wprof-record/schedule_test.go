//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/test/tools"
)

// requested is when the window was to open, by the wall clock, and how late it opened.
func (c *recording) requested() (at time.Time, late time.Duration) {
	return format.WallTime(c.session.Clocks, c.session.Requested), time.Duration(c.session.Open - c.session.Requested)
}

const isoTime = "2006-01-02T15:04:05.000Z07:00"

// closeTo allows for the clock being slewed between two readings.
const closeTo = time.Millisecond

// TestWindowOpensAtTheRequestedInstant: a machine that is so busy that preparing a recording takes 8 s refuses what is requested here.
func TestWindowOpensAtTheRequestedInstant(t *testing.T) {
	tools.NeedPrivilege(t)
	nextSecond := func(start time.Time) time.Time { return start.Truncate(time.Second).Add(time.Second) }
	in := func(d time.Duration) func(time.Time) time.Time {
		return func(start time.Time) time.Time { return start.Add(d) }
	}
	for name, c := range map[string]struct {
		args    []string
		instant func(start time.Time) time.Time
	}{
		"duration":      {[]string{"--activate", "+8s"}, in(8 * time.Second)},
		"period":        {[]string{"--activate", "/1s"}, nextSecond},
		"moment":        {[]string{"--activate", "@"}, in(8 * time.Second)}, // completed below
		"two durations": {[]string{"--prepare", "+500ms", "--activate", "+8.5s", "--no-stacks"}, in(8500 * time.Millisecond)},
		"two periods":   {[]string{"--prepare", "/1s", "--activate", "/1s"}, nextSecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			exact := name == "moment"
			if exact {
				start = start.Truncate(time.Millisecond)
				c.args[1] += c.instant(start).Format(isoTime)
			}
			recording := recorded(t, append(c.args, "-d300ms")...)
			at, late := recording.requested()
			t.Logf("%v: requested %s, opened %v later, for %v", c.args, at.Format("05.000000"), late, recording.window())
			want := c.instant(start) // or later, as far as it counts from the recorder's own start
			if at.Before(want.Add(-closeTo)) || exact && at.After(want.Add(closeTo)) {
				t.Errorf("%v from %s on: the instant is %s, want %s", c.args, start, at, want)
			}
			if slices.Contains(c.args, "/1s") && at.Round(closeTo).Nanosecond() != 0 {
				t.Errorf("%v: the instant is %s, want a whole second", c.args, at)
			}
			if late < 0 || recording.window() < 300*time.Millisecond || recording.count(format.KindSwitch) == 0 {
				t.Errorf("%v: it opens %v late, has %d switches, and lasts %v", c.args, late, recording.count(format.KindSwitch), recording.window())
			}
			s := recording.session
			if words := strings.Join(c.args, " "); s.Activate == "" || !strings.Contains(words, s.Activate) || !strings.Contains(words, s.Prepare) {
				t.Errorf("%v: the capture has %q and %q", c.args, s.Prepare, s.Activate)
			}
		})
	}
}

// TestCommandBeginsWithTheWindow: a command that prints the time runs after the instant, and is recorded from its exec on.
func TestCommandBeginsWithTheWindow(t *testing.T) {
	t.Parallel()
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := recorder(t, "--activate", "+8s", "-o", file, "--", "date", "+%s%N").start()
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, r.stderr.String())
	}
	c := readFile(t, file)
	at, late := c.requested()
	ns, err := strconv.ParseInt(strings.TrimSpace(r.stdout.String()), 10, 64)
	ran := time.Unix(0, ns).Sub(at)
	t.Logf("the window opened %v after its instant, and the command ran %v after it", late, ran)
	if err != nil || ran < -closeTo || c.count(format.KindExec) != 1 {
		t.Errorf("the command printed %q, %v from the instant; %d execs", r.stdout.String(), ran, c.count(format.KindExec))
	}
	if said := r.stderr.String(); strings.Count(said, "Pending activation trigger... ") != 1 {
		t.Errorf("it said %q", said)
	}
}

// TestTwoRecordersOpenTogether: those that are started at different times wait for the same multiple of a period.
func TestTwoRecordersOpenTogether(t *testing.T) {
	t.Parallel()
	tools.NeedPrivilege(t)
	const period = 20 * time.Second // a busy machine takes some to prepare a recording
	time.Sleep(time.Until(time.Now().Truncate(period).Add(period + 10*time.Millisecond)))
	var runs [2]*run
	var files [2]string
	began := time.Now()
	for i, flags := range [2][]string{{"--activate=/20s"}, {"--prepare=+700ms", "--activate=/20s", "--no-stacks"}} {
		files[i] = filepath.Join(t.TempDir(), "x.wprof")
		runs[i] = recorder(t, append(flags, "-d200ms", "-o", files[i])...).start()
	}
	var instants [2]time.Time
	for i, r := range runs {
		if status := r.wait(); status != 0 {
			t.Fatalf("recorder %d: status %d: %s", i, status, r.stderr.String())
		}
		at, late := readFile(t, files[i]).requested()
		t.Logf("recorder %d: requested %s, opened %v later", i, at.Format("05.000000"), late)
		instants[i] = at
	}
	want := began.Truncate(period).Add(period)
	for i, at := range instants {
		said := runs[i].stderr.String()
		if behind := at.Sub(want).Round(closeTo); behind != 0 || strings.Contains(said, "multiple") {
			t.Errorf("recorder %d opened %v after %s: %s", i, behind, want, said)
		}
	}
}

// programsOf returns the ids of the BPF programs that a process has loaded.
func programsOf(t *testing.T, pid int) (ids []ebpf.ProgramID) {
	t.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		text, _ := os.ReadFile(info) // it may be closed by now
		_, after, found := strings.Cut(string(text), "prog_id:")
		if number, err := strconv.Atoi(strings.Fields(after + " x")[0]); found && err == nil {
			ids = append(ids, ebpf.ProgramID(number))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// checkUnloaded waits until programs are gone, which the kernel frees in the background.
func checkUnloaded(t *testing.T, ids []ebpf.ProgramID) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(ids) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ids = slices.DeleteFunc(ids, func(id ebpf.ProgramID) bool {
			program, err := ebpf.NewProgramFromID(id)
			if err == nil {
				program.Close()
			}
			return errors.Is(err, os.ErrNotExist)
		})
	}
	if len(ids) > 0 {
		t.Errorf("%d BPF programs are left", len(ids))
	}
}

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v, %v", entries, err)
	}
}

// said waits until the recorder has said something.
func (r *run) said(text string) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(r.stderr.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("the recorder does not say %q: %s", text, r.stderr.String())
		}
	}
}

// TestInterruptedWaitLeavesNothing: a signal while the recorder waits ends it, without a file, a program or the command.
func TestInterruptedWaitLeavesNothing(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, c := range []struct {
		name     string
		args     []string
		says     string
		attached bool
		sig      syscall.Signal
	}{
		{"before the preparation", []string{"--prepare=+60s"}, "Pending preparation", false, syscall.SIGINT},
		{"before a preparation and an activation", []string{"--prepare=+60s", "--activate=+90s"}, "Pending preparation", false, syscall.SIGTERM},
		{"attached", []string{"--activate=+60s"}, "Pending activation", true, syscall.SIGINT},
		{"attached, live", []string{"--activate=+60s", "--live"}, "Pending activation", true, syscall.SIGHUP},
		{"attached, flight recorder", []string{"--activate=+60s", "-F1s", "--no-stacks"}, "Pending activation", true, syscall.SIGINT},
		{"gathered", []string{"--activate=/4.9s"}, "Pending activation", true, syscall.SIGINT},
	} {
		for _, command := range []bool{false, true} {
			dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			args := append(slices.Clone(c.args), "-o", filepath.Join(dir, "x.wprof"))
			if command {
				args = append(args, "--", "touch", ran)
			}
			r := recorder(t, args...).start()
			r.said(c.says)
			programs := programsOf(t, r.cmd.Process.Pid)
			if len(programs) > 0 != c.attached {
				t.Errorf("%s: it has loaded %d programs, want any: %v", c.name, len(programs), c.attached)
			}
			if stat, err := os.Stat(filepath.Join(dir, "x.wprof.part")); c.attached && (err != nil || stat.Size() != 0) {
				t.Errorf("%s: the spool is not there or not empty: %v", c.name, err)
			}
			if slices.Contains(c.args, "-F1s") {
				if err := r.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
					t.Fatal(err)
				}
				r.said("no snapshot (SIGUSR1): no window has opened yet")
			}
			if err := r.cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			if status := r.wait(); status != 128+int(c.sig) {
				t.Errorf("%s: status %d, want %d: %s", c.name, status, 128+int(c.sig), r.stderr.String())
			}
			checkEmpty(t, dir)
			checkUnloaded(t, programs)
			if _, err := os.Stat(ran); err == nil {
				t.Errorf("%s: the command ran", c.name)
			}
		}
	}
}

// TestSignalAfterTheActivationShortensTheWindow: from the opening on, Ctrl-C ends the recording as it does otherwise.
func TestSignalAfterTheActivationShortensTheWindow(t *testing.T) {
	t.Parallel()
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := recorder(t, "--activate=+8s", "-d60s", "--no-stacks", "-o", file).start()
	r.opened(file + ".part")
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, r.stderr.String())
	}
	if c := readFile(t, file); c.window() > 20*time.Second || len(c.events) == 0 {
		t.Errorf("%d events in %v", len(c.events), c.window())
	}
}

func TestPreparationThatOverrunsTheActivationEnds(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--activate=+1ms"}, 1, `the activation time \(\+1ms\) passed \S+ ago, while the recording was being prepared: activate later, or prepare earlier; nothing was recorded`},
		{[]string{"--prepare=+300ms", "--activate=+301ms", "--live"}, 1, `the activation time \(\+301ms\) passed`},
		{[]string{"--activate=+1ms", "--", "touch", filepath.Join(t.TempDir(), "ran")}, 125, `the activation time \(\+1ms\) passed`},
	} {
		dir := t.TempDir()
		r := recorder(t, append([]string{"-o", filepath.Join(dir, "x.wprof")}, c.args...)...).start()
		if status, said := r.wait(), r.stderr.String(); status != c.status || !regexp.MustCompile(c.want).MatchString(said) {
			t.Errorf("%v: status %d, want %d: %q", c.args, status, c.status, said)
		}
		checkEmpty(t, dir)
		if ran := c.args[len(c.args)-1]; strings.HasPrefix(ran, "/") {
			if _, err := os.Stat(ran); err == nil {
				t.Errorf("%v: the command ran", c.args)
			}
		}
	}
}

// TestMultipleThatIsMissedIsReported: no recording is prepared within 100 ms.
func TestMultipleThatIsMissedIsReported(t *testing.T) {
	tools.NeedPrivilege(t)
	want := regexp.MustCompile(`--activate /100ms: the recording was prepared \S+s too late for the first multiple, (\S+) \S+: its window opens at (\S+) \S+, and those of recorders`)
	file := filepath.Join(t.TempDir(), "x.wprof")
	for _, prepare := range []string{"@now", "+300ms"} {
		r := recorder(t, "--prepare", prepare, "--activate", "/100ms", "-d100ms", "-o", file).start()
		status, said := r.wait(), r.stderr.String()
		found := want.FindStringSubmatch(said)
		if status != 0 || found == nil {
			t.Fatalf("--prepare %s: status %d: %s", prepare, status, said)
		}
		at, _ := readFile(t, file).requested()
		if opens := at.Round(closeTo).Format("15:04:05.999"); found[2] != opens || found[1] >= found[2] && opens > "01" {
			t.Errorf("--prepare %s: it opened at %s: %s", prepare, opens, said)
		}
	}
}

// TestInstantsThatCannotBeAreRefusedAtOnce: before anything is set up, so that no privilege is needed.
func TestInstantsThatCannotBeAreRefusedAtOnce(t *testing.T) {
	for _, c := range []struct{ zone, args, want string }{
		{"UTC", "--activate=@2020-02-02T02:02", "--activate @2020-02-02T02:02 is past: it is "},
		{"UTC", "--prepare=@2020-02-02", "--prepare @2020-02-02 is past: it is "},
		{"UTC", "--activate=14:30", `--activate: "14:30" is not @now, a time like @14:30, a duration like +10s, or a period like /1m`},
		{"UTC", "--prepare=@24:30", `--prepare: "@24:30": no clock and no calendar shows that`},
		{"UTC", "--activate=+5", `--activate: "5" has no unit`},
		{"UTC", "--prepare=+10s --activate=+5s", "--activate +5s comes before --prepare +10s is done: without --activate the recording begins once it is prepared"},
		{"UTC", "--prepare=+10s --activate=@now", "--activate @now comes before --prepare +10s is done"},
		{"Europe/Berlin", "--activate=@2061-03-27T02:30", "there is no 02:30:00 on 2061-03-27, because clocks are set forward then"},
	} {
		dir := t.TempDir()
		r := recorder(t, append(strings.Fields(c.args), "-o", filepath.Join(dir, "x"))...)
		r.cmd.Env = append(os.Environ(), "TZ="+c.zone)
		if _, err := time.LoadLocation(c.zone); err != nil {
			continue // nor does the recorder know this zone
		}
		if status, said := r.start().wait(), r.stderr.String(); status != 2 || !strings.HasPrefix(said, "wprof-record: ") || !strings.Contains(said, c.want) {
			t.Errorf("%s: status %d: %q, want 2: %q", c.args, status, said, c.want)
		}
		checkEmpty(t, dir)
	}
}

// TestProcessesThatEndBeforeTheActivationEndTheWait: nothing would be recorded of them.
func TestProcessesThatEndBeforeTheActivationEndTheWait(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, flags := range [][]string{{"--prepare=+60s"}, {"--activate=+60s"}, {"--activate=+60s", "--children"}} {
		pid, end := reader(t, "cat")
		dir := t.TempDir()
		r := recorder(t, append(flags, "-p", pid, "-o", filepath.Join(dir, "x.wprof"))...).start()
		r.said("Pending ")
		end()
		if status, said := r.wait(), r.stderr.String(); status != 1 || !strings.Contains(said, "before the recording began") || !strings.Contains(said, "process "+pid) {
			t.Errorf("%v: status %d: %q", flags, status, said)
		}
		checkEmpty(t, dir)
	}
}

// stepClock sets this machine's clock forward.
func stepClock(by time.Duration) error {
	const adjSetOffset, adjNano = 0x100, 0x2000 // include/uapi/linux/timex.h
	step := unix.Timex{Modes: adjSetOffset | adjNano}
	if by < 0 { // the second part may not be negative
		step.Time.Sec, by = -1, by+time.Second
	}
	step.Time.Usec = by.Nanoseconds()
	_, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &step)
	return err
}

// TestClockSetWhileWaiting sets this machine's clock forward by a microsecond, and back: the recorder notices that, evaluates its instant anew,
// and opens then.
func TestClockSetWhileWaiting(t *testing.T) {
	t.Parallel()
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	moment := time.Now().Add(8 * time.Second)
	r := recorder(t, "--activate=@"+moment.Format(isoTime), "-d200ms", "--no-stacks", "-o", file).start()
	r.said("Pending activation")
	if err := stepClock(time.Microsecond); err != nil {
		t.Skipf("this machine does not let its clock be set: %v", err)
	}
	if err := stepClock(-time.Microsecond); err != nil {
		t.Error(err)
	}
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, r.stderr.String())
	}
	if n := strings.Count(r.stderr.String(), "Pending activation trigger... "); n < 2 {
		t.Errorf("it does not say what is left after the clock was set: %q", r.stderr.String())
	}
	if at, late := readFile(t, file).requested(); at.Sub(moment).Abs() > 2*closeTo || late < 0 {
		t.Errorf("it was to open at %s, %v late, want %s", at, late, moment)
	}
}

// TestTerminalShowsTheTimeLeft: it is updated each second, and removed at the end.
func TestTerminalShowsTheTimeLeft(t *testing.T) {
	t.Parallel()
	tools.NeedPrivilege(t)
	tty, _, shown := tools.Terminal(t)
	r := recorder(t, "--prepare=+5s", "--activate=+14s", "-d200ms", "--no-stacks", "-o", filepath.Join(t.TempDir(), "x.wprof"))
	r.cmd.Stderr = tty
	if status := r.start().wait(); status != 0 {
		t.Fatalf("status %d: %q", status, shown.String())
	}
	for _, trigger := range []string{"preparation", "activation"} {
		lines := regexp.MustCompile(`\rPending `+trigger+` trigger\.\.\. (\S+) left`).FindAllStringSubmatch(shown.String(), -1)
		last := time.Hour
		for _, line := range lines {
			left, err := time.ParseDuration(line[1])
			if err != nil || left > last {
				t.Errorf("%s left after %v: %v", line[1], last, err)
			}
			last = left
		}
		if len(lines) < 2 {
			t.Errorf("it shows the time left to the %s %d times: %q", trigger, len(lines), shown.String())
		}
	}
}
