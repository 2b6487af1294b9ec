package timeline

import (
	"fmt"
	"testing"

	"wprof/format"
	"wprof/internal/timeline/simulate"
)

// follower applies the events of a simulated machine and compares the timeline with the machine's true state after every event.
type follower struct {
	t       *testing.T
	m       *simulate.Machine
	tl      *Timeline
	defs    map[format.TaskID]*format.Task
	strict  bool // nothing is ever lost: everything must be known
	events  int
	unknown int
	begun   bool
}

func (f *follower) Task(id format.TaskID) *format.Task { return f.defs[id] }
func (f *follower) Define(d *format.Task)              { f.defs[format.TaskID(d.Id)] = d }
func (f *follower) State()                             {}
func (f *follower) End(*format.End)                    { f.begun = false }
func (f *follower) Begin(s *format.Session) {
	f.defs = map[format.TaskID]*format.Task{}
	if s.Continues {
		f.tl.NewSection()
	}
}

func (f *follower) Event(e *format.Event) {
	f.tl.Apply(e)
	f.events++
	// Within a state not everything has been written yet.
	if e.Kind == format.KindStateCPU || e.Kind == format.KindStateThread {
		return
	}
	if f.m.Complete || e.Kind == format.KindLost {
		f.compare(e)
	}
}

func (f *follower) compare(e *format.Event) {
	fail := func(what string, args ...any) {
		f.t.Fatalf("after event %d, kind %d at %d on cpu %d: %s", f.events, e.Kind, e.Time, e.CPU, fmt.Sprintf(what, args...))
	}
	for n, c := range f.m.CPUs {
		got := f.tl.Running(uint32(n))
		switch {
		case got == nil && f.strict:
			fail("cpu %d: no thread, want tid %d", n, c.Running.TID)
		case got == nil:
			f.unknown++
			continue
		}
		has := &f.tl.cpus[n]
		if got.TID != c.Running.TID || got.Start != c.Running.Start || !has.SinceKnown || has.Since != c.Since {
			fail("cpu %d: tid %d since %d, want tid %d since %d", n, got.TID, has.Since, c.Running.TID, c.Since)
		}
	}
	want := map[Key]*simulate.Thread{}
	for _, t := range f.m.Threads {
		want[Key{t.TID, t.Start}] = t
	}
	known := 0
	for _, t := range f.tl.allThreads() {
		if t.Status == Unknown {
			continue
		}
		known++
		truth := want[t.Key]
		if truth == nil {
			fail("tid %d is %v, but it is dead", t.TID, t.Status)
		}
		if problem := differs(t, truth); problem != "" {
			fail("tid %d: %s", t.TID, problem)
		}
		if name := string(t.Def.Comm); f.strict && name != truth.Comm && t.Task != 0 {
			fail("tid %d is called %s, want %s", t.TID, name, truth.Comm)
		}
	}
	if f.strict {
		for _, t := range f.m.Threads {
			if t.New && t.Woken == 0 {
				known++ // between fork and wakeup_new nothing is known
			}
		}
		if known != len(want) {
			fail("%d threads known, want %d", known, len(want))
		}
	}
	f.unknown += len(want) - known
}

func differs(t *Thread, truth *simulate.Thread) string {
	status := Off
	if truth.Status == simulate.Running {
		status = Running
	}
	got := fmt.Sprint(t.Status, t.CPU, t.State, t.Since, t.SinceKnown, t.Woken, t.New)
	if want := fmt.Sprint(status, truth.CPU, truth.State, truth.Since, true, truth.Woken, truth.New); got != want {
		return fmt.Sprintf("got status, cpu, state, since, sure, woken, new %s, want %s", got, want)
	}
	return ""
}

func TestTimelineMatchesRandomMachines(t *testing.T) {
	for seed := range uint64(20) {
		f := &follower{t: t, strict: true}
		f.tl = New(f)
		f.m = simulate.New(simulate.Options{Seed: seed, CPUs: 1 + int(seed%5), Threads: 12, Epochs: true}, f)
		f.m.Run(3000)
		if f.events < 3000 || f.unknown > 0 {
			t.Errorf("seed %d: %d events, %d times something was unknown", seed, f.events, f.unknown)
		}
	}
}

func TestTimelineIsUnknownOrRightWhenEventsAreLost(t *testing.T) {
	unknown := 0
	for seed := range uint64(24) {
		f := &follower{t: t}
		f.tl = New(f)
		f.m = simulate.New(simulate.Options{Seed: seed, CPUs: 1 + int(seed%4), Threads: 12, Losses: true, Epochs: true, SilentRenames: true}, f)
		f.m.Run(3000)
		unknown += f.unknown
	}
	if unknown == 0 {
		t.Error("nothing was ever unknown: no event got lost")
	}
}

// A timeline that starts from a written state equals the one that wrote it.
func TestWrittenStateIsTheWholeState(t *testing.T) {
	for seed := range uint64(20) {
		f := &follower{t: t, strict: true}
		f.tl = New(f)
		f.m = simulate.New(simulate.Options{Seed: seed, CPUs: 3, Threads: 10}, f)
		f.m.Run(500 + int(seed))
		again := New(f)
		checkState(t, f.tl, f.m.Now, again.Apply)
		want, got := states(t, f.tl, f.m.Now), states(t, again, f.m.Now)
		if fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 3 {
			t.Errorf("seed %d:\n got %v\nwant %v", seed, got, want)
		}
	}
}

func checkState(t *testing.T, tl *Timeline, at int64, f func(*format.Event)) {
	t.Helper()
	if err := tl.WriteState(at, false, func(e *format.Event) error { f(e); return nil }); err != nil {
		t.Fatal(err)
	}
}

func states(t *testing.T, tl *Timeline, at int64) []format.Event {
	var all []format.Event
	checkState(t, tl, at, func(e *format.Event) { all = append(all, *e) })
	return all
}
