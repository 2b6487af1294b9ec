//go:build linux

package loss

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// counted are the kinds of which pingpong makes a number that both recorders see in full: the others are made by
// processes and kernel threads that go on meanwhile.
var counted = []format.Kind{format.KindSwitch, format.KindWaking, format.KindWakeupNew, format.KindFork, format.KindRename}

// twoRecordings records a workload twice at once: once with room for all of it, and once as the arguments say. Nothing of
// the workload happens while windows open and close, so both see the same events.
func twoRecordings(t *testing.T, rounds, ms int, args []string, during func(*tools.Recorder)) (all, some *capture, did []player) {
	t.Helper()
	w := workloadOf(t, "pingpong", rounds, ms)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "all.wprof"), filepath.Join(dir, "some.wprof")}
	roomy := tools.Start(t, "-d0", "-p", w.PIDText(), "--no-stacks", "-f", "no-samples", "--ringbuf-size", "64mb", "-o", paths[0])
	tight := tools.Start(t, append([]string{"-d0", "-p", w.PIDText(), "-o", paths[1]}, args...)...)
	w.Send("\n")
	if during != nil {
		during(tight)
	}
	did = players(t, w.Until("done"))
	w.WaitAsleep() // before the first window closes: only the other one would see it go to sleep
	for _, r := range []*tools.Recorder{tight, roomy} {
		if status := r.Stop(); status != 0 {
			t.Fatalf("%v: status %d: %s", r.Cmd.Args, status, r.Stderr.String())
		}
		t.Log(strings.TrimSpace(r.Stderr.String()))
	}
	return read(t, paths[0]), read(t, paths[1]), did
}

// sameAsCounted compares a recording without loss with what the threads counted.
func sameAsCounted(t *testing.T, c *capture, did []player) {
	t.Helper()
	var calls, voluntary, switches, renames, forks int64
	for _, p := range did {
		if got := c.left(p.tid, p.from, p.to); got != p.switches {
			t.Errorf("thread %d: the roomy recorder has %d switches, the thread counted %d", p.tid, got, p.switches)
		}
		calls, voluntary, switches = calls+p.calls, voluntary+p.voluntary, switches+p.switches
		renames, forks = renames+p.renames, forks+p.forks
	}
	sum := func(kind format.Kind) int64 {
		handled, skipped := c.total(kind)
		return int64(handled + skipped)
	}
	if got := sum(format.KindRename); got != renames {
		t.Errorf("the roomy recorder has %d renames, the threads made %d", got, renames)
	}
	if got := sum(format.KindFork); got != forks {
		t.Errorf("the roomy recorder has %d forks, the threads made %d", got, forks)
	}
	// A wait ends with a waking; a thread that is taken off its CPU on the way to one can be woken without having waited.
	if got := sum(format.KindWaking); got < voluntary || got > switches+forks+100 {
		t.Errorf("the roomy recorder has %d wakings, the threads waited %d times of %d off their CPUs", got, voluntary, switches)
	}
	for _, l := range c.losses {
		if l.cause != format.CauseRecursion {
			t.Errorf("the roomy recorder has lost %v", l)
		}
	}
}

// addUp checks that recorded and lost events are together what happened, by CPU and kind.
func addUp(t *testing.T, happened, c *capture) {
	t.Helper()
	sums := c.sums()
	for at, n := range c.inEnds {
		if sums[at] != n {
			t.Errorf("CPU %d, %v: loss events have %d, the end %d", int32(at.cpu), at.kind, sums[at], n)
		}
	}
	if len(sums) != len(c.inEnds) {
		t.Errorf("loss events have %v, the end %v", sums, c.inEnds)
	}
	for _, kind := range counted {
		if happened.skipped(kind) || c.skipped(kind) {
			handled, lost := c.total(kind)
			if before, skipped := happened.total(kind); handled+lost != before+skipped {
				t.Errorf("%v: %d handled and %d lost, %d happened", kind, handled, lost, before+skipped)
			}
			continue
		}
		for at, n := range happened.handled {
			if at.kind == kind && c.handled[at]+sums[at] != n {
				t.Errorf("CPU %d, %v: %d handled and %d lost, %d happened", at.cpu, kind, c.handled[at], sums[at], n)
			}
		}
		for _, from := range []map[where]uint64{c.handled, sums} {
			for at := range from {
				if at.kind == kind && happened.handled[at] == 0 {
					t.Errorf("CPU %d, %v: %d handled and %d lost, nothing happened", int32(at.cpu), kind, c.handled[at], sums[at])
				}
			}
		}
	}
	// One program may be interrupted between its look at the losses and its own record, by another one that loses.
	if c.behind > len(c.losses)/1000 {
		t.Errorf("in the time of %d of %d losses the same CPU has events", c.behind, len(c.losses))
	}
	for _, l := range c.losses {
		if l.from > l.at || l.from < c.session.Open || l.count == 0 {
			t.Errorf("the loss %+v, the window opened at %d", l, c.session.Open)
		}
	}
}

func TestHandledAndLostAreWhatHappenedInATinyRing(t *testing.T) {
	tools.NeedPrivilege(t)
	all, some, did := twoRecordings(t, 150_000, 0, []string{"--ringbuf-size", "8kb", "-S+offcpu", "--offcpu-min", "0"}, nil)
	sameAsCounted(t, all, did)
	addUp(t, all, some)
	for _, kind := range counted {
		for _, p := range did {
			if at := (where{p.cpu, kind}); kind != format.KindFork && kind != format.KindWakeupNew && some.inEnds[at] == 0 {
				t.Errorf("CPU %d has lost no %v: the test does not test", p.cpu, kind)
			}
		}
	}
}

func TestHandledAndLostAreWhatHappenedWhileTheRecorderStoodStill(t *testing.T) {
	tools.NeedPrivilege(t)
	var stopped, went time.Time
	all, some, did := twoRecordings(t, 100_000, 5500, []string{"--ringbuf-size", "1mb"}, func(r *tools.Recorder) {
		time.Sleep(500 * time.Millisecond)
		stopped = time.Now()
		signal(t, r, syscall.SIGSTOP)
		time.Sleep(4100 * time.Millisecond) // two generations of the spool, wherever they begin
		signal(t, r, syscall.SIGCONT)
		went = time.Now()
	})
	sameAsCounted(t, all, did)
	addUp(t, all, some)
	longest := time.Duration(0)
	for _, l := range some.losses {
		if l.kind == format.KindSwitch {
			longest = max(longest, time.Duration(l.at-l.from))
		}
	}
	if stood := went.Sub(stopped); longest < time.Second || longest > stood+time.Second {
		t.Errorf("the recorder stood still for %v, and the longest loss is %v", stood, longest)
	}
}

func signal(t *testing.T, r *tools.Recorder, s syscall.Signal) {
	t.Helper()
	if err := r.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
