package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/internal/perfetto/schema"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

const capture = `
section host=test boot_id=b kernel_release=6.18.0 open=1000000000 close=+1000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
+0 cpu0 state_cpu 2 prio=120
+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
end close=+1000000
`

type tester struct {
	t    *testing.T
	path string
}

func TestMain(m *testing.M) { tools.Main(m) }

func newTester(t *testing.T) tester { return tester{t, tools.Path("wprof-perfetto")} }

// run gives the tool an input through a pipe and returns what it wrote and its exit status.
func (r tester) run(stdin []byte, args ...string) (stdout []byte, stderr string, status int) {
	r.t.Helper()
	cmd := exec.Command(r.path, args...)
	cmd.Stdin = struct{ *bytes.Reader }{bytes.NewReader(stdin)}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return out.Bytes(), errs.String(), cmd.ProcessState.ExitCode()
}

func packets(t *testing.T, trace []byte) int {
	t.Helper()
	decoded := new(schema.Trace)
	if err := proto.Unmarshal(trace, decoded); err != nil {
		t.Fatalf("not a trace: %v", err)
	}
	return len(decoded.Packet)
}

func TestPipeAndFileGiveTheSameTrace(t *testing.T) {
	tool := newTester(t)
	stream := fromtext.Stream(t, capture)
	piped, stderr, status := tool.run(stream)
	if status != 0 || stderr != "" || packets(t, piped) == 0 {
		t.Fatalf("status %d, stderr %q, %d bytes", status, stderr, len(piped))
	}
	in, out := filepath.Join(t.TempDir(), "c.wprof"), filepath.Join(t.TempDir(), "t.pb")
	if err := os.WriteFile(in, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := tool.run(nil, in, "-o", out); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if file, err := os.ReadFile(out); err != nil || !bytes.Equal(file, piped) {
		t.Errorf("the file differs from what the pipe got (%v)", err)
	}
}

func TestExitStatusDependsOnTheInput(t *testing.T) {
	tool := newTester(t)
	stream := fromtext.Stream(t, capture)
	other := strings.NewReplacer("boot_id=b", "boot_id=c", "host=test", "host=other").Replace(capture)
	for _, c := range []struct {
		what   string
		stdin  []byte
		status int
		stderr string
		trace  bool
	}{
		{"a truncated stream", stream[:len(stream)-60], 4, "1 hole, 0 blocks and ", true},
		{"no stream", []byte("hello"), 1, "not a wprof stream", false},
		{"a newer stream", fromtext.Stream(t, strings.Replace(capture, "section ", "section major=9 ", 1)), 3, "newer", false},
		{"two machines", append(bytes.Clone(stream), fromtext.Stream(t, other)...), 1, "different machines", true},
	} {
		out, stderr, status := tool.run(c.stdin)
		if status != c.status || !strings.Contains(stderr, c.stderr) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, want %d; stderr %q", c.what, status, c.status, stderr)
		}
		if got := packets(t, out) > 0; got != c.trace {
			t.Errorf("%s: a trace was written: %v, want %v", c.what, got, c.trace)
		}
	}
}

func TestFlagsOfTheFilterAreNamed(t *testing.T) {
	out, stderr, status := newTester(t).run(nil, "--start", "1s")
	if want := "wprof-filter --start TIME FILE | wprof-perfetto\n"; status != 2 || !strings.HasSuffix(stderr, want) || len(out) > 0 {
		t.Errorf("status %d, stderr %q, want %q", status, stderr, want)
	}
}

func trackEvents(t *testing.T, trace []byte) (n int) {
	t.Helper()
	decoded := new(schema.Trace)
	if err := proto.Unmarshal(trace, decoded); err != nil {
		t.Fatalf("not a trace: %v", err)
	}
	for _, p := range decoded.Packet {
		if p.TrackEvent != nil {
			n++
		}
	}
	return n
}

