package pytrace

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/internal/glob"
	"wprof/internal/python"
)

// The agent finds the modules that the outputs show, and compares them with globs as the tools do.
func TestModulesInTheAgent(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	program := filepath.Join(t.TempDir(), "modules")
	if out, err := exec.Command(cc, "-fsanitize=address,undefined", "-I", "agent", "-o", program, filepath.Join("testdata", "modules.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	paths := []string{
		"/usr/lib/python3.11/json/decoder.py", "/usr/lib/python3/dist-packages/a/b.py", "/v/lib/python3.12/site-packages/a/__init__.py", "/srv/app.py", "app.py",
		"<frozen importlib._bootstrap>", "<frozen x", "<string>", "", ".py", "/__init__.py", "/a/__init__.py", "__init__.py", "/lib/python3", "/lib/python3.py", "/lib/python3/.py",
		"/site-packages/.py", "/a/site-packages/b/dist-packages/c.py", "/srv/grün/öl.py", "/srv/世界/模块.py", "/srv/🐍.py", "<frozen a/b>",
	}
	parts := []string{"/site-packages/", "/dist-packages/", "/lib/python3", ".11", "/", "a", "app", ".py", "__init__", "/__init__", "<frozen ", ">", "é", "世"}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		path := ""
		for range rng.IntN(8) {
			path += parts[rng.IntN(len(parts))]
		}
		paths = append(paths, path)
	}
	globLists := [][]string{nil, {"app*"}, {"!app*"}, {"json.*", "a"}, {"*", "!*.b"}, {"a?p", "*a*a"}, {"json*", "!json.decoder"}, {""}, {"!"}}
	var in strings.Builder
	var want []string
	for _, path := range paths {
		globs, kind := globLists[rng.IntN(len(globLists))], 1
		for _, r := range path {
			kind = max(kind, map[bool]int{r > 0xff: 2, r > 0xffff: 4}[true])
		}
		fmt.Fprintf(&in, "%d%s 0", kind, inHex(path))
		for _, g := range globs {
			fmt.Fprintf(&in, "%s 0", inHex(g))
		}
		in.WriteString("\n")
		module := python.Module(path)
		want = append(want, strconv.Itoa(map[bool]int{true: 1}[wanted(globs, module)])+inHex(module))
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(bytes.TrimSpace(out)), "\n")
	for i := range paths {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("of %q the agent says %q, want %q", paths[i], got[min(i, len(got)-1)], want[i])
		}
	}
}

func inHex(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, " %x", r)
	}
	return b.String()
}

func wanted(globs []string, module string) bool {
	has, matches := false, false
	for _, g := range globs {
		if g == "" { // it ends the list
			break
		}
		not, isNot := strings.CutPrefix(g, "!")
		switch is := glob.Match(not, []byte(module)); {
		case isNot && is:
			return false
		case !isNot:
			has, matches = true, matches || is
		}
	}
	return matches || !has
}

// TestShortCallsAreLeftOut: spans that are shorter than wanted are left out and counted, and all others are there.
func TestShortCallsAreLeftOut(t *testing.T) {
	const limit = 15 * time.Microsecond
	eachPython(t, func(t *testing.T, python string) {
		spans, said := runTimed(t, python, Options{Min: limit})
		if len(said) != timedCalls {
			t.Fatalf("%d calls", len(said))
		}
		next := 0
		for _, s := range said {
			has := next < len(spans) && spans[next].Start <= s.begin+clockError
			if has {
				if c := spans[next]; c.End-c.Start < int64(limit) || c.Start < s.before-clockError || c.End < s.end-clockError || c.End > s.after+clockError {
					t.Fatalf("from %d to %d is a span, the program's times are %+v", c.Start, c.End, s)
				}
				next++
			}
			switch {
			case has && s.after-s.before < int64(limit)-clockError:
				t.Fatalf("there is a span of a short call: %+v", s)
			case !has && s.end-s.begin >= int64(limit)+clockError:
				t.Fatalf("there is no span of %+v", s)
			}
		}
		if next != len(spans) || next == 0 || next == timedCalls {
			t.Errorf("%d spans of %d are those of calls", next, len(spans))
		}
	})
}

// modulesCalls are the calls in a round of modules.py, of its own module and of the other one.
func modulesCalls() (own, library map[string]int) {
	return map[string]int{"outer": 1, "leaf": 3}, map[string]int{"helper": 1, "generate": 7, "fail": 1}
}

// TestModulesAreLeftOut: only calls of wanted modules are there, their own time has that of others, and a later recording of the same process has all
// that it wants.
func TestModulesAreLeftOut(t *testing.T) {
	const rounds = 3000
	eachPython(t, func(t *testing.T, python string) {
		p := start(t, python, "modules.py", strconv.Itoa(rounds))
		for _, c := range []struct {
			globs        []string
			own, library bool
		}{
			{[]string{"!liba*"}, true, false}, {nil, true, true}, {[]string{"liba.m?d"}, false, true}, {[]string{"m*", "!mod"}, true, false},
			{[]string{"nothing"}, false, false}, {[]string{"*"}, true, true},
		} {
			a := attachedWith(t, p.pid(), Options{Modules: c.globs})
			a.Open()
			p.enter()
			got := sumCalls(a, p)
			a.Close(time.Now().Add(2 * time.Second))
			if got.lost > 0 {
				t.Logf("%v: %d calls are lost", c.globs, got.lost)
				continue
			}
			own, library := modulesCalls()
			for i, names := range []map[string]int{own, library} {
				for name, n := range names {
					if want := map[bool]int{true: n * rounds}[[]bool{c.own, c.library}[i]]; got.counts[name] != want {
						t.Errorf("%v: %d calls of %s, want %d", c.globs, got.counts[name], name, want)
					}
				}
			}
			if self, want := got.self["outer"], got.total["outer"]-got.total["leaf"]; c.own && !c.library && (self < want-8*rounds || self > want+8*rounds) {
				t.Errorf("%v: outer's own time is %d, want %d", c.globs, self, want)
			}
		}
	})
}

type sums struct {
	counts      map[string]int
	self, total map[string]int64
	lost        uint64
}

// sumCalls adds up the calls by function until the program says that they are done.
func sumCalls(a *Process, p *program) sums {
	s := sums{counts: make(map[string]int), self: make(map[string]int64), total: make(map[string]int64)}
	done := make(chan struct{})
	go func() {
		p.line()
		close(done)
	}()
	for more := true; more; {
		select {
		case <-done:
			more = false
		case <-time.After(time.Millisecond):
		}
		a.Beat()
		got := a.Calls(1<<22, math.MaxInt64, func(c Call) {
			if f := a.Function(c.Code); f != nil {
				name := f.Name[strings.LastIndex(f.Name, ".")+1:]
				s.counts[name]++
				s.self[name] += c.Self
				s.total[name] += c.End - c.Start
			}
		})
		s.lost += got.Lost
	}
	a.Shut()
	return s
}
