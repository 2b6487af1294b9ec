//go:build linux

package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/tools"
)

// obeyed has control sequences of a terminal, characters that move the text around them, and a byte that is no character.
const (
	obeyed      = "\x1b]0;T\a\x1b[2J\n\r\t\b\u009b31m\u009d0;X\u009c\x7f\u202e\u2066\u200f\u061c\u2028"
	obeyedBytes = obeyed + "\xff\x9b1m"
)

// obeyedCapture has such a text wherever a capture can hold one.
func obeyedCapture(t *testing.T, dir, boot string) string {
	t.Helper()
	s := func(before string) string { return strconv.Quote(before + obeyed) }
	b := func(before string) string { return strconv.Quote(before + obeyedBytes) }
	lines := []string{
		fmt.Sprintf("section id=0x1 host=%s boot_id=%s kernel_release=%s kernel_version=%s machine=%s version=%s open=1000000000 close=+1s",
			s("host"), s(boot), s("6.18"), s("v"), s("m"), s("v")),
		"  command " + s("wprof-record") + " " + s("x"), "  history " + s("wprof-filter"),
		"  config key=" + s("k") + " value=" + s("v"), `  config key="offcpu-stacks" value=` + s("v"), "  metadata key=" + s("k") + " value=" + s("v"),
		"  cpu 0", "  source 1 name=" + s("timer") + " period=10000000", "  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000",
		`task 1 comm="swapper/0" process_comm="swapper/0" flags=idle`,
		fmt.Sprintf("cmdline 1 args=%s", b("a")),
		fmt.Sprintf("task 2 tid=100 pid=100 ppid=1 comm=%s process_comm=%s start=5 command=1", b("t"), b("p")),
		fmt.Sprintf("task 3 tid=101 pid=100 ppid=1 comm=%s process_comm=%s start=6", b("u"), b("p")),
		fmt.Sprintf("module 1 path=%s kind=file", b("/lib/")), fmt.Sprintf("module 2 path=%s kind=kernel", b("[k")), fmt.Sprintf("module 3 path=%s kind=jit", b("/tmp/")),
		"frame 1 module=1 offset=0x10 function_offset=1", fmt.Sprintf("  line function=%s file=%s line=7", b("f"), b("/src/")),
		"frame 2 module=2 offset=0x20 function_offset=1", fmt.Sprintf("  line function=%s", b("k")),
		"frame 3 module=3 offset=0x30", "frame 4 module=1 offset=0x30",
		"probe 1 definition=" + s("p"), "stack 1 frames=4,3,1,2 kernel_frames=1",
		"+0 cpu0 state_cpu 1 prio=120", "+0 cpu0 state_thread 2 state=S prio=120", "+0 cpu0 state_thread 3 state=S prio=120",
		"+100ms cpu0 waking 1 wakee=2 prio=120 target_cpu=0 stack=1", "+100ms cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+0 next_state=S stack=1",
	}
	for at := range 30 {
		lines = append(lines, fmt.Sprintf("+%dms cpu0 sample 2 stack=1 source=1", 110+10*at))
	}
	lines = append(lines, "+500ms cpu0 rename 3 prev=2", "+600ms cpu0 exec 3 filename="+b("/bin/"),
		"end close=+1s", fmt.Sprintf("  process 100 comm=%s ns=500000000 start=5", b("p")), "  cost user_ns=1", fmt.Sprintf("    program name=%s runs=1 ns=5", s("g")), "")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return tools.Convert(t, filepath.Join(dir, boot+obeyedBytes+".wprof"), "wprof-info", "--undump", text)
}

