package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/test/fromtext"
	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

// Over 10 ms busy and lazy share a CPU: busy works at its first half in one function, at its second in another.
const capture = `
section host=box boot_id=b kernel_release=6.18.0 open=1000000000 close=+10000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
task 3 tid=101 pid=100 comm=lazy process_comm=busy start=6
module 1 path="/bin/busy" build_id=01abcd kind=file
frame 1 module=1 offset=0x1100 caller
  line function="main" file="busy.c" line=7
frame 2 module=1 offset=0x1200
  line function="one" file="busy.c" line=17
frame 3 module=1 offset=0x1300
  line function="two"
stack 1 frames=1,2
stack 2 frames=1,3
+0 cpu0 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120 since=-1000
+2000000 cpu0 sample 2 stack=1 source=1
+5000000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-1000 next_state=S stack=1
+6000000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120 since=+5000000 next_state=R+
+8000000 cpu0 sample 2 stack=2 source=1
+10000000 cpu0 state_cpu 2 prio=120 since=+6000000 open
+10000000 cpu0 state_thread 3 state=S prio=120 since=+6000000 stack=2 open
end close=+10000000
`

func written(t *testing.T, stream []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.wprof")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func run(t *testing.T, stdin []byte, args ...string) tools.Result {
	t.Helper()
	return tools.Try(t, time.Minute, stdin, "wprof-flame", args...)
}

func TestFoldedStacksOfFilesAndPipes(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	file := written(t, stream)
	for _, c := range []struct{ args, want string }{
		{"", `
			busy-100;[no stack];[runnable]_[o] 1000
			busy-100;[not sampled]_[c] 1000
			busy-100;main;one_[c] 4500
			busy-100;main;one_[o] 5000
			busy-100;main;two_[c] 4500
			busy-100;main;two_[o] 4000`},
		{"--on-cpu --by thread --unit ns", `
			busy-100/100;main;one 4500000
			busy-100/100;main;two 4500000
			lazy-100/101;[not sampled] 1000000`},
		{"--on-cpu --spread=span --by thread --unit ns", `
			busy-100/100;main;one 5000000
			busy-100/100;main;two 4000000
			lazy-100/101;[not sampled] 1000000`},
		{"--off-cpu --state --unit=ms --by comm", `
			busy;[no stack];[preempted] 1
			lazy;main;one;[unknown (interruptible)] 5
			lazy;main;two;[unknown (interruptible)] 4`},
		{"--unit samples --by none --reverse", `
			[no stack];[runnable]_[o] 1
			one;main_[c] 1
			one;main_[o] 1
			two;main_[c] 1
			two;main_[o] 1`},
		{"--tid 101 --by comm", `
			lazy;[not sampled]_[c] 1000
			lazy;main;one_[o] 5000
			lazy;main;two_[o] 4000`},
		{"--start 5ms --end 7ms --by thread", `
			busy-100/100;[no stack];[runnable]_[o] 1000
			busy-100/100;[not sampled]_[c] 1000
			lazy-100/101;[not sampled]_[c] 1000
			lazy-100/101;main;two_[o] 1000`},
		{"--start 5ms --diff-end 5ms --unit ns --by thread", `
			busy-100/100;[no stack];[runnable]_[o] 0 1000000
			busy-100/100;main;one_[c] 5000000 0
			busy-100/100;main;two_[c] 0 4000000
			lazy-100/101;[not sampled]_[c] 0 1000000
			lazy-100/101;main;one_[o] 5000000 0
			lazy-100/101;main;two_[o] 0 4000000`},
		{"--min-block 4500us --off-cpu", `busy-100;main;one 5000`},
		{"-n nobody", ""},
		{"--idle-threads --on-cpu --by comm --start 9ms", "busy;[not sampled] 1000"},
	} {
		got := run(t, nil, append(strings.Fields(c.args), file)...)
		if got.Status != 0 {
			t.Errorf("%q: status %d: %s", c.args, got.Status, got.Stderr)
		}
		if g, w := lines(string(got.Stdout)), lines(c.want); !slices.Equal(g, w) {
			t.Errorf("%q: got\n%s\nwant\n%s", c.args, strings.Join(g, "\n"), strings.Join(w, "\n"))
		}
		if strings.Contains(c.args, "--diff") {
			continue // reads the file twice
		}
		if piped := run(t, stream, strings.Fields(c.args)...); !bytes.Equal(piped.Stdout, got.Stdout) || piped.Status != 0 {
			t.Errorf("%q: status %d, and from a pipe it prints %s", c.args, piped.Status, piped.Stdout)
		}
	}
}

