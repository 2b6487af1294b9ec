package symbolize

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/textform"
	"wprof/internal/cli"
	"wprof/internal/spool"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv("DEBUGINFOD_URLS") // no test needs more than this machine
	os.Exit(m.Run())
}

// run runs the tool as main does.
func run(t *testing.T, argv ...string) (stderr string, status int) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	return runOn(null, argv...)
}

// runOn runs it with an input.
func runOn(in *os.File, argv ...string) (stderr string, status int) {
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	defer null.Close()
	var errs bytes.Buffer
	tool := cli.Tool{
		Name: "wprof-symbolize", Run: Run,
		Groups: []cli.Group{{Flags: []cli.Flag{
			{Name: "output", Aliases: []string{"o"}, Kind: cli.String},
			{Name: "compress", Aliases: []string{"z"}, Kind: cli.String},
			{Name: "debug-dir", Kind: cli.List},
			{Name: "debuginfod", Kind: cli.List},
			{Name: "symbol-archive", Kind: cli.List},
			{Name: "collect", Kind: cli.String},
			{Name: "fail-on-loss"},
			{Name: "no-lines"},
			{Name: "again"},
			{Name: "demangle", Kind: cli.String},
			{Name: "verbose", Aliases: []string{"v"}},
		}}},
	}
	status = cli.Run(tool, argv, cli.Std{In: in, Out: null, Err: &errs})
	return errs.String(), status
}

// record writes a spool of two rounds, and its end if it is whole.
func record(t *testing.T, whole bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host.wprof.part")
	w, err := spool.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	none := []uint64{0}
	for _, err := range []error{
		w.Begin(spool.Header{Session: &format.Session{Id: 3, Host: "box", BootId: "b"}, Rings: 1}),
		w.Open(1000),
		w.Round(spool.Round{Time: 2000, Producer: none, Drained: none}),
		w.Round(spool.Round{Time: 3_000_001_000, Producer: none, Drained: none}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if whole {
		if err := w.End(spool.Tail{Close: 3_000_001_000}); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func dump(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := textform.Dump(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSpoolThroughAPipeIsFinished(t *testing.T) {
	part := record(t, true)
	out := filepath.Join(t.TempDir(), "a")
	if stderr, status := run(t, part, "-o", out); status != cli.ExitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	piped := filepath.Join(t.TempDir(), "b")
	if stderr, status := runOn(pipe(t, part), "-o", piped); status != cli.ExitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if dump(t, out) != dump(t, piped) {
		t.Error("a spool through a pipe becomes another stream than the file")
	}
}

func TestWholeSpoolIsFinished(t *testing.T) {
	part := record(t, true)
	out := strings.TrimSuffix(part, ".part")
	if stderr, status := run(t, part, "-o", out); status != 0 || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	if text := dump(t, out); !strings.Contains(text, "close=+3.000000000") {
		t.Errorf("the window does not close at 3 s:\n%s", text)
	}
}

func TestCutSpoolIsFinishedUpToItsLastRound(t *testing.T) {
	part := record(t, false)
	out := strings.TrimSuffix(part, ".part")
	stderr, status := run(t, "-o", out, part)
	if status != cli.ExitDamaged || !strings.Contains(stderr, "cut off") || !strings.Contains(stderr, "3.000 s") {
		t.Errorf("status %d, %s; want 4 and what was recovered", status, stderr)
	}
	if text := dump(t, out); !strings.Contains(text, "close=+3.000000000") {
		t.Errorf("the window does not close at the last round:\n%s", text)
	}
}

func TestSpoolThatNeverOpenedLeavesNoOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.part")
	w, err := spool.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Begin(spool.Header{Session: &format.Session{}, Rings: 1}); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	stderr, status := run(t, path, "-o", out)
	if status != cli.ExitFailed || !strings.Contains(stderr, "before its window opened") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is an output: %v", err)
	}
}

const stream = `section id=7 host="h" boot_id="b" open=1000
task 1 tid=12 pid=12 comm="a" start=5
task 2 tid=13 pid=12 comm="b" start=6
+0 cpu0 state_cpu 1 prio=120
+0 cpu0 state_thread 2 state=S prio=120
+1000 cpu0 switch 1 next=2 prev_state=S
+1500 cpu0 lost from=+1200 count=3 cause=ring what=waking
+1600 cpu0 switch 2 next=1 prev_state=R+ !object
end close=+5000
section id=7 host="h" boot_id="b" open=1000 epoch=1 continues=true
task 1 tid=12 pid=12 comm="a" start=5
+6000 cpu0 state_cpu 1 prio=120
end close=+9000 last=true
`

func TestStreamIsPassedOn(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.wprof")
	f, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := textform.Undump(f, strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	out := in + ".out"
	if stderr, status := run(t, in, "-z", "3", "-o", out); status != 0 || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	if got, want := definitionsAndEvents(t, out), definitionsAndEvents(t, in); got != want {
		t.Errorf("passed on\n%s\nwant\n%s", got, want)
	}
}

// definitionsAndEvents returns the lines of definitions and events in a stream's text.
func definitionsAndEvents(t *testing.T, path string) string {
	var kept strings.Builder
	for line := range strings.Lines(dump(t, path)) {
		if strings.HasPrefix(line, "  task") || strings.HasPrefix(line, "  +") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func TestGarbageIsRefused(t *testing.T) {
	for _, name := range []string{"x", "x.part"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.Repeat("no stream ", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
		if stderr, status := run(t, path); status != cli.ExitFailed || stderr == "" {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
	}
}

func TestSpoolAmongOtherFilesIsRefused(t *testing.T) {
	part := record(t, true)
	if stderr, status := run(t, part, part); status != cli.ExitUsage || !strings.Contains(stderr, "the only input") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// pipe is a pipe with the bytes of a file in it.
func pipe(t *testing.T, path string) *os.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	go func() {
		defer writer.Close()
		_, _ = writer.Write(data)
	}()
	return in
}
