package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func sample(run func(*Invocation) error) Tool {
	return Tool{
		Name: "wprof-sample", Summary: "tries every sort of flag", ArgsUsage: "[FILE...]",
		Description: "A tool that exists for its flags.",
		Groups: []Group{{Title: "Flags", Flags: []Flag{
			{Name: "dur", Aliases: []string{"d"}, Kind: Duration, Value: "DURATION", Default: "1s", Usage: "How long to record."},
			{Name: "output", Aliases: []string{"o"}, Kind: String, Value: "FILE", Files: true, Usage: "Write to a file."},
			{Name: "all", Aliases: []string{"a"}, Usage: "Everything."},
			{Name: "verbose", Aliases: []string{"v"}, Usage: "Say more."},
			{Name: "uprobe", Aliases: []string{"U"}, Kind: List, Value: "PROBE", Usage: "A probe."},
			{Name: "stacks", Aliases: []string{"S"}, Kind: Optional, Value: "KIND", Choices: []string{"timer", "offcpu", "pmu"}, Usage: "Take stacks."},
			{Name: "svg", Kind: Optional, Value: "FILE", Files: true, Usage: "A picture."},
			{Name: "feature", Aliases: []string{"f"}, Kind: String, Value: "LIST", Choices: []string{"sched", "wakeup"}, CommaList: true, Negate: true, Usage: "Switch features."},
			{Name: "level", Aliases: []string{"z", "compress"}, Kind: Int, Value: "LEVEL", Choices: []string{"0", "1", "2", "3"}, Default: "1", Usage: "Compression."},
			{Name: "pid", Aliases: []string{"p"}, Kind: List, Value: "PID", ListFile: true, Usage: "A process."},
			{Name: "ringbuf-size", Kind: Size, Value: "SIZE", Default: "8mb", Usage: "Ring size."},
		}}},
		Examples: []Example{{"wprof-sample -d5s", "five seconds"}, {"wprof-sample a b", "two files"}, {"wprof-sample -v", "say more"}},
		Run:      run,
	}
}

func TestSpellings(t *testing.T) {
	for _, c := range []struct{ typed, flag, want string }{
		{"-d5s", "dur", "5s"}, {"-d 5s", "dur", "5s"}, {"-d=5s", "dur", "5s"}, {"--dur=5s", "dur", "5s"}, {"--dur 5s", "dur", "5s"},
		{"", "dur", "1s"}, {"a.part -o b", "output", "b"}, {"-o -", "output", "-"}, {"-av -o x", "output", "x"}, {"-avox", "output", "x"},
		{"-S", "stacks", ""}, {"-Stimer=99hz", "stacks", "timer=99hz"}, {"-S+pmu=cycles,100", "stacks", "+pmu=cycles,100"}, {"--stacks=offcpu", "stacks", "offcpu"},
		{"--compress 2", "level", "2"}, {"-z0", "level", "0"}, {"-d1s -d2s", "dur", "2s"}, {"-f no-sched,wakeup", "feature", "no-sched,wakeup"}, {"-S -v", "stacks", ""}, {"-S file", "stacks", ""}, {"--svg out.svg", "svg", ""}, {"--svg spelling_test.go spelling.go", "svg", ""}, {"-S -- offcpu", "stacks", ""},
		{"-vSoffcpu", "stacks", "offcpu"}, {"-S=timer", "stacks", "timer"}, {"-Stimer -Soffcpu", "stacks", "offcpu"}, {"--stacks=", "stacks", ""},
		{"-o x -o y", "output", "y"}, {"--output=-v", "output", "-v"}, {"-o-v", "output", "-v"}, {"--output -5", "output", "-5"},
	} {
		inv, err := sample(nil).parse(strings.Fields(c.typed))
		if err != nil {
			t.Errorf("%q: %v", c.typed, err)
			continue
		}
		if got := inv.String(c.flag); got != c.want {
			t.Errorf("%q: --%s is %q, want %q", c.typed, c.flag, got, c.want)
		}
	}
}

