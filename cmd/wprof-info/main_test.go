package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/tools"
)

// tester runs the built tool.
type tester struct {
	t    *testing.T
	path string
}

func TestMain(m *testing.M) { tools.Main(m) }

func newTester(t *testing.T) tester { return tester{t, tools.Path("wprof-info")} }

// run gives the tool an input through a pipe and returns what it wrote and its exit status.
func (r tester) run(stdin []byte, args ...string) (stdout []byte, stderr string, status int) {
	r.t.Helper()
	cmd := exec.Command(r.path, args...)
	cmd.Stdin = struct{ *bytes.Reader }{bytes.NewReader(stdin)} // no file: the tool gets a pipe
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return out.Bytes(), errs.String(), cmd.ProcessState.ExitCode()
}

const text = `section host="h" boot_id="b" open=1000
task 1 tid=12 pid=12 comm="a\n\x1b[31m\"\xff"
task 2 tid=13 pid=12 comm="b"
+0 cpu0 state_cpu 1 prio=120
+1000 cpu0 switch 1 next=2 prev_state=S
+1500 cpu0 exec 2 prev=2 filename="/bin/\x07x"
end close=+5000
`

// later was recorded when the window of text had closed.
const later = "section host=h boot_id=b open=9000\nend close=+5000\n"

func TestPipelines(t *testing.T) {
	tool := newTester(t)
	stream, stderr, status := tool.run([]byte(text), "--undump")
	if status != 0 || stderr != "" {
		t.Fatalf("--undump: status %d, %s", status, stderr)
	}
	dump, stderr, status := tool.run(stream, "--dump")
	if status != 0 || stderr != "" {
		t.Fatalf("--dump: status %d, %s", status, stderr)
	}
	if bytes.ContainsFunc(dump, func(r rune) bool { return r < ' ' && r != '\n' }) || !strings.Contains(string(dump), `comm="a\n\x1b[31m\"\xff"`) {
		t.Errorf("the text holds names as they are:\n%s", dump)
	}
	again, _, status := tool.run(dump, "--undump", "-")
	if status != 0 || !bytes.Equal(again, stream) {
		t.Errorf("--dump | --undump: status %d, the stream changes", status)
	}
	if out, stderr, status := tool.run(stream, "--check"); status != 0 || stderr != "" ||
		!strings.HasPrefix(string(out), "standard input: sound: 3 events in 5 blocks and 1 section, ") {
		t.Errorf("--check: status %d, %q, %s", status, out, stderr)
	}
	if out, stderr, status := tool.run(stream); status != 0 || stderr != "" || !strings.Contains(string(out), "events      3, ") {
		t.Errorf("without flags: status %d, %q, %s", status, out, stderr)
	}
}

func TestExitStatus(t *testing.T) {
	tool := newTester(t)
	stream := func(text string) []byte {
		out, stderr, status := tool.run([]byte(text), "--undump")
		if status != 0 {
			t.Fatalf("--undump: status %d, %s", status, stderr)
		}
		return out
	}
	cut := stream(text + "cut 3\n")
	for _, c := range []struct {
		name   string
		stdin  []byte
		args   string
		status int
		out    string
		stderr string
	}{
		{"check damaged", cut, "--check", 4, "at byte 432: the last 144 bytes", "the stream is damaged: 2 findings among 3 events"},
		{"dump damaged", cut, "--dump", 4, "# damage: the last", "the stream is damaged in 2 places"},
		{"summary damaged", cut, "", 4, "events      3", "see --check"},
		{"check wrong", stream("section\n+1 cpu0 free 1\nend\n"), "--check", 4, "at byte 93: the free at +0.000000001 names task 1", "1 finding"},
		{"newer", stream("section major=9\nend\n"), "--check", 3, "", "needs a newer version"},
		{"newer dump", stream("section features=4\nend\n"), "--dump", 3, "", "needs a newer version"},
		{"newer summary", stream("section features=4\nend\n"), "", 3, "", "needs a newer version"},
		{"newer minor", stream("section minor=9\nend\n"), "--check", 0, "sound", ""},
		{"no stream", []byte("hello"), "", 1, "", "not a wprof stream"},
		{"no stream checked", []byte("hello"), "--check", 1, "", "not a wprof stream"},
		{"nothing", nil, "--dump", 1, "", "not a wprof stream"},
		{"wrong text", []byte("section\n+1 cpu0 swtch 1\n"), "--undump", 1, "", `wprof-info: standard input: line 2: there is no event kind "swtch"; the nearest is switch`},
		{"text cut within a line", []byte("section\ntask 1 tid=1"), "--undump", 1, "", "wprof-info: standard input: line 2, the last one, was cut: it does not end with a newline; add one if the line is whole"},
		{"text cut within a word", []byte("section\ntask 1 ti"), "--undump", 1, "", "line 2, the last one, was cut"},
		{"summary as JSON", stream(text), "--json", 0, `"events": 3,`, ""},
		{"damaged as JSON", cut, "--json", 4, `"complete": false,`, "see --check"},
		{"JSON of a check", nil, "--json --check", 2, "", "--check and --json exclude each other"},
		{"two recordings in the wrong order", append(stream(later), stream(text)...), "", 1, "", "order them by time"},
		{"two recordings in the wrong order as JSON", append(stream(later), stream(text)...), "--json", 1, "", "order them by time"},
		{"two recordings in order", append(stream(text), stream(later)...), "", 0, "events      3, ", ""},
		{"two modes", nil, "--dump --check", 2, "", "--check and --dump exclude each other"},
		{"unknown flag", nil, "--dmup", 2, "", "--dump"},
		{"flag of the filter", nil, "-p 12", 2, "", "wprof-filter -p PID FILE | wprof-info"},
		{"no such file", nil, "/nonexistent", 1, "", "/nonexistent"},
	} {
		out, stderr, status := tool.run(c.stdin, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(string(out), c.out) || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
			t.Errorf("%s: status %d, want %d; output\n%s\nstandard error %s", c.name, status, c.status, out, stderr)
		}
		if strings.Count(stderr, "\n") > 1 {
			t.Errorf("%s: more than one line of error: %s", c.name, stderr)
		}
	}
}

