package pytrace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"wprof/internal/proc"
)

const (
	clockError = 100 // ns between the ticks' time and the clock
	timedCalls = 5000
)

// timedCall is what times.py says of a call: the times before it, at its begin and its end in it, and after it.
type timedCall struct{ before, begin, end, after int64 }

// runTimed has times.py make its calls, and returns the spans of them that the recorder has, and what the program says.
func runTimed(t *testing.T, python string, o Options) (spans []Call, said []timedCall) {
	t.Helper()
	p := start(t, python, "times.py", strconv.Itoa(timedCalls))
	a := attachedWith(t, p.pid(), o)
	defer a.Close(time.Now().Add(time.Millisecond))
	a.Open()
	p.enter()
	collect := func() {
		a.Beat()
		got := a.Calls(1<<22, math.MaxInt64, func(c Call) {
			if f := a.Function(c.Code); f != nil && f.Name == "timed" {
				spans = append(spans, c)
			}
		})
		if got.Lost > 0 {
			t.Errorf("%d calls are lost", got.Lost)
		}
	}
	lines := make(chan string, timedCalls+1)
	go func() {
		defer close(lines)
		for line := p.line(); line != "done" && line != ""; line = p.line() {
			lines <- line
		}
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for more := true; more; {
		select {
		case line, ok := <-lines:
			if more = ok; ok {
				var c timedCall
				if n, _ := fmt.Sscan(line, &c.before, &c.begin, &c.end, &c.after); n != 4 {
					t.Fatalf("the program says %q", line)
				}
				said = append(said, c)
			}
		case <-tick.C:
			collect()
		}
	}
	collect()
	p.end()
	return spans, said
}

// TestTimesAreThoseOfTheClock compares the times of calls with those that the program reads around and within them.
func TestTimesAreThoseOfTheClock(t *testing.T) {
	eachPython(t, func(t *testing.T, python string) {
		spans, said := runTimed(t, python, Options{})
		if len(spans) != timedCalls || len(said) != timedCalls {
			t.Fatalf("%d spans of %d calls", len(spans), len(said))
		}
		for i, s := range said {
			c := spans[i]
			if c.Start < s.before-clockError || c.Start > s.begin+clockError || c.End < s.end-clockError || c.End > s.after+clockError {
				t.Fatalf("call %d is from %d to %d, the program's times are %+v", i, c.Start, c.End, s)
			}
		}
	})
}

// Times between two pairs are those of the clock, whatever was read of it since.
func TestTicksAreTimesOfTheClock(t *testing.T) {
	if !canUseTSC() {
		t.Skip("the kernel's clock is not the TSC")
	}
	type reading struct{ before, tick, after int64 }
	c := newTickClock(readPair)
	c.most = 64
	var all []reading
	for range 200 {
		time.Sleep(time.Millisecond)
		all = append(all, reading{proc.Monotonic(), readTSC(), proc.Monotonic()})
		c.add()
	}
	if len(c.pairs) > c.most {
		t.Errorf("%d pairs are kept", len(c.pairs))
	}
	for _, r := range all {
		if ns := c.ns(r.tick); ns < r.before-clockError || ns > r.after+clockError {
			t.Errorf("%d, between %d and %d", ns, r.before, r.after)
		}
	}
}

// Whatever pairs are read, times go forward with ticks, and dropping pairs of a clock of one rate changes nothing.
func TestTicksGoForward(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		at := pair{tsc: rng.Int64N(1 << 50), ns: rng.Int64N(1 << 50)}
		c := newTickClock(func() pair {
			at.tsc += rng.Int64N(1 << 30)
			at.ns += rng.Int64N(1 << 30)
			return at
		})
		c.most = 100
		for range 300 {
			c.add()
		}
		last, ns := c.pairs[0].tsc-1000, int64(0)
		for last < at.tsc {
			now := c.ns(last)
			if now < ns {
				t.Fatalf("at %d it is %d, and was %d", last, now, ns)
			}
			last, ns = last+rng.Int64N(1<<26), now
		}
		if got := c.ns(math.MaxInt64); got >= 0 && got < ns {
			t.Errorf("at the end of time it is %d", got)
		}
	}
	now := int64(0)
	even := newTickClock(func() pair { now += 1000; return pair{tsc: 3 * now, ns: now} })
	even.most = 10
	for range 1000 {
		even.add()
	}
	for ns := int64(2000); ns < now; ns += 777 {
		if got := even.ns(3 * ns); got < ns-1 || got > ns {
			t.Fatalf("%d is %d", ns, got)
		}
	}
}

// A counter that begins anew, as after the machine was suspended, is followed.
func TestTicksBeginAnew(t *testing.T) {
	at := pair{tsc: 1 << 40, ns: 1 << 30}
	c := newTickClock(func() pair { at.tsc, at.ns = at.tsc+2000, at.ns+1000; return at })
	c.add()
	at.tsc = 0
	c.add()
	c.add()
	if got, want := c.ns(at.tsc-1000), at.ns-500; got != want {
		t.Errorf("it is %d, want %d", got, want)
	}
}