func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func TestExitStatusDependsOnTheInput(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	other := strings.NewReplacer("boot_id=b", "boot_id=c", "host=box", "host=other").Replace(capture)
	for _, c := range []struct {
		what   string
		stdin  []byte
		args   string
		status int
		stderr string
		output bool
	}{
		{"a truncated stream", stream[:len(stream)-60], "", 4, "damaged", true},
		{"a truncated stream, filtered", stream[:len(stream)-60], "-p 100", 4, "damaged", true},
		{"no stream", []byte("hello"), "", 1, "not a wprof stream", false},
		{"no stream, filtered", []byte("hello"), "-p 1", 1, "not a wprof stream", false},
		{"a newer stream", fromtext.Stream(t, strings.Replace(capture, "section ", "section major=9 ", 1)), "", 3, "newer", false},
		{"two machines", append(bytes.Clone(stream), fromtext.Stream(t, other)...), "", 1, "different machines", true},
		{"two machines, filtered", append(bytes.Clone(stream), fromtext.Stream(t, other)...), "-p 100", 1, "different machines", true},
		{"nothing kept", stream, "-p 7", 0, "the output is empty", false},
	} {
		got := run(t, c.stdin, strings.Fields(c.args)...)
		if got.Status != c.status || !strings.Contains(string(got.Stderr), c.stderr) || strings.Count(string(got.Stderr), "\n") != 1 {
			t.Errorf("%s: status %d, want %d; stderr %q", c.what, got.Status, c.status, got.Stderr)
		}
		if len(got.Stdout) > 0 != c.output {
			t.Errorf("%s: %d bytes of output, want some: %v", c.what, len(got.Stdout), c.output)
		}
	}
}

func TestWrongUsageIsRefused(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	for _, c := range []struct{ args, stderr string }{
		{"--on-cpu --off-cpu", "--on-cpu and --off-cpu exclude each other"},
		{"--svg --html", "--svg and --html cannot share an output; write --html=FILE"},
		{"--svg=a.svg -o b.svg", "-o b.svg would stay empty"},
		{"--wakeup-chain 17", "from 1 to 16"},
		{"--wakeup-chain x", "not a whole number"},
		{"--buckets 0 -o x", "has no length"},
		{"--buckets 1ms", "name them with -o FILE"},
		{"--buckets 1ms --svg -o x", "folded stacks and nothing else"},
		{"--by proces", "did you mean process?"},
		{"--unit s", "not one of its values"},
		{"--diff " + file + " --pprof", "--diff does not go with --pprof"},
		{"--diff=", "empty"},
		{"--start x", "time of day"},
		{"--diff-end x", "time of day"},
		{"--per-thread=", "empty"},
		{"--svg=x --html=./x", "--svg and --html both write x"},
		{"--svg=x --folded -o x", "--folded and --svg both write x"},
		{"--spread samples", "not one of its values"},
		{"-K switch", "events of kind switch are needed"},
		{"-k sample", "events of kind switch are needed"},
		{"--diff-start 2ms --diff-end 1ms", "--diff-start is not before --diff-end"},
		{"--min-block 3x", "unit"},
		{"--event x --off-cpu", "--off-cpu and --event exclude each other"},
		{"--event x --html", "--event does not go with --html"},
		{"--event x --per-thread y", "--event does not go with --per-thread"},
		{"--event x --buckets 1ms -o y", "--event"},
	} {
		got := run(t, nil, append(strings.Fields(c.args), file)...)
		if got.Status != 2 || !strings.Contains(string(got.Stderr), c.stderr) || len(got.Stdout) > 0 || strings.Count(string(got.Stderr), "\n") != 1 {
			t.Errorf("%q: status %d, stderr %q, %d bytes", c.args, got.Status, got.Stderr, len(got.Stdout))
		}
	}
	if got := run(t, nil, "--buckets", "500ns", "-o", filepath.Join(t.TempDir(), "x"), file); got.Status != 2 || !strings.Contains(string(got.Stderr), "more than 10000") {
		t.Errorf("too many buckets: status %d, %q", got.Status, got.Stderr)
	}
	empty := written(t, fromtext.Stream(t, "section open=1000000000 close=+1s\nend close=+1s\n"))
	for _, c := range []struct {
		args []string
		side string
	}{
		{[]string{"--diff-start", "50ms", file}, "compare with " + file}, {[]string{"--start", "50ms", "--diff-end", "5ms", file}, "compare " + file},
		{[]string{"--diff", empty, file}, "compare with " + empty}, {[]string{"--diff", file, empty}, "compare " + empty},
		{[]string{"--svg", "--diff", file, "-p", "7", file}, "compare " + file},
	} {
		output := filepath.Join(t.TempDir(), "diff")
		got := run(t, nil, append([]string{"-o", output}, c.args...)...)
		if said := string(got.Stderr); got.Status != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.side+": nothing is left of it to compare") {
			t.Errorf("%q: status %d, %q", c.args, got.Status, got.Stderr)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%q: there is an output", c.args)
		}
	}
	if got := run(t, fromtext.Stream(t, capture), "--diff-end", "5ms"); got.Status != 2 || !strings.Contains(string(got.Stderr), "name a FILE") {
		t.Errorf("two ranges of a pipe: status %d, %q", got.Status, got.Stderr)
	}
}

