//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

func TestDurationIsTakenInAllItsSpellings(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, args := range [][]string{{"-d150ms"}, {"-d", "150ms"}, {"--dur=150ms"}, {"--dur", "0.15s"}, {"-d150"}} {
		c := recorded(t, append(args, "--no-stacks")...)
		if w := c.window(); w < 150*time.Millisecond || w > 400*time.Millisecond {
			t.Errorf("%v records for %v", args, w)
		}
	}
}

// What users of other profilers type is either done or answered with what to type.
func TestUnitsAndFrequenciesOfOtherProfilers(t *testing.T) {
	for typed, want := range map[string]string{
		"-d 5":                  `--dur: "5" has no unit: write 5s or 5ms`,
		"--offcpu-min=1":        `--offcpu-min: "1" has no unit: write 1s or 1ms`,
		"-S timer=99hz":         "no space after -S: write -Stimer=99hz",
		"-f 99":                 `--feature: "99" is not one of its values; the sampling frequency is --freq=99`,
		"--freq 5ms":            `--freq: "5ms" is not a frequency like 99 or 1khz`,
		"--freq=99 --no-stacks": "--freq and --no-stacks contradict each other",
		"-g":                    "there is no flag -g: " + stacksHint,
		"-ag":                   "there is no flag -ag: " + stacksHint,
		"--call-graph dwarf":    "there is no flag --call-graph: " + stacksHint,
		"--off-cpu":             "there is no flag --off-cpu: off-CPU stacks are taken by default, of times from --offcpu-min on",
	} {
		r := recorder(t, append(strings.Fields(typed), "-o", filepath.Join(t.TempDir(), "x"))...).start()
		if status, said := r.wait(), r.stderr.String(); status != 2 || said != "wprof-record: "+want+"\n" {
			t.Errorf("%q: status %d: %q, want 2: %q", typed, status, said, want)
		}
	}
}

// Messages on what can be recorded have the option that was typed, and a long expression only in part.
func TestUnknownSourcesAreRefusedAsTheyWereTyped(t *testing.T) {
	long := "net=" + strings.Repeat("udp port 1 or ", 1000) + "udp"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--list", "nosuch"}, "wprof-record: --list nosuch: neither a source nor a tracepoint of this kernel has this name; "},
		{[]string{"-f", "syscall", "--limit", "tp=1k"}, "--limit: tp is not recorded: add -f tp=GROUP:NAME"},
		{[]string{"-f", long}, "the filter of packets has 14003 bytes"},
	} {
		r := recorder(t, append(c.args, "-o", filepath.Join(t.TempDir(), "x"))...).start()
		if status, said := r.wait(), r.stderr.String(); status != 2 || !strings.Contains(said, c.want) || len(said) > 500 {
			t.Errorf("%.60q: status %d: %q, want 2: %q", c.args, status, said, c.want)
		}
	}
}

func TestCommandsAreListedByTheirProgramsOnly(t *testing.T) {
	r := recorder(t, "--list", "tp:sched:*", "--", "ls").start()
	if status, said := r.wait(), r.stderr.String(); status != 125 || !strings.Contains(said, "--list records no command") {
		t.Errorf("status %d: %q, want 125", status, said)
	}
}

func TestFiltersThatNoThreadPassesNameWhatToCheck(t *testing.T) {
	tools.NeedPrivilege(t)
	for filter, want := range map[string]string{"--cgroup=/no-such-cgroup": "/proc/PID/cgroup", "--name=no-such-name": "check that the processes and threads"} {
		r := recorder(t, "-d100ms", "--no-stacks", filter, "-o", filepath.Join(t.TempDir(), "x")).start()
		if status, said := r.wait(), r.stderr.String(); status != 0 || !strings.Contains(said, want) {
			t.Errorf("%s: status %d: %q, want %q", filter, status, said, want)
		}
	}
}

func TestFrequencyOfPerfIsTheTimers(t *testing.T) {
	tools.NeedPrivilege(t)
	for typed, want := range map[string]int64{"--freq 500": 2e6, "-Soffcpu --freq=1khz": 1e6, "-Stimer=99hz --freq=200": 5e6} {
		c := recorded(t, append(strings.Fields(typed), "-d20ms")...)
		if s := c.session.Sources; len(s) != 1 || s[0].Period > want || s[0].Period < want/100*99 {
			t.Errorf("%q samples %v, want a period of %d ns, less 1/256 (bpf.Sample.Interval)", typed, s, want)
		}
	}
}