func TestListsAreNeverSplit(t *testing.T) {
	inv, err := sample(nil).parse([]string{"-U", "p:f a,b", "--uprobe=x,y", "-U z "})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inv.Strings("uprobe"), []string{"p:f a,b", "x,y", " z "}; !reflect.DeepEqual(got, want) {
		t.Errorf("--uprobe is %q, want %q", got, want)
	}
}

func TestArgumentsAndCommands(t *testing.T) {
	inv, err := sample(nil).parse([]string{"a", "-v", "-", "--", "-b"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "-", "-b"}; !reflect.DeepEqual(inv.Args, want) {
		t.Errorf("arguments are %q, want %q", inv.Args, want)
	}
	tool := sample(nil)
	tool.AllowCommand = true
	if inv, err = tool.parse([]string{"-v", "--", "make", "-j8"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"make", "-j8"}; !reflect.DeepEqual(inv.Command, want) || len(inv.Args) != 0 {
		t.Errorf("command is %q, want %q", inv.Command, want)
	}
}

func TestWrongUsageIsOneSentenceThatHelps(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"--duration 5s", "--dur"}, {"--output=", "empty"}, {"--verbos", "--verbose"}, {"-x", "there is no flag -x; wprof-sample --help"}, {"-D 5s", "did you mean -d?"}, {"-verbos", "--verbose"}, {"-d", "needs a value"}, {"-d x", "not a duration"},
		{"-o -v", "is a flag"}, {"-z 9", "valid are 0, 1, 2, 3"}, {"-f no-shed", "no-sched"}, {"-f sched,,wakeup", `--feature: "sched,,wakeup" has an empty entry; valid are sched, wakeup`},
		{"-output x", "did you mean --output?"}, {"-Stimr", "timer"}, {"-d 1e3s", "not a duration"}, {"-o", "-o FILE"}, {"-avq", "there is no flag -avq"},
		{"--ringbuf-size -1", "not a size"}, {"-z two", "not a whole number"}, {"--all=1", "takes no value"}, {"-S offcpu", "write -Soffcpu"},
		{"-vS +offcpu", "write -S+offcpu"}, {"--stacks timer=99hz a", "write --stacks=timer=99hz"}, {"--ringbuf-size 3x", "unit"},
	} {
		var stderr bytes.Buffer
		status := Run(sample(func(*Invocation) error { return nil }), strings.Fields(c.typed), Std{In: os.Stdin, Out: os.Stdout, Err: &stderr})
		if status != ExitUsage || !strings.Contains(stderr.String(), c.want) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: status %d, %q; want 2 and one line with %q", c.typed, status, stderr.String(), c.want)
		}
	}
}

func TestFlagsOfTheFilterAreNamed(t *testing.T) {
	tool := sample(nil)
	tool.Filters = []Group{{Flags: []Flag{
		{Name: "no-pid", Aliases: []string{"P"}, Kind: List, Value: "PID"}, {Name: "idle"}, {Name: "all", Kind: List, Value: "X"},
	}}}
	for typed, want := range map[string]string{
		"-P 12":    "there is no flag -P; wprof-filter has it: wprof-filter -P PID FILE | wprof-sample",
		"-vP12":    "there is no flag -vP12; wprof-filter has it: wprof-filter -P PID FILE | wprof-sample",
		"--no-pid": "there is no flag --no-pid; wprof-filter has it: wprof-filter --no-pid PID FILE | wprof-sample",
		"--idle":   "there is no flag --idle; wprof-filter has it: wprof-filter --idle FILE | wprof-sample",
		"--idel":   "there is no flag --idel; wprof-sample --help lists them",
		"--outptu": "there is no flag --outptu; did you mean --output?",
	} {
		if _, err := tool.parse(strings.Fields(typed)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", typed, err, want)
		}
	}
}