// TestSpoolIsNamedAsOne: it is what people have when a recording was cut short.
func TestSpoolIsNamedAsOne(t *testing.T) {
	r := newTester(t)
	spool := append([]byte("WSPL"), make([]byte, 4096)...)
	file := filepath.Join(t.TempDir(), "x.wprof.part")
	if err := os.WriteFile(file, spool, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"--fail-on-loss", "--check", "--dump", "--json"} {
		for _, input := range []string{file, "-"} {
			_, stderr, status := r.run(spool, mode, input)
			if status != 1 || !strings.Contains(stderr, "it is the spool of a recording that was cut short; wprof-symbolize FILE.part -o FILE") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s %s: status %d: %s", mode, input, status, stderr)
			}
		}
	}
}

func TestOutputFile(t *testing.T) {
	tool := newTester(t)
	path := filepath.Join(t.TempDir(), "x.wprof")
	if _, stderr, status := tool.run([]byte(text), "--undump", "-o", path); status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A text that is wrong leaves the file as it was.
	if _, _, status := tool.run([]byte("section\nfalse\n"), "--undump", "-o", path); status != 1 {
		t.Errorf("wrong text: status %d, want 1", status)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, good) {
		t.Errorf("the file has changed: %v", err)
	}
	// A regular file and a pipe say the same, and two files are one stream.
	fromFile, _, _ := tool.run(nil, path)
	fromPipe, _, _ := tool.run(good)
	if !bytes.Equal(bytes.TrimPrefix(fromFile, []byte(path)), bytes.TrimPrefix(fromPipe, []byte("standard input"))) {
		t.Errorf("from the file:\n%sfrom the pipe:\n%s", fromFile, fromPipe)
	}
	// What is whole in a damaged stream is written, to a file too.
	textPath := filepath.Join(t.TempDir(), "x.txt")
	if _, stderr, status := tool.run(good[:len(good)-1], "--dump", "-o", textPath); status != 4 {
		t.Errorf("damaged: status %d, %s", status, stderr)
	}
	if dump, err := os.ReadFile(textPath); err != nil || !strings.Contains(string(dump), "switch 1 next=2") {
		t.Errorf("the dump of a damaged stream: %v\n%s", err, dump)
	}
}

func TestSeveralFilesAreOneStream(t *testing.T) {
	tool := newTester(t)
	dir := t.TempDir()
	first, second, elsewhere := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	for path, stream := range map[string]string{first: text, second: later, elsewhere: "section host=x boot_id=c open=90000\nend\n"} {
		if _, stderr, status := tool.run([]byte(stream), "--undump", "-o", path); status != 0 {
			t.Fatalf("--undump: status %d, %s", status, stderr)
		}
	}
	for _, c := range []struct {
		files  []string
		status int
		stderr string
	}{
		{[]string{first, second}, 0, ""},
		{[]string{second, first}, 1, second + ", " + first + ": the sections do not share a timeline"},
		{[]string{first, elsewhere}, 1, "take each one by itself"},
	} {
		for _, mode := range []string{"", "--json"} {
			out, stderr, status := tool.run(nil, append(strings.Fields(mode), c.files...)...)
			if status != c.status || (len(out) > 0) != (status == 0) || !strings.Contains(stderr, c.stderr) || (stderr == "") != (status == 0) {
				t.Errorf("%s %v: status %d, want %d; output\n%s\nstandard error %s", mode, c.files, status, c.status, out, stderr)
			}
		}
	}
}

func TestReaderOfTheOutputMayEnd(t *testing.T) {
	tool := newTester(t)
	long := "section\ntask 1\n" + strings.Repeat("+1 cpu0 free 1\n", 200_000) + "end\n"
	path := filepath.Join(t.TempDir(), "x.wprof")
	if _, stderr, status := tool.run([]byte(long), "--undump", "-o", path); status != 0 {
		t.Fatalf("--undump: status %d, %s", status, stderr)
	}
	out, err := exec.Command("sh", "-c", `"$0" --dump "$1" | head -n 3`, tool.path, path).CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 3 {
		t.Errorf("%v: %s", err, out)
	}
}

// The reason why the output failed is printed once.
func TestFullDiskIsReportedOnce(t *testing.T) {
	tool := newTester(t)
	path := filepath.Join(t.TempDir(), "x.wprof")
	if _, stderr, status := tool.run([]byte(text), "--undump", "-o", path); status != 0 {
		t.Fatalf("--undump: status %d, %s", status, stderr)
	}
	for _, mode := range []string{"--dump", "--check", "--json", ""} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("docs/kernels.md: this system has no /dev/full")
		}
		cmd := exec.Command(tool.path, strings.Fields(mode+" "+path)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		if err := cmd.Run(); err == nil || strings.Count(stderr.String(), "no space left") != 1 {
			t.Errorf("%s: %v, %s", mode, err, stderr.String())
		}
		full.Close()
	}
}