func TestFeaturesAreSwitchedOff(t *testing.T) {
	tools.NeedPrivilege(t)
	life := []format.Kind{format.KindFork, format.KindExec, format.KindRename, format.KindExit, format.KindFree}
	for list, gone := range map[string][]format.Kind{
		"no-sched":            {format.KindSwitch, format.KindStateCPU, format.KindStateThread},
		"no-wakeup":           {format.KindWaking, format.KindWakeupNew},
		"no-task-life":        life,
		"no-sched,no-wakeup":  {format.KindSwitch, format.KindWaking},
		"no-task-life,wakeup": life,
	} {
		c := recorded(t, "-a", "-f", list, "--", "sh", "-c", "sleep 0.05; /bin/true; sleep 0.05")
		if len(c.events) == 0 {
			t.Errorf("-f %s records nothing", list)
		}
		for _, kind := range gone {
			if n := c.count(kind); n > 0 {
				t.Errorf("-f %s records %d events of kind %d", list, n, kind)
			}
		}
	}
}

func TestCaptureDescribesItself(t *testing.T) {
	tools.NeedPrivilege(t)
	c := recorded(t, "-d20ms", "-M", "build=1234", "--metadata", "note=a b", "--ringbuf-size", "300kb", "--ringbuf-cnt=1")
	s := c.session
	if s.Host == "" || s.BootId == "" || s.KernelRelease == "" || len(s.Cpus) == 0 || len(s.Clocks) == 0 || s.Id == 0 {
		t.Errorf("the session lacks something: %v", s)
	}
	if got := strings.Join(s.Command, " "); !strings.HasPrefix(got, "wprof-record -o ") || !strings.HasSuffix(got, "--ringbuf-cnt=1") {
		t.Errorf("command line %q", got)
	}
	if len(s.Metadata) != 2 || s.Metadata[1].Key != "note" || s.Metadata[1].Value != "a b" {
		t.Errorf("metadata %v", s.Metadata)
	}
	rings := ""
	for _, kv := range s.Config {
		if kv.Key == "rings" {
			rings = kv.Value
		}
	}
	if rings != "1 of 512kb" {
		t.Errorf("rings %q, want 1 of 512kb", rings)
	}
	if cost := c.end.Cost; cost.GetPeakRss() == 0 || cost.GetUserNs()+cost.GetSystemNs() == 0 || cost.GetSpoolBytes() == 0 {
		t.Errorf("cost %v", cost)
	}
	if len(c.end.Clocks) == 0 {
		t.Error("no clocks at the end")
	}
}

func TestWrongUseIsFoundBeforeAnythingIsWritten(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.wprof")
	for want, args := range map[string][]string{
		"--dur":                       {"--durr", "5s"},
		"no-sched":                    {"-f", "no-shed"},
		"not a duration":              {"-d", "5x"},
		"KEY=VALUE":                   {"-M", "novalue"},
		"no command":                  {"--"},
		"-- sleep 1":                  {"sleep", "1"},
		"8kb to 1gb":                  {"--ringbuf-size", "100"},
		"from 8kb to 1gb":             {"--ringbuf-size", "0"},
		"is negative":                 {"-d", "-1s"},
		"--live: use wprof-symbolize": {"--lines", "--live"},
		"leave out --symbolize=no":    {"--lines", "--symbolize=no"},
		"nothing to record":           {"-f", "no-sched,no-wakeup,no-task-life,no-samples"},
	} {
		r := recorder(t, append([]string{"-o", file}, args...)...).start()
		status := r.wait()
		wanted := 2
		if args[0] == "--" {
			wanted = 125
		}
		if status != wanted || !strings.Contains(r.stderr.String(), want) || strings.Count(r.stderr.String(), "\n") != 1 {
			t.Errorf("%v: status %d: %s", args, status, r.stderr.String())
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOutputThatCannotBeWrittenIsRefused(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, file := range []string{"/no/such/folder/x.wprof", "/proc/x.wprof", t.TempDir()} {
		r := recorder(t, "-d10s", "-o", file).start()
		if status := r.wait(); status != 1 || !strings.Contains(r.stderr.String(), file) {
			t.Errorf("%s: status %d: %s", file, status, r.stderr.String())
		}
	}
}

func TestTerminalAsOutputIsRefused(t *testing.T) {
	tools.NeedPrivilege(t)
	terminal, _, _ := tools.Terminal(t)
	r := recorder(t, "-d10s")
	r.cmd.Stdout = terminal
	if status := r.start().wait(); status != 2 || !strings.Contains(r.stderr.String(), "-o FILE") {
		t.Errorf("status %d: %s", status, r.stderr.String())
	}
}

func TestTerminalShowsACountdown(t *testing.T) {
	tools.NeedPrivilege(t)
	terminal, _, shown := tools.Terminal(t)
	r := recorder(t, "-d2s", "-o", filepath.Join(t.TempDir(), "x"))
	r.cmd.Stderr = terminal
	r.start()
	if status := r.wait(); status != 0 {
		t.Errorf("status %d", status)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(shown.String(), "2s left"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the terminal shows %q", shown.String())
		}
	}
}

func TestMissingCapabilityIsNamed(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	r := recorder(t, "-o", filepath.Join(dir, "x"))
	r.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	status := r.start().wait()
	for _, want := range []string{"CAP_BPF", "CAP_PERFMON", "root"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("status %d, the message does not name %s: %s", status, want, r.stderr.String())
		}
	}
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
}
