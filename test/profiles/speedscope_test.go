//go:build linux

package profiles

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/page"
	"wprof/test/tools"
)

// evented is a profile of a thread as speedscope saves it.
type evented struct {
	Name                 string
	StartValue, EndValue int64
	Events               []struct {
		Type      string
		At, Frame int64
	}
}

type saved struct {
	Shared   struct{ Frames []struct{ Name string } }
	Profiles []evented
}

// inSpeedscope is a capture as speedscope shows it.
func inSpeedscope(t *testing.T, capture string) *saved {
	t.Helper()
	file := tools.Convert(t, filepath.Join(t.TempDir(), "p.speedscope.json"), "wprof-flame", "--speedscope", capture)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := new(saved)
	decode(t, page.Speedscope(t, "p.speedscope.json", text).SavedBySpeedscope(), s)
	return s
}

func decode(t *testing.T, text []byte, to *saved) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

// each visits the times of a thread in order, with the stack at each; an empty one where there is none.
func (s *saved) each(p evented, visit func(ns int64, stack []string)) {
	var stack []string
	at := p.StartValue
	for _, e := range p.Events {
		if e.At > at {
			visit(e.At-at, stack)
			at = e.At
		}
		if e.Type == "O" {
			stack = append(stack, s.Shared.Frames[e.Frame].Name)
		} else {
			stack = stack[:len(stack)-1]
		}
	}
	if p.EndValue > at {
		visit(p.EndValue-at, stack)
	}
}

// thread is the profile of a thread by its tid.
func (s *saved) thread(t *testing.T, tid string) evented {
	t.Helper()
	for _, p := range s.Profiles {
		if strings.HasSuffix(p.Name, "/"+tid) {
			return p
		}
	}
	t.Fatalf("speedscope has no thread %s among %d", tid, len(s.Profiles))
	return evented{}
}

// Speedscope shows a thread's naps one after the other, as many as it took.
func TestSpeedscopeShowsNapsInOrder(t *testing.T) {
	t.Parallel()
	threeTimes(t, func() (wrong []string) {
		capture, rooms, _ := record(t, "rooms")
		nap := rooms["nap"]
		s := inSpeedscope(t, capture)
		p := s.thread(t, nap.tid)
		naps, short := int64(0), 0
		s.each(p, func(ns int64, stack []string) {
			if text := strings.Join(stack, ";"); strings.Contains(text, ";napper;") && strings.HasSuffix(text, ";[idle]") {
				if naps++; ns < 19e6 {
					short++
				}
			}
		})
		if naps != nap.times || short > 0 {
			wrong = append(wrong, fmt.Sprintf("%d naps, %d of them shorter than 20 ms; want %d", naps, short, nap.times))
		}
		if !strings.HasPrefix(p.Name, "napper ") {
			wrong = append(wrong, fmt.Sprintf("the thread is called %q", p.Name))
		}
		return wrong
	})
}

// pprof, speedscope and folded stacks show the same of one capture, to the nanosecond.
func TestFormatsHaveTheSameTimes(t *testing.T) {
	t.Parallel()
	capture, rooms := recorded(t)
	profile, s := pprofOf(t, capture), inSpeedscope(t, capture)
	folded := make(map[string]int64)
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--by", "thread", "--unit", "ns", capture))) {
		stack, weight, _ := cutLast(strings.TrimSpace(line), " ")
		thread, _, _ := strings.Cut(stack, ";")
		_, tid, _ := cutLast(thread, "/")
		ns, err := strconv.ParseInt(weight, 10, 64)
		if err != nil {
			t.Fatalf("a folded stack: %q", line)
		}
		folded[tid] += ns
	}
	for name, r := range rooms {
		wall, on := cums(t, profile, "wall", r.tid)[""], cums(t, profile, "on_cpu", r.tid)[""]
		var shown, running int64
		s.each(s.thread(t, r.tid), func(ns int64, stack []string) {
			shown += ns
			switch stack[len(stack)-1] {
			case "[lock]", "[timer]", "[condition]", "[child]", "[page fault]", "[kernel lock]", "[kernel work]", "[unknown (interruptible)]", "[runnable]", "[preempted]", "[idle]", "[new]", "[unknown]", "[unknown (uninterruptible)]", "[unknown (dead)]":
			default:
				running += ns
			}
		})
		if wall == 0 || on == 0 || shown != wall || running != on || folded[r.tid] != wall {
			t.Errorf("%s: speedscope has %d ns, %d of them on the CPU, folded stacks have %d, pprof %d and %d",
				name, shown, running, folded[r.tid], wall, on)
		}
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
