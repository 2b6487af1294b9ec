package timeline

import (
	"fmt"
	"testing"

	"wprof/format"
	"wprof/internal/timeline/simulate"
)

// tiles checks the spans of each thread: none is empty, each begins where the one before ends, and
// together they are the thread's lifetime in the window.
type tiles struct {
	open     int64
	threads  map[*Thread]*tiling
	cpus     map[uint32]int64 // up to where the idle spans of a CPU reach
	problems []string
}

type tiling struct {
	first, last int64
	spans       []Span
}

func newTiles(open int64) *tiles {
	return &tiles{open: open, threads: map[*Thread]*tiling{}, cpus: map[uint32]int64{}}
}

func (x *tiles) add(s *Span) {
	fail := func(what string) {
		x.problems = append(x.problems, fmt.Sprintf("tid %d cpu %d kind %d [%d, %d]: %s", s.Thread.TID, s.CPU, s.Kind, s.From, s.To, what))
	}
	if s.From >= s.To {
		fail("empty")
	}
	if s.From < x.open {
		fail("before the window")
	}
	if s.SinceKnown && s.Since > s.From && !s.Approx {
		fail(fmt.Sprintf("began at %d", s.Since))
	}
	if s.Thread.Idle() {
		if s.From < x.cpus[s.CPU] {
			fail(fmt.Sprintf("its CPU was idle up to %d", x.cpus[s.CPU]))
		}
		x.cpus[s.CPU] = s.To
		return
	}
	t := x.threads[s.Thread]
	if t == nil {
		t = &tiling{first: s.From}
		x.threads[s.Thread] = t
	} else if s.From != t.last {
		fail(fmt.Sprintf("the one before ended at %d", t.last))
	}
	t.last = s.To
	t.spans = append(t.spans, *s)
}

func (x *tiles) check(t *testing.T) {
	t.Helper()
	for _, problem := range x.problems {
		t.Error(problem)
	}
}

// spanning applies the events of a simulated machine to spans.
type spanning struct {
	m     *simulate.Machine
	s     *Spans
	defs  map[format.TaskID]*format.Task
	tiles *tiles
	each  func(*format.Event)
	end   int64
}

func newSpanning() *spanning {
	f := &spanning{tiles: newTiles(0), each: func(*format.Event) {}}
	f.s = NewSpans(f, func(s *Span) { f.tiles.add(s) })
	return f
}

func (f *spanning) Task(id format.TaskID) *format.Task { return f.defs[id] }
func (f *spanning) Define(d *format.Task)              { f.defs[format.TaskID(d.Id)] = d }
func (f *spanning) State()                             {}
func (f *spanning) Event(e *format.Event)              { f.s.Apply(e); f.each(e) }
func (f *spanning) Begin(s *format.Session) {
	f.defs = map[format.TaskID]*format.Task{}
	f.s.NewSection(s)
	if !s.Continues {
		f.tiles.open = s.Open
		f.s.Open(s.Open)
	}
}

func (f *spanning) End(e *format.End) {
	if e.Last {
		f.end = e.Close
		f.s.Close(e.Close)
	}
}

func TestSpansOfRandomMachinesLieEndToEnd(t *testing.T) {
	kinds := map[SpanKind]int{}
	for seed := range uint64(60) {
		f := newSpanning()
		f.m = simulate.New(simulate.Options{Seed: seed, CPUs: 1 + int(seed%5), Threads: 12, Losses: seed%2 == 1, Epochs: seed%3 > 0, SilentRenames: true}, f)
		execs := map[*Thread]bool{} // by another thread than the leader: the leader's tid begins again there
		f.each = func(e *format.Event) {
			if e.Kind == format.KindExec && e.Flags&format.ExecHasOldTID != 0 {
				execs[f.s.Timeline().Thread(e.Task)] = true
			}
		}
		f.m.Run(3000)
		f.tiles.check(t)
		for thread, tile := range f.tiles.threads {
			if want := max(f.tiles.open, thread.Start); tile.first != want && seed%2 == 0 && !execs[thread] {
				t.Errorf("seed %d, tid %d: first span at %d, want %d", seed, thread.TID, tile.first, want)
			}
			for _, s := range tile.spans {
				kinds[s.Kind]++
				if s.Kind == SpanUnknown && seed%2 == 0 {
					t.Errorf("seed %d, tid %d: unknown [%d, %d] though nothing was lost", seed, thread.TID, s.From, s.To)
				}
			}
		}
		for _, thread := range f.m.Threads {
			found := false
			for of, tile := range f.tiles.threads {
				found = found || of.TID == thread.TID && of.Start == thread.Start && tile.last == f.end
			}
			if !found {
				t.Errorf("seed %d, tid %d: it has not ended, but its spans do not reach the close", seed, thread.TID)
			}
		}
	}
	t.Log(kinds)
}
