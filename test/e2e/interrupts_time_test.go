//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/timeline"
	"wprof/test/tools"
)

// gap is a time in which a thread that only reads the clock did not do that, CLOCK_MONOTONIC ns.
type gap struct{ from, to int64 }

// spinner is a thread that reads the clock all the time, and its gaps.
type spinner struct {
	tid      int
	from, to int64
	gaps     []gap
}

// shortGap is longer than reading the clock takes.
const shortGap = int64(1500)

// spin reads the clock on one CPU until it has done so for a time, without its gaps, and no longer than 20 s.
func spin(length time.Duration) spinner {
	runtime.LockOSThread() // never unlocked: the thread ends
	var one unix.CPUSet
	one.Set(runtime.NumCPU() - 1)
	_ = unix.SchedSetaffinity(0, &one)
	s := spinner{tid: unix.Gettid(), gaps: make([]gap, 0, 1<<18)}
	s.from = proc.Monotonic()
	spun := int64(0)
	for s.to = s.from; spun < int64(length) && s.to < s.from+20e9 && len(s.gaps) < cap(s.gaps); {
		now := proc.Monotonic()
		if now-s.to > shortGap {
			s.gaps = append(s.gaps, gap{s.to, now})
		} else {
			spun += now - s.to
		}
		s.to = now
	}
	return s
}

// in returns how much of a time is in gaps. Times must come in order.
func (s *spinner) in(from, to int64) (ns int64) {
	for len(s.gaps) > 0 && s.gaps[0].to <= from {
		s.gaps = s.gaps[1:]
	}
	for _, g := range s.gaps {
		if g.from >= to {
			break
		}
		ns += max(0, min(g.to, to)-max(g.from, from))
	}
	return ns
}

// spanVisitor visits the spans of a stream.
type spanVisitor struct{ *timeline.Spans }

func (v *spanVisitor) NewSection(s *format.Session) error { v.Spans.NewSection(s); return nil }
func (v *spanVisitor) Open(_ *format.Session, at, _ int64, _ bool) error {
	v.Spans.Open(at)
	return nil
}
func (v *spanVisitor) Event(e *format.Event) error { v.Apply(e); return nil }
func (v *spanVisitor) Close(at int64) error        { v.Spans.Close(at); return nil }

// TestInterruptsAreNotTheThreadsTime: a thread that reads the clock all the time does not read it while there are interrupts on its CPU, or it is off
// the CPU. Its on-CPU time in a flame graph and the interrupts there add up to the time that the scheduler gave it, to the nanosecond.
func TestInterruptsAreNotTheThreadsTime(t *testing.T) {
	tools.NeedPrivilege(t)
	var s spinner
	file := tools.Record(t, filepath.Join(t.TempDir(), "irq.wprof"), []string{"-f", "irq", "-p", strconv.Itoa(os.Getpid())}, func() {
		done := make(chan spinner)
		go func() { done <- spin(300 * time.Millisecond) }()
		s = <-done
	})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := format.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lost := int64(0)
	for _, g := range s.gaps {
		lost += g.to - g.from
	}
	var had, interrupts, within, inGaps, off int64
	var n int
	v := &spanVisitor{}
	v.Spans = timeline.NewSpans(r, func(span *timeline.Span) {
		if span.Thread.TID != int32(s.tid) {
			return
		}
		if span.Kind != timeline.SpanRunning {
			off += max(0, min(span.To, s.to)-max(span.From, s.from))
			return
		}
		had += span.To - span.From
		interrupts += span.InterruptTime()
		for _, one := range span.Interrupts {
			if one.From >= s.from && one.To <= s.to && one.To-one.From > shortGap {
				n++
				within += one.To - one.From
				inGaps += s.in(one.From, one.To)
			}
		}
	})
	v.WithInterrupts(r)
	if err := timeline.Visit(r, v); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ns on the CPU, %d in interrupts, %d of %d longer ones in gaps (%d), off the CPU for %d, gaps of %d", had, interrupts, inGaps, within, n, off, lost)
	if n < 20 {
		t.Errorf("%d interrupts", n)
	}
	if inGaps < within-within/50 {
		t.Errorf("the thread read the clock in interrupts: %d of %d ns are in its gaps", inGaps, within)
	}
	if within+off > lost+lost/50 {
		t.Errorf("interrupts and times off the CPU take %d ns, the thread lost %d", within+off, lost)
	}
	var all, apart int64
	out := tools.Run(t, "wprof-flame", "--on-cpu", "--by", "thread", "--unit", "ns", file)
	for line := range strings.Lines(string(out)) {
		stack, count, _ := strings.Cut(strings.TrimSpace(line[strings.Index(line, ";")+1:]), "] ")
		words := strings.Fields(line)
		ns, err := strconv.ParseInt(words[len(words)-1], 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !strings.Contains(line, fmt.Sprintf("/%d;", s.tid)) {
			continue
		}
		all += ns
		if strings.HasPrefix(stack, "[") && stack != "[not sampled" && !strings.HasPrefix(stack, "[cut") && count != "" {
			apart += ns
		}
	}
	if all != had || apart != interrupts || apart == 0 {
		t.Errorf("the flame graph has %d ns, %d of it in interrupts, the thread had %d, %d in interrupts", all, apart, had, interrupts)
	}
}
