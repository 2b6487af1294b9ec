//go:build linux

package json

import (
	"fmt"
	"strings"
	"testing"
)

// did is what the workload reports about itself, from the opening of the window.
type did struct {
	what            string
	tid, other, cpu int
	from, to        ns
}

func (c *capture) did(t *testing.T, what string) (all []did) {
	t.Helper()
	for line := range strings.Lines(c.said) {
		var d did
		if _, err := fmt.Sscan(line, &d.what, &d.tid, &d.other, &d.cpu, &d.from, &d.to); err != nil {
			t.Fatalf("the workload has printed %q: %v", line, err)
		}
		d.from, d.to = d.from-ns(c.dump.open), d.to-ns(c.dump.open)
		if d.what == what {
			all = append(all, d)
		}
	}
	return all
}

// comings are the switches to a thread within a time.
func (l *lines) comings(tid int, from, to ns) (all []*event) {
	for i := range l.events {
		if e := &l.events[i]; e.T == "switch" && e.Next.tid() == tid && e.TS >= from && e.TS <= to {
			all = append(all, e)
		}
	}
	return all
}

func TestSleepsMatchTheWorkload(t *testing.T) {
	c := theCapture(t)
	sleeps := c.did(t, "sleep")
	for _, d := range sleeps {
		found := 0
		for _, e := range c.lines.comings(d.tid, d.from, d.to) {
			if e.NextState != "interruptible_sleep" {
				continue
			}
			found++
			// Some of the time that a sleep is to last passes before the thread has left its CPU.
			if e.OffCPU == nil || *e.OffCPU > d.to-d.from || *e.OffCPU < 9_000_000 || e.WakingReason != "woken" {
				t.Errorf("for a sleep of %d ns a switch says %s", d.to-d.from, shownLine(e))
			}
		}
		if found > 1 {
			t.Errorf("a sleep ends with %d switches", found)
		}
		if found == 1 {
			sleeps[0].what = "seen"
		}
	}
	if len(sleeps) != 10 || sleeps[0].what != "seen" {
		t.Errorf("of %d sleeps none was seen", len(sleeps))
	}
}

func TestWakersMatchTheWorkload(t *testing.T) {
	c := theCapture(t)
	seen := 0
	for _, d := range c.did(t, "woken") {
		for _, e := range c.lines.comings(d.tid, d.from, d.to) {
			if e.NextState != "interruptible_sleep" {
				continue
			}
			seen++
			if e.WakingReason != "woken" || e.Waker.tid() != d.other || e.WakingTS == nil || *e.WakingTS < d.from || *e.WakingTS > e.TS {
				t.Errorf("%d has woken %d from %d on, a switch at %d says %s", d.other, d.tid, d.from, e.TS, shownLine(e))
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d wakeups seen", seen)
	}
}

func TestPreemptorsMatchTheWorkload(t *testing.T) {
	c := theCapture(t)
	seen := 0
	for _, d := range c.did(t, "preempted") {
		// The victim leaves before what it says begins, and comes back after that ends.
		back := c.lines.comings(d.tid, d.to, d.to+1_000_000_000)
		if len(back) > 0 && back[0].Waker.tid() == d.other && *back[0].CPU == d.cpu {
			seen++
			if e := back[0]; e.WakingReason != "preempted" || e.NextState != "preempted" && e.NextState != "runnable" || *e.WakingCPU != d.cpu || *e.WakingTS > d.from ||
				*e.OffCPU != e.TS-*e.WakingTS || *e.OffCPU < d.to-d.from || *e.Delay < *e.OffCPU {
				t.Errorf("%d had the CPU of %d from %d to %d, a switch at %d says %s", d.other, d.tid, d.from, d.to, e.TS, shownLine(e))
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d preemptions seen", seen)
	}
}