// TestNoTextOfACaptureControlsATerminal: what a capture, a path or a command line holds does nothing to a terminal, whichever tool
// prints it, on standard output or error.
func TestNoTextOfACaptureControlsATerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder"+obeyedBytes)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	capture, other := obeyedCapture(t, dir, "one"), obeyedCapture(t, dir, "two")
	whole, err := os.ReadFile(capture)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut"+obeyed)
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	noFolder, missing := filepath.Join(dir, obeyed, "none"), filepath.Join(dir, obeyed+"none")
	binary := map[string]bool{"wprof-perfetto": true, "wprof-filter": true, "wprof-symbolize": true}
	for _, args := range [][]string{
		{"wprof-info"}, {"wprof-info", "--json"}, {"wprof-info", "--check"}, {"wprof-info", "--dump"}, {"wprof-info", "--undump"},
		{"wprof-json"}, {"wprof-json", "--array"}, {"wprof-json", "--stream"}, {"wprof-json", "--chrome"}, {"wprof-json", "--firefox"}, {"wprof-json", "--parquet", missing + "1"},
		{"wprof-flame"}, {"wprof-flame", "--svg"}, {"wprof-flame", "--html"}, {"wprof-flame", "--speedscope"}, {"wprof-flame", "--analysis"},
		{"wprof-flame", "--by", "thread", "--state", "-a"}, {"wprof-flame", "--waker"}, {"wprof-flame", "--diff", other},
		{"wprof-flame", "--per-thread", missing + "2"}, {"wprof-flame", "--report", missing + "3"}, {"wprof-flame", "--svg=" + noFolder},
		{"wprof-perfetto"}, {"wprof-filter"}, {"wprof-filter", "-n", obeyed}, {"wprof-filter", "-p", "@" + missing}, {"wprof-filter", "--start", obeyed},
		{"wprof-filter", "-o", noFolder}, {"wprof-filter", "-o", dir}, {"wprof-filter", "--" + obeyed}, {"wprof-symbolize", "-v", "--debug-dir", dir},
		{"wprof-symbolize", "--debug-dir", missing},
	} {
		for _, inputs := range [][]string{{capture}, {cut}, {missing}, {capture, other}, {dir}, {"--", obeyed}} {
			got := tools.Try(t, time.Minute, nil, args[0], append(args[1:len(args):len(args)], inputs...)...)
			if !binary[args[0]] && !strings.HasPrefix(string(got.Stdout), "WPROF") && len(got.Stdout) > 0 {
				printable(t, fmt.Sprintf("%q of %q", args, inputs), got.Stdout)
			}
			printable(t, fmt.Sprintf("%q of %q, on standard error,", args, inputs), got.Stderr)
		}
	}
	if os.Getuid() == 0 {
		for _, args := range [][]string{
			{"-d10ms", "-v", "-o", filepath.Join(dir, "r"+obeyed)}, {"-o", noFolder}, {"-o", dir}, {"-n", "@" + missing}, {obeyed}, {"--" + obeyed},
			{"--", missing}, {"--", capture}, {"-M", obeyed},
		} {
			printable(t, fmt.Sprintf("wprof-record %q, on standard error,", args), tools.Try(t, time.Minute, nil, "wprof-record", args...).Stderr)
		}
		// It takes no name with control characters, but those that turn the text around it does.
		wallclockIsPrintable(t, "-o", filepath.Join(t.TempDir(), "r\u202e\u2066\xff\xe9"), "--", "true")
		wallclockIsPrintable(t, "-o", filepath.Join(t.TempDir(), "r"), "--", missing)
	}
	for _, args := range [][]string{
		{obeyedBytes}, {"1", obeyed}, {"--" + obeyed}, {"-" + obeyed}, {"-o", obeyedBytes, "1"}, {"-o", dir, "1"}, {"-o", "\u202e/x", "1"}, {"-d", obeyed, "1"}, {"-f" + obeyed}, {"-m", obeyed},
	} {
		wallclockIsPrintable(t, args...)
	}
	files, err := os.ReadDir(missing + "2")
	if err != nil || len(files) == 0 {
		t.Errorf("no files of threads: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(missing+"2", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		printable(t, file.Name(), text)
		// They begin with the name of the folder.
		printable(t, "the name of a file", []byte(strings.TrimPrefix(file.Name(), filepath.Base(missing))))
	}
	if text := tools.Run(t, "wprof-info", capture); !strings.Contains(string(text), `\x1b]0;T\a\x1b[2J\n`) {
		t.Errorf("the summary does not show what is there: %s", text)
	}
}

func wallclockIsPrintable(t *testing.T, args ...string) {
	t.Helper()
	out, _ := tools.Wallclock(t, args...).CombinedOutput()
	if len(out) == 0 {
		t.Errorf("wprof-wallclock %q says nothing", args)
	}
	printable(t, fmt.Sprintf("wprof-wallclock %q", args), out)
}
