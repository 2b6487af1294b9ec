package timeline

import (
	"fmt"
	"testing"

	"wprof/format"
	"wprof/internal/timeline/simulate"
)

// spent adds up each process's time on the CPU twice: by the end blocks of a stream, and by the spans that renderers
// show.
type spent struct {
	*spanning
	usage *Usage
	ends  map[int32]int64
}

func (s *spent) Event(e *format.Event) { s.usage.Apply(e); s.spanning.Event(e) }

func (s *spent) Begin(session *format.Session) {
	s.spanning.Begin(session)
	s.usage.NewSection(session)
}

func (s *spent) End(e *format.End) {
	s.spanning.End(e)
	for _, p := range s.usage.Close(e.Close) {
		s.ends[p.Pid] += p.Ns
	}
}

func TestEndBlocksAndSpansCountTheSameTimeOnTheCPU(t *testing.T) {
	for seed := range uint64(60) {
		s := &spent{spanning: newSpanning(), ends: map[int32]int64{}}
		s.usage = NewUsage(s.spanning)
		s.m = simulate.New(simulate.Options{Seed: seed, CPUs: 1 + int(seed%5), Threads: 12, Losses: seed%2 == 1, Epochs: seed%3 > 0, SilentRenames: true}, s)
		s.m.Run(3000)
		spans := map[int32]int64{}
		for thread, tile := range s.tiles.threads {
			for _, span := range tile.spans {
				if span.Kind == SpanRunning {
					spans[thread.Def.Pid] += span.To - span.From
				}
			}
		}
		if got, want := fmt.Sprint(s.ends), fmt.Sprint(spans); got != want {
			t.Errorf("seed %d: end blocks count %s\nspans %s", seed, got, want)
		}
	}
}

func TestTimeOfAStateCountsFromItsBeginning(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want int64 // of process 20
	}{
		"opening": {"0 cpu0 state_cpu 2 since=-500", 1000},
		"in the middle of the window": {"0 cpu0 state_cpu 1\n" +
			"600 cpu0 state_cpu 2 since=+400", 600},
		"in a loss": {"0 cpu0 state_cpu 2\n" +
			"300 cpu0 lost from=200 count=1 cause=ring\n" +
			"600 cpu0 state_cpu 2 since=+250", 950},
		"since before a loss": {"0 cpu0 state_cpu 2 since=-500\n" +
			"300 cpu0 lost from=200 count=1 cause=ring\n" +
			"600 cpu0 state_cpu 2 since=-500", 1000},
		"not known since when": {"600 cpu0 state_cpu 2", 400},
		"repeated": {"0 cpu0 state_cpu 2 since=-500\n" +
			"600 cpu0 state_cpu 2 since=-500", 1000},
		"another one was shown there": {"0 cpu0 state_cpu 4\n" +
			"600 cpu0 switch 2 next=1", 0},
		"seen elsewhere before it leaves": {"0 cpu0 state_cpu 2 since=-500\n" +
			"300 cpu1 waking 2 wakee=4\n" +
			"600 cpu0 switch 2 next=1 prev_state=S", 0},
		"leaves for the last time": {"0 cpu0 state_cpu 2\n" +
			"600 cpu0 switch 2 next=1 prev_state=X", 600},
		"went elsewhere unseen": {"0 cpu0 state_cpu 2\n" +
			"100 cpu0 waking 2 wakee=4\n" +
			"600 cpu1 state_cpu 2 since=+500", 600},
	} {
		var u *Usage
		follow(t, testTasks+"\n"+c.text+"\nend close=+1000", func(tl *Timeline, e *format.Event) {
			if u == nil {
				u = NewUsage(tl.defs)
				u.NewSection(&format.Session{})
			}
			u.Apply(e)
		})
		got := int64(0)
		for _, p := range u.Close(1000) {
			if p.Pid == 20 {
				got += p.Ns
			}
		}
		if got != c.want {
			t.Errorf("%s: %d ns, want %d", what, got, c.want)
		}
	}
}