// A file that is named after a space is an input, and the flag's value at most by intention.
func TestFileAfterAFlagWithoutValueIsNeverReadAsAStream(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	file, picture := written(t, stream), filepath.Join(t.TempDir(), "wall.svg")
	for _, c := range []struct {
		args  []string
		stdin []byte
		why   string
	}{
		{args: []string{"--svg", picture, file}, why: "no such file or directory"},
		{args: []string{"--svg", picture}, stdin: stream, why: "no such file or directory"},
		{args: []string{"--svg=" + picture, file}},
		{args: []string{"--svg", picture, file}, why: "not a wprof stream"},
		{args: []string{file, "--svg", picture}, why: "not a wprof stream"},
		{args: []string{"--svg", file, picture}, why: "not a wprof stream"},
		{args: []string{"--svg", picture}, stdin: stream, why: "not a wprof stream"},
		{args: []string{"--svg", file}},
	} {
		got := run(t, c.stdin, c.args...)
		want, status := "", 0
		if c.why != "" {
			want, status = fmt.Sprintf("wprof-flame: read %s: %s; to write it, give --svg=%[1]s\n", picture, c.why), 2
		}
		if got.Status != status || string(got.Stderr) != want || status != 0 && len(got.Stdout) > 0 {
			t.Errorf("%q: status %d, want %d; %q, want %q; %d bytes of output", c.args, got.Status, status, got.Stderr, want, len(got.Stdout))
		}
	}
}

