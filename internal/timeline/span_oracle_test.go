package timeline

import (
	"fmt"
	"testing"

	"wprof/format"
	"wprof/internal/timeline/simulate"
)

// oracle records what the threads of a simulated machine really do, without regard to the stream.
type oracle struct {
	m       *simulate.Machine
	threads map[*simulate.Thread]*truth
	parts   map[Key][]part
}

// truth is a thread as it was after the event before.
type truth struct {
	simulate.Thread
	part
	compound, passed int64 // passed: what the first waker of this time off had
	chain, links     uint32
	early            int64 // what the waker of Thread.Early had
	earlyLinks       uint32
}

// part is a part of a thread's life, as a text with all that is compared.
type part struct {
	what     string
	from, to int64
}

func (o *oracle) after(e *format.Event) {
	alive := map[*simulate.Thread]bool{}
	for _, t := range o.m.Threads {
		alive[t] = true
		o.look(t, e.Time)
	}
	for t, was := range o.threads {
		if !alive[t] {
			o.ends(was, e.Time)
			delete(o.threads, t)
		}
	}
}

func (o *oracle) look(t *simulate.Thread, now int64) {
	was := o.threads[t]
	if was == nil {
		was = &truth{Thread: *t, part: part{from: now}}
		was.what = does(t, was)
		o.threads[t] = was
		return
	}
	if t.Woken != 0 && was.Woken == 0 {
		if by := o.threads[t.Waker]; by != nil {
			was.passed, was.links = by.compound, by.chain
		}
	}
	if t.Early != was.Early && t.Early.At != 0 {
		was.early, was.earlyLinks = 0, 0
		if by := o.threads[t.Early.By]; by != nil {
			was.early, was.earlyLinks = by.compound, by.chain
		}
	}
	if t.Status == simulate.Running && was.Status != simulate.Running {
		o.comesBack(was, now)
	}
	what := does(t, was)
	if what != was.what || t.TID != was.TID {
		o.ends(was, now)
		was.what, was.from = what, now
	}
	was.Thread = *t
}

// comesBack adds the time that a thread has waited for a CPU to its compound delay.
func (o *oracle) comesBack(was *truth, now int64) {
	switch {
	case was.State&^format.StatePreempted == 0 && !was.New:
		was.compound += now - was.Since
	case was.Raced:
		was.compound, was.chain = was.early+now-was.Since, was.earlyLinks+1
	case was.Woken != 0:
		was.compound, was.chain = was.passed+now-was.Woken, was.links+1
	}
	was.passed, was.links = 0, 0
}

func (o *oracle) ends(was *truth, now int64) {
	if was.from < now {
		key := Key{was.TID, was.Start}
		o.parts[key] = append(o.parts[key], part{was.what, was.from, now})
	}
}

func does(t *simulate.Thread, was *truth) string {
	switch {
	case t.Status == simulate.Running:
		return fmt.Sprintf("running on %d after %d in %d", t.CPU, was.compound, was.chain)
	case t.New && t.Woken == 0:
		return "new"
	case t.Status == simulate.Runnable:
		return "runnable"
	}
	return "blocked " + t.State.String()
}

func partOf(s *Span) part {
	p := part{from: s.From, to: s.To}
	switch s.Kind {
	case SpanRunning:
		p.what = fmt.Sprintf("running on %d after %d in %d", s.CPU, s.Off.Compound, s.Off.Chain)
	case SpanNew:
		p.what = "new"
	case SpanRunnable:
		p.what = "runnable"
	case SpanBlocked:
		p.what = "blocked " + s.State.String()
	}
	return p
}

func TestSpansAreWhatTheThreadsOfRandomMachinesDid(t *testing.T) {
	compared := 0
	for seed := range uint64(40) {
		f := newSpanning()
		got := map[Key][]part{}
		f.s.emit = func(s *Span) {
			if !s.Thread.Idle() {
				got[s.Thread.Key] = append(got[s.Thread.Key], partOf(s))
			}
		}
		f.m = simulate.New(simulate.Options{Seed: seed, CPUs: 1 + int(seed%5), Threads: 12, Epochs: seed%2 > 0, Races: seed%3 > 0}, f)
		o := &oracle{m: f.m, threads: map[*simulate.Thread]*truth{}, parts: map[Key][]part{}}
		f.each = o.after
		f.m.Run(3000)
		for _, was := range o.threads {
			if was.Raced { // whether it was woken is not sure until it comes back
				was.what = "blocked " + was.State.String()
			}
			o.ends(was, f.end)
		}
		for key, want := range o.parts {
			compared += len(want)
			for i := range max(len(want), len(got[key])) {
				if i >= len(want) || i >= len(got[key]) || got[key][i] != want[i] {
					t.Fatalf("seed %d, tid %d, span %d:\n got %v\nwant %v", seed, key.TID, i, tail(got[key], i), tail(want, i))
				}
			}
		}
		if len(got) != len(o.parts) {
			t.Errorf("seed %d: spans of %d threads, want %d", seed, len(got), len(o.parts))
		}
	}
	if compared < 10_000 {
		t.Errorf("%d spans compared", compared)
	}
}

func tail(all []part, i int) []part { return all[min(max(i-1, 0), len(all)):min(i+2, len(all))] }