func TestPartsAreChosenByFlags(t *testing.T) {
	tool := newTester(t)
	stream := fromtext.Stream(t, capture)
	all, _, _ := tool.run(stream)
	// busy on the CPU, then blocked; the CPU then idle: a beginning and an end each.
	for _, c := range []struct {
		args string
		want int
	}{
		{"", 4}, {"-e no-threads", 0}, {"-e no-threads -e threads", 4}, {"-e no-threads,no-sched --emit=threads,tidpid", 4},
		{"--blocked-min 500us", 6}, {"--blocked-min 0", 6}, {"--blocked-min 1s", 4},
	} {
		out, stderr, status := tool.run(stream, strings.Fields(c.args)...)
		if status != 0 || stderr != "" {
			t.Fatalf("%q: status %d: %s", c.args, status, stderr)
		}
		if got := trackEvents(t, out); got != c.want {
			t.Errorf("%q: %d track events, want %d", c.args, got, c.want)
		}
	}
	if out, _, _ := tool.run(stream, "-e", "sched,threads"); !bytes.Equal(out, all) {
		t.Error("sched and threads are not what is there without -e")
	}
	for _, c := range []struct{ args, stderr string }{
		{"-e thread", "did you mean threads?"}, {"-e no-embed-stack", "did you mean no-embed-stacks?"}, {"-e sched,,threads", "empty entry"},
		{"--blocked-min 3x", "unit"},
	} {
		out, stderr, status := tool.run(stream, strings.Fields(c.args)...)
		if status != 2 || !strings.Contains(stderr, c.stderr) || len(out) > 0 {
			t.Errorf("%q: status %d, stderr %q, %d bytes", c.args, status, stderr, len(out))
		}
	}
}

// What does not fit is left out in the documented order, of a file and of a pipe, and at last the end of the capture.
func TestTraceFitsIntoItsSize(t *testing.T) {
	tool := newTester(t)
	begin, _, _ := strings.Cut(capture, "+0 cpu0")
	var text strings.Builder
	text.WriteString(strings.Replace(begin, "close=+1000000", "close=+3000000000", 1) + "+0 cpu0 state_cpu 2 prio=120\n")
	const events = 100_000
	for n := range events {
		at := (n + 1) * 25_000
		fmt.Fprintf(&text, "+%d cpu0 waking %d wakee=%d prio=120 target_cpu=0\n", at-10_000, 2+n%2, 3-n%2)
		fmt.Fprintf(&text, "+%d cpu0 switch %d next=%d prev_state=S prev_prio=120 next_prio=120\n", at, 2+n%2, 3-n%2)
	}
	text.WriteString("end close=+3000000000\n")
	stream := fromtext.Stream(t, strings.Replace(text.String(), "+0 cpu0", "task 3 tid=101 pid=101 comm=other process_comm=other start=6\n+0 cpu0", 1))
	in := filepath.Join(t.TempDir(), "c.wprof")
	if err := os.WriteFile(in, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		least  int
		lacks  []string
		events bool
	}{
		{"--max-mb 100 -e runs", 5_000_000, nil, true},
		{"--max-mb 3 -e runs", 1_000_000, []string{"parts that -e added"}, true},
		{"--max-mb 1", 300_000, []string{"blocked intervals below 10ms", "blocked intervals below 100ms", "the thread view", "wakeups"}, false},
		{"--max-mb 1 -e no-sched,runs", 300_000, []string{"blocked", "everything after "}, true},
	} {
		out, stderr, status := tool.run(nil, append(strings.Fields(c.args), in)...)
		limit, _ := strconv.Atoi(strings.Fields(c.args)[1])
		if status != 0 || len(out) > limit*1_000_000 || len(out) < c.least {
			t.Errorf("%s: status %d, %d bytes: %s", c.args, status, len(out), stderr)
		}
		for _, name := range c.lacks {
			if !strings.Contains(stderr, name) {
				t.Errorf("%s: %q is not in %q", c.args, name, stderr)
			}
		}
		if len(c.lacks) == 0 && stderr != "" {
			t.Errorf("%s: %s", c.args, stderr)
		}
		if got := trackEvents(t, out) > 0; got != c.events {
			t.Errorf("%s: it has track events: %v, want %v", c.args, got, c.events)
		}
		piped, _, _ := tool.run(stream, strings.Fields(c.args)...)
		if !bytes.Equal(piped, out) {
			t.Errorf("%s: a pipe gives %d bytes, a file %d", c.args, len(piped), len(out))
		}
	}
	if _, stderr, status := tool.run(stream, "--max-mb", "0"); status != 2 || !strings.Contains(stderr, "--max-mb takes a number") {
		t.Errorf("0 MB: status %d: %s", status, stderr)
	}
}
