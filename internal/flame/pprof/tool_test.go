package pprof

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/tools"
)

// pprofTool runs Go's own pprof, which must print no warnings.
func pprofTool(t *testing.T, args ...string) string {
	t.Helper()
	out, warnings := tools.Pprof(t, args...)
	complaint := regexp.MustCompile(`tagfocus:Interpreted '\d+' as range, not regexp`).ReplaceAllString(warnings, "")
	if strings.TrimSpace(complaint) != "" {
		t.Fatalf("pprof %q: %s", args, warnings)
	}
	return out
}

func writePprof(t *testing.T, p *profile.Profile, v graph.View) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "p.pb.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(f, p, v); err != nil {
		t.Fatal(err)
	}
	return name
}

// flatCum is the time at a function and of all that it calls, ns.
type flatCum struct{ flat, cum int64 }

// functionTimes are the times of a value by function, from the profile itself.
func functionTimes(p *profile.Profile, value pprofValue) map[string]flatCum {
	all := make(map[string]flatCum)
	for _, t := range p.Threads {
		for _, c := range t.Cells {
			ns := valuesOf(&c)[value]
			names := flametest.CellNames(p, &c)
			for i, name := range names {
				f := all[name]
				if i == 0 {
					f.flat += ns
				}
				if slices.Index(names, name) == i {
					f.cum += ns
				}
				all[name] = f
			}
		}
	}
	for name, f := range all {
		if f == (flatCum{}) {
			delete(all, name)
		}
	}
	return all
}

// topRows reads what pprof -top -unit=ns prints.
func topRows(t *testing.T, text string) map[string]flatCum {
	t.Helper()
	all := make(map[string]flatCum)
	_, table, found := strings.Cut(text, "cum%\n")
	if !found {
		t.Fatalf("no table in %s", text)
	}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		flat, err1 := strconv.ParseInt(strings.TrimSuffix(words[0], "ns"), 10, 64)
		cum, err2 := strconv.ParseInt(strings.TrimSuffix(words[3], "ns"), 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("a row of pprof: %q", line)
		}
		all[strings.TrimSuffix(strings.Join(words[5:], " "), " (inline)")] = flatCum{flat, cum}
	}
	return all
}

// inlined adds a function into which others are inlined, and one that calls itself.
func inlined() *flametest.Builder {
	b := flametest.Box()
	frame := b.Frame(profile.Frame{Functions: []profile.Function{{Name: "outer", File: "o.c", Line: 3}, {Name: "inner", File: "i.h", Line: 7}},
		Module: "/bin/box", BuildID: "b0", Offset: 0x2000})
	deep := b.Stack(b.Function("main"), b.Function("again"), b.Function("again"), frame)
	b.Thread(20, 20, "deep", flametest.Cell(profile.ClassOnCPU, 0, deep, 70e6, 7), flametest.Cell(profile.ClassBlocked, format.StateInterruptible, deep, 30e6, 1))
	return b
}

func TestPprofToolPrintsTheSameSums(t *testing.T) {
	t.Parallel()
	p := inlined().Profile
	file := writePprof(t, p, graph.View{})
	for value, name := range map[pprofValue]string{pprofOnCPU: "on_cpu", pprofOffCPU: "off_cpu", pprofDelay: "delay", pprofWall: "wall"} {
		want := functionTimes(p, value)
		got := topRows(t, pprofTool(t, "-top", "-unit=ns", "-nodecount=10000", "-nodefraction=0", "-sample_index="+name, file))
		for function := range want {
			if got[function] != want[function] {
				t.Errorf("%s of %s: pprof prints %v, want %v", name, function, got[function], want[function])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: pprof has %d functions, want %d", name, len(got), len(want))
		}
	}
	if text := pprofTool(t, "-top", file); !strings.Contains(text, "Type: on_cpu") || !strings.Contains(text, "host box") {
		t.Errorf("by default pprof shows\n%s", text)
	}
}

func TestPprofToolPrintsAndSelects(t *testing.T) {
	t.Parallel()
	file := writePprof(t, inlined().Profile, graph.View{})
	if raw := pprofTool(t, "-raw", file); strings.Count(raw, "tid:[") != 13 || !strings.Contains(raw, "[kernel.kallsyms] e0") {
		t.Errorf("-raw:\n%s", raw)
	}
	if traces := pprofTool(t, "-traces", "-tagfocus=state=interruptible", "-sample_index=off_cpu", file); !strings.Contains(traces, "400ms   k_schedule") {
		t.Errorf("-traces:\n%s", traces)
	}
	for _, c := range []struct {
		args []string
		want string
		not  string
	}{
		{[]string{"-tagfocus=tid=11"}, "answer", "spin"},
		{[]string{"-tagfocus=cpu=0"}, "answer", "spin"},
		{[]string{"-tagfocus=comm=^deep$"}, "inner", "spin"},
		{[]string{"-tagroot=comm"}, "server", "[idle]"},
		{[]string{"-sample_index=off_cpu", `-ignore=\[idle\]`}, "k_schedule", "k_epoll_wait"},
	} {
		text := pprofTool(t, append(append([]string{"-top", "-nodefraction=0"}, c.args...), file)...)
		if !strings.Contains(text, c.want) || strings.Contains(text, c.not+"\n") {
			t.Errorf("%v: want %s and not %s:\n%s", c.args, c.want, c.not, text)
		}
	}
}

// The pages of go tool pprof -http have the functions.
func TestPprofToolServesPages(t *testing.T) {
	t.Parallel()
	at := servePprof(t, writePprof(t, inlined().Profile, graph.View{}))
	for page, want := range map[string][]string{
		"/top?si=on_cpu":       {"spin", "inner", "answer"},
		"/top?si=off_cpu":      {"k_schedule", "[idle]"},
		"/flamegraph?si=wall":  {"spin", "inner", "k_epoll_wait", "[idle]", "k_fsync"},
		"/flamegraph?si=delay": {"spin", "k_schedule"},
		"/peek?f=lock":         {"k_futex", "work"},
	} {
		text := fetch(t, at+page)
		for _, name := range want {
			if !strings.Contains(text, name) {
				t.Errorf("%s does not have %s:\n%s", page, name, text)
			}
		}
	}
}

// servePprof starts pprof's web server, which ends with the test, and returns its address.
func servePprof(t *testing.T, file string) string {
	t.Helper()
	// go tool, which builds the program, does not pass signals on: the program itself is to be ended.
	pprofTool(t, "-top", file)
	path, err := exec.Command("go", "tool", "-n", "pprof").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strings.TrimSpace(string(path)), "-http=127.0.0.1:", "-no_browser", file)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var printed []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed = append(printed, lines.Text())
		if _, at, found := strings.Cut(lines.Text(), "Serving web UI on "); found {
			return at
		}
	}
	t.Fatalf("pprof serves no pages: %s", printed)
	return ""
}

// fetch gets a page. A server that has just printed its address may not be listening yet, so it retries.
func fetch(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: 2 * time.Minute}
	var r *http.Response
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r, err = client.Get(url); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", url, r.Status, err, body)
	}
	return string(body)
}