// A small number without a unit may be seconds or milliseconds.
func TestBareSmallDurationIsRefused(t *testing.T) {
	for typed, want := range map[string]string{
		"-d 5": `"5" has no unit: write 5s or 5ms`, "-d.5": `".5" has no unit: write .5s or .5ms`, "--dur=99.9": `"99.9" has no unit: write 99.9s or 99.9ms`,
	} {
		if _, err := sample(nil).parse(strings.Fields(typed)); err == nil || err.Error() != "--dur: "+want {
			t.Errorf("%q: got %v, want %s", typed, err, want)
		}
	}
	for typed, want := range map[string]int64{"-d 100": 100, "-d0": 0, "-d 0.0": 0, "-d 5ms": 5, "-d1500": 1500} {
		if inv, err := sample(nil).parse(strings.Fields(typed)); err != nil || inv.Duration("dur").Milliseconds() != want {
			t.Errorf("%q: %v, want %d ms", typed, err, want)
		}
	}
}

func TestExpandListsReadsFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte("1\n\n# two\n 3 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ExpandLists([]string{"0", "@" + file})
	if want := []string{"0", "1", "3"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if err := os.WriteFile(file, make([]byte, maxListFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"@" + file, "@-", "@", "@" + file + ".missing"} {
		if _, err := ExpandLists([]string{wrong}); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int64{"5s": 5e9, "250ms": 250e6, "1.5m": 90e9, "1m5s": 65e9, "1h0.5m": 3630e9, "700": 7e8, "3us": 3000, "1h": 3600e9, "9ns": 9} {
		if d, err := ParseDuration(s); err != nil || d.Nanoseconds() != want {
			t.Errorf("%s is %v, %v; want %d ns", s, d, err, want)
		}
	}
	for s, want := range map[string]int64{"8mb": 8 << 20, "64KB": 64 << 10, "256MiB": 256 << 20, "2kib": 2048, "3GiB": 3 << 30, "12": 12, "1g": 1 << 30, "0.5mb": 512 << 10} {
		if n, err := ParseSize(s); err != nil || n != want {
			t.Errorf("%s is %d, %v; want %d", s, n, err, want)
		}
	}
	for _, s := range []string{"", "s", "-5s", "1y", "1e400s", "NaNs", "5 s", "infs", "1e3s", "0x1p4s", "1_0s", "1.2.3s", "99999999999h"} {
		if _, err := ParseDuration(s); err == nil {
			t.Errorf("%q was taken for a duration", s)
		}
	}
}

func TestOptionalValuesAccumulate(t *testing.T) {
	inv, err := sample(nil).parse([]string{"-S", "-S+pmu=cycles,100", "--stacks=timer=99hz"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := inv.Strings("stacks"), []string{"", "+pmu=cycles,100", "timer=99hz"}; !reflect.DeepEqual(got, want) {
		t.Errorf("--stacks is %q, want %q", got, want)
	}
	if inv, err = sample(nil).parse(nil); err != nil || inv.IsSet("stacks") || inv.Strings("stacks") != nil {
		t.Errorf("--stacks is %q without being given, %v", inv.Strings("stacks"), err)
	}
}

func TestExitStatusComesFromTheError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		said string
	}{
		{nil, ExitOK, ""},
		{errors.New("broke"), ExitFailed, "wprof-sample: broke\n"},
		{WithCode(ExitDamaged, nil), ExitDamaged, ""},
		{fmt.Errorf("read x: %w", WithCode(ExitNewer, errors.New("too new"))), ExitNewer, "wprof-sample: read x: too new\n"},
		{errors.Join(errors.New("one"), errors.New("two")), ExitFailed, "wprof-sample: one; two\n"},
	} {
		var stderr bytes.Buffer
		code := Run(sample(func(*Invocation) error { return c.err }), nil, Std{In: os.Stdin, Out: os.Stdout, Err: &stderr})
		if code != c.code || stderr.String() != c.said {
			t.Errorf("%v: status %d, %q; want %d, %q", c.err, code, stderr.String(), c.code, c.said)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-d5s --dur=6s a -- b")
	f.Add("-Stimer -av -f no-sched")
	f.Fuzz(func(t *testing.T, line string) {
		_, _ = sample(nil).parse(strings.Split(line, " "))
	})
}
