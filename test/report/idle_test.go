//go:build linux

package report

import (
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// checkIdle compares what a flame graph has as waits for work, by thread, with what each thread waited for. A thread that was woken and
// waits for a CPU is not idle, but its own clock cannot tell: so less of it may be idle, by the time that it was runnable.
func checkIdle(t *testing.T, s *scenario) {
	shown, wrong := foldedByThread(t, s), 0
	for _, th := range s.threads {
		if wrong == 3 {
			t.Fatal("and so on")
		}
		forWork, busy := th.waited(s.capture.open, s.capture.close)
		if forWork+busy < (s.capture.close-s.capture.open)/2 {
			continue // it does not measure all that it waits for
		}
		got := shown[th.tid]
		if got == nil {
			t.Errorf("%s %d: the flame graph does not have it", th.name, th.tid)
			continue
		}
		window := s.capture.close - s.capture.open
		if least := forWork - got.delay - got.notKnown - window/20; got.idle < least {
			wrong++
			t.Errorf("%s %d: %d ns are idle, %d ns a wait for a CPU; it waited for work for %d ns\n%s", th.name, th.tid, got.idle, got.delay, forWork, strings.Join(got.lines, ""))
		}
		if got.idle > forWork+window/20 {
			wrong++
			t.Errorf("%s %d: %d ns are idle; it waited for work for %d ns, and for other things for %d ns", th.name, th.tid, got.idle, forWork, busy)
		}
	}
}

// shownTime is what a flame graph has of a thread, in ns.
type shownTime struct {
	idle, delay, notKnown int64
	lines                 []string
}

func foldedByThread(t *testing.T, s *scenario) map[int32]*shownTime {
	t.Helper()
	all := make(map[int32]*shownTime)
	out := tools.Run(t, "wprof-flame", "--by=thread", "--unit=ns", "-p", strconv.Itoa(s.pid), s.capture.file)
	for line := range strings.Lines(string(out)) {
		stack, ns := parseFolded(t, line)
		root, _, _ := strings.Cut(stack, ";")
		tid, err := strconv.ParseInt(root[strings.LastIndexByte(root, '/')+1:], 10, 32)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		one := all[int32(tid)]
		if one == nil {
			one = new(shownTime)
			all[int32(tid)] = one
		}
		one.lines = append(one.lines, line)
		switch {
		case strings.HasSuffix(stack, ";[idle]_[o]"):
			one.idle += ns
		case strings.HasSuffix(stack, ";[runnable]_[o]"), strings.HasSuffix(stack, ";[preempted]_[o]"):
			one.delay += ns
		case strings.HasSuffix(stack, ";[no stack]_[o]"), strings.HasSuffix(stack, ";[unknown]"):
			one.notKnown += ns
		}
	}
	return all
}

func parseFolded(t *testing.T, line string) (stack string, weight int64) {
	t.Helper()
	at := strings.LastIndexByte(line, ' ')
	weight, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
	if err != nil {
		t.Fatalf("folded line %q: %v", line, err)
	}
	return line[:at], weight
}
