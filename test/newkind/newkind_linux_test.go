package newkind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

const (
	patch = "testdata/hrtimer.patch"
	// mostFiles is how many files a span may take.
	mostFiles = 8
	sleeps    = 100
)

// patched are the files that the patch changes or adds.
func patched(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, m := range regexp.MustCompile(`(?m)^\+\+\+ b/(.*)$`).FindAllSubmatch(text, -1) {
		files = append(files, string(m[1]))
	}
	return files
}

// The page lists the files of the example.
func TestThePageListsTheFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/development.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Adding an event kind\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	files := patched(t)
	slices.Sort(listed)
	slices.Sort(files)
	if !slices.Equal(listed, files) || len(files) > mostFiles {
		t.Errorf("the page lists %q, the example has %q; %d at most", listed, files, mostFiles)
	}
}

// folder is where the copy stands. It is always the same, so that the second test of the same files builds nothing: packages of
// another folder are other packages to Go's build cache.
const folder = "build/newkind"

// example is a copy of the repository with the patch, and its tools.
type example struct {
	t    *testing.T
	root string
}

func newExample(t *testing.T) *example {
	t.Helper()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	x := &example{t, filepath.Join(source, folder)}
	if err := os.RemoveAll(x.root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(x.root) })
	if err := os.MkdirAll(x.root, 0o755); err != nil {
		t.Fatal(err)
	}
	list := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = source
	names, err := list.Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	archive := exec.Command("cp", append([]string{"--parents", "-t", x.root}, strings.FieldsFunc(string(names), func(r rune) bool { return r == 0 })...)...)
	archive.Dir = source
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("copy the repository: %v: %s", err, out)
	}
	absolute, err := filepath.Abs(patch)
	if err != nil {
		t.Fatal(err)
	}
	x.run("patch", "-p1", "--fuzz=0", "-i", absolute)
	x.run("go", "generate", "-run", "internal/gen|bpf2go", "./format", "./bpf", "./internal/ringdata")
	x.run("go", "vet", "./format", "./bpf", "./internal/assemble")
	x.run("go", "build", "-ldflags=-s -w", "-o", "bin/", "./cmd/wprof-record", "./cmd/wprof-filter", "./cmd/wprof-json", "./cmd/wprof-info", "./cmd/wprof-perfetto")
	return x
}

// run runs a program in the copy, a tool of it if the name says so, and returns what it prints.
func (x *example) run(name string, args ...string) string {
	x.t.Helper()
	if strings.HasPrefix(name, "wprof-") {
		name = filepath.Join(x.root, "bin", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = x.root
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		x.t.Fatalf("%s: %v\n%s%s", cmd, err, out.Bytes(), problems.Bytes())
	}
	return out.String()
}

// file is the path of a file in the copy.
func (x *example) file(name string) string { return filepath.Join(x.root, name) }

// TestNewSpanFollowsFromItsRow records a workload that sets timers with the patched recorder, and takes what it has recorded
// through the patched tools.
func TestNewSpanFollowsFromItsRow(t *testing.T) {
	tools.NeedPrivilege(t)
	engine.Need(t)
	x := newExample(t)
	if help := x.run("wprof-record", "--help"); !strings.Contains(help, "timers") {
		t.Error("wprof-record --help does not list the group")
	}
	capture := x.record("on.wprof", "-f", "timers")
	x.run("wprof-info", "--check", capture)
	lines := x.jsonLines(capture)
	if lines < sleeps {
		t.Errorf("%d spans, want one for each of %d sleeps", lines, sleeps)
	}
	x.checkPerfetto(capture, lines)
	if n := strings.Count(x.run("wprof-json", "--chrome", capture), `"ph":"b","cat":"hrtimer"`); n != lines {
		t.Errorf("Chrome's JSON has %d slices, want %d", n, lines)
	}
	kept := x.file("kept.wprof")
	x.run("wprof-filter", "-k", "hrtimer", "-o", kept, capture)
	if n := len(regexp.MustCompile(`cpu\d+ hrtimer `).FindAllString(x.run("wprof-info", "--dump", kept), -1)); n != lines {
		t.Errorf("-k hrtimer keeps %d spans, want %d", n, lines)
	}
	if dump := x.run("wprof-info", "--dump", x.record("off.wprof")); strings.Contains(dump, " hrtimer ") {
		t.Error("spans are recorded without -f timers")
	}
	x.checkCut()
}

// record records the workload and returns the path of the capture.
func (x *example) record(name string, flags ...string) string {
	x.t.Helper()
	capture := x.file(name)
	workload := fmt.Sprintf("for i in $(seq %d); do sleep 0.001; done", sleeps)
	x.run("wprof-record", slices.Concat([]string{"-a"}, flags, []string{"-o", capture, "--", "sh", "-c", workload})...)
	return capture
}

// jsonLines checks the JSON lines of the spans in a capture and returns how many there are.
func (x *example) jsonLines(capture string) int {
	x.t.Helper()
	lines := 0
	for line := range strings.Lines(x.run("wprof-json", "-k", "hrtimer", capture)) {
		var e struct {
			T     string
			Dur   *float64
			Clock *int
			Task  *struct{ TID int }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			x.t.Fatalf("%s: %v", line, err)
		}
		if e.T != "hrtimer" {
			continue
		}
		lines++
		if e.Dur == nil || *e.Dur < 0 || e.Clock == nil || *e.Clock > 7 || e.Task == nil {
			x.t.Fatalf("a span without all its fields: %s", line)
		}
	}
	return lines
}

// checkPerfetto compares the slices of a trace for Perfetto with the number of spans.
func (x *example) checkPerfetto(capture string, want int) {
	x.t.Helper()
	trace := x.file("trace.pb")
	if err := os.WriteFile(trace, []byte(x.run("wprof-perfetto", capture)), 0o644); err != nil {
		x.t.Fatal(err)
	}
	engine.CheckStats(x.t, trace)
	rows := engine.Query(x.t, trace, `select count(*) as n, count(a.int_value) as clocks from slice s join track t on t.id = s.track_id
		left join args a on a.arg_set_id = s.arg_set_id and a.key = 'debug.clock' where s.name = 'hrtimer' and t.name glob 'hrtimer CPU *'`)[0]
	if got, clocks := fmt.Sprint(rows[0]["n"]), fmt.Sprint(rows[0]["clocks"]); got != fmt.Sprint(want) || clocks != got {
		x.t.Errorf("Perfetto has %v slices with %v clocks, want %d", got, clocks, want)
	}
}

// checkCut cuts a capture in the middle of a span.
func (x *example) checkCut() {
	x.t.Helper()
	if err := os.WriteFile(x.file("cut.txt"), []byte("section open=0 close=1000\ntask 1 tid=5 pid=5\n600 cpu0 hrtimer 1 called=100 clock=1\nend close=1000\n"), 0o644); err != nil {
		x.t.Fatal(err)
	}
	x.run("wprof-info", "--undump", "-o", x.file("cut.wprof"), x.file("cut.txt"))
	x.run("wprof-filter", "--end", "300ns", "-o", x.file("range.wprof"), x.file("cut.wprof"))
	if dump := x.run("wprof-info", "--dump", x.file("range.wprof")); !strings.Contains(dump, "+0.000000300 cpu0 hrtimer 1 called=+0.000000100 clock=1 open") {
		x.t.Errorf("a span that crosses --end is not written there:\n%s", dump)
	}
}