// The buckets together have the time of the whole, each that of its own.
func TestBuckets(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	dir := t.TempDir()
	if got := run(t, nil, "--buckets", "3ms", "-o", filepath.Join(dir, "out.folded"), "--unit", "ns", file); got.Status != 0 {
		t.Fatalf("status %d: %s", got.Status, got.Stderr)
	}
	for n, want := range []string{ // without samples in it, what a thread did on the CPU in a bucket is not known
		"busy-100;main;one_[c] 3000000\nbusy-100;main;one_[o] 3000000",
		"busy-100;[no stack];[runnable]_[o] 1000000\nbusy-100;[not sampled]_[c] 3000000\nbusy-100;main;one_[o] 2000000",
		"busy-100;main;two_[c] 3000000\nbusy-100;main;two_[o] 3000000",
		"busy-100;[not sampled]_[c] 1000000\nbusy-100;main;two_[o] 1000000",
	} {
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.%04d.folded", n)))
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("bucket %d: %v, got\n%s\nwant\n%s", n, err, got, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 4 {
		t.Errorf("%d files, want 4: %v", len(left), left)
	}
}

// One run writes everything, complete, each file as a run of its own would.
func TestSeveralOutputsOfOneRun(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	forms := []string{"folded", "svg", "html", "pprof", "speedscope", "analysis"}
	var args []string
	for _, form := range forms {
		args = append(args, "--"+form+"="+in(form))
	}
	if got := run(t, nil, append(args, "--per-thread", in("threads"), file)...); got.Status != 0 || len(got.Stdout)+len(got.Stderr) > 0 {
		t.Fatalf("status %d, %d bytes, %s", got.Status, len(got.Stdout), got.Stderr)
	}
	for _, form := range forms {
		alone := run(t, nil, "--"+form, file)
		text, err := os.ReadFile(in(form))
		if err != nil || alone.Status != 0 || len(text) == 0 {
			t.Errorf("--%s: %d bytes, %v, alone status %d: %s", form, len(text), err, alone.Status, alone.Stderr)
		}
		if !bytes.Equal(text, alone.Stdout) && form != "html" && form != "pprof" { // these also have what other outputs made the profile keep
			t.Errorf("--%s differs beside the others", form)
		}
	}
	files, _ := filepath.Glob(in("threads") + "/*")
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	want := []string{"thread_100_main.folded", "thread_100_main.svg", "thread_100_main_analysis.txt", "thread_101_lazy.folded", "thread_101_lazy.svg", "thread_101_lazy_analysis.txt", "threads_thread_analysis.txt"}
	if !slices.Equal(files, want) {
		t.Errorf("got %q, want %q", files, want)
	}
}

// The title of a picture of a difference says that it is one, and of which captures.
func TestDifferenceTitleNamesBothCaptures(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	for _, c := range []struct{ args, title, caption string }{
		{"--svg --diff " + file, "<title>Wall-clock time compared with x.wprof · busy-100 · box</title>", "compared with 10 ms from 2023-11-14 22:13:20 UTC of " + file},
		{"--svg --on-cpu --start 5ms --diff-start 1ms --diff-end 5ms", "<title>On-CPU time compared with 1 ms to 5 ms of x.wprof · busy-100 · box</title>",
			"compared with 4 ms from 2023-11-14 22:13:20 UTC of " + file},
	} {
		got := run(t, nil, append(strings.Fields(c.args), file)...)
		if svg := string(got.Stdout); got.Status != 0 || !strings.Contains(svg, c.title) || !strings.Contains(svg, c.caption+"</desc>") {
			t.Errorf("%s: status %d %s, the head is %.600s", c.args, got.Status, got.Stderr, svg)
		}
	}
}

func TestCaptureWithoutSourceLinesIsReported(t *testing.T) {
	bare := strings.NewReplacer(` file="busy.c" line=7`, "", ` file="busy.c" line=17`, "").Replace(capture)
	noUser := strings.NewReplacer(" stack=1", "", " stack=2", "").Replace(bare)
	for _, c := range []struct {
		what, text, args string
		warns            bool
	}{
		{"with lines", capture, "--lines", false},
		{"with lines", capture, "--inline", false},
		{"without lines", bare, "", false},
		{"without lines", bare, "--lines", true},
		{"without lines", bare, "--inline", true},
		{"without lines", bare, "--inline --lines --svg", true},
		{"without lines, two ranges", bare, "--lines --start 5ms --diff-end 5ms", true},
		{"without user frames", noUser, "--lines --inline", false},
	} {
		file := written(t, fromtext.Stream(t, c.text))
		want := ""
		if c.warns {
			want = "wprof-flame: " + file + ": no frame has a source line: record with --lines, or run wprof-symbolize first\n"
		}
		if got := run(t, nil, append(strings.Fields(c.args), file)...); got.Status != 0 || string(got.Stderr) != want {
			t.Errorf("%s, %q: status %d, %q, want %q", c.what, c.args, got.Status, got.Stderr, want)
		}
	}
}
