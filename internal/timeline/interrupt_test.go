package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

// irqTypes are the definitions of types that interrupt.
const irqTypes = spanTasks + `
text 1 text="virtio1-req.0"
text 2 text="do_sync_core"
eventtype 1 name="hardirq" shape=span on=cpu interrupts=hard
  field "handler" type=text hint=name
eventtype 2 name="softirq" shape=span on=cpu interrupts=soft
  field "vector" type=enum hint=name
    enum 3 name="NET_RX"
  field "own" type=bool hint=own
eventtype 3 name="local_timer" shape=span on=cpu interrupts=hard
eventtype 4 name="ipi" shape=span on=cpu interrupts=hard
eventtype 5 name="ipi_call" shape=span on=cpu interrupts=hard
  field "function" type=text hint=name
eventtype 6 name="request" shape=span on=cpu
`

// interruptsOf returns the running spans of all threads with the interrupts in them, and the wakings by interrupts of all spans, a line each.
func interruptsOf(t *testing.T, text string) string {
	t.Helper()
	r := fromtext.Reader(t, text)
	var b strings.Builder
	v := &visited{}
	v.Spans = NewSpans(r, func(s *Span) {
		if s.Off.WokenIRQ && s.Kind != SpanBlocked {
			by := ""
			if s.Off.WokenBy != 0 {
				by, _ = v.InterruptName(s.Off.WokenBy)
			}
			fmt.Fprintf(&b, "%s %d-%d woken by %q\n", s.Thread.Def.Comm, s.From, s.To, by)
		}
		if s.Kind == SpanRunning && len(s.Interrupts) > 0 {
			fmt.Fprintf(&b, "%s %d-%d", s.Thread.Def.Comm, s.From, s.To)
			for _, p := range s.Interrupts {
				fmt.Fprintf(&b, " %d-%d", p.From, p.To)
				separator := " "
				for id := p.By; id != 0; separator = " in " {
					var name string
					name, id = v.InterruptName(id)
					b.WriteString(separator + name)
				}
			}
			b.WriteString("\n")
		}
	})
	v.WithInterrupts(r)
	if err := Visit(r, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type visited struct{ *Spans }

func (v *visited) NewSection(s *format.Session) error                { v.Spans.NewSection(s); return nil }
func (v *visited) Open(_ *format.Session, at, _ int64, _ bool) error { v.Spans.Open(at); return nil }
func (v *visited) Event(e *format.Event) error                       { v.Apply(e); return nil }
func (v *visited) Close(at int64) error                              { v.Spans.Close(at); return nil }

func expectInterrupts(t *testing.T, text, want string) {
	t.Helper()
	if got := interruptsOf(t, irqTypes+text); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%swant%s", got, want)
	}
}

// Nested interrupts count once: the time is that of the innermost one, and the name has those around it.
func TestNestedInterruptsCountOnce(t *testing.T) {
	expectInterrupts(t, `
100 cpu0 state_cpu 2 since=100
230 cpu0 typed 2 type=1 start=220 .handler=1
240 cpu0 typed 2 type=3 start=235
300 cpu0 typed 2 type=2 start=200 .vector=3
330 cpu0 typed 2 type=5 start=320 .function=2
340 cpu0 typed 2 type=4 start=315
400 cpu0 switch 2 next=3 prev_state=S
500 cpu0 switch 3 next=2 prev_state=S
end close=600
`, `
ping 100-400 200-220 softirq:NET_RX 220-230 hardirq:virtio1-req.0 in softirq:NET_RX 230-235 softirq:NET_RX 235-240 local_timer in softirq:NET_RX 240-300 softirq:NET_RX 315-320 ipi 320-330 ipi_call:do_sync_core in ipi 330-340 ipi
`)
}

// A soft interrupt that the thread itself runs is its own time, and so are spans of other types. Each CPU has its own interrupts.
func TestOnlyInterruptsOfTheCPUCount(t *testing.T) {
	expectInterrupts(t, `
100 cpu0 state_cpu 2 since=100
100 cpu1 state_cpu 3 since=100
200 cpu0 typed 2 type=2 start=150 .vector=3 .own=1
210 cpu0 typed 2 type=6 start=150
220 cpu1 typed 3 type=2 start=150 .vector=3
400 cpu0 switch 2 next=1 prev_state=S
410 cpu0 typed 1 type=3 start=402
500 cpu0 switch 1 next=4 prev_state=R
end close=600
`, `
idle 400-500 402-410 local_timer
pong 100-600 150-220 softirq:NET_RX
`)
}

// What began before the window, or before the thread's time, counts from there. What overlaps another one counts once.
func TestInterruptsAreWithinTheSpan(t *testing.T) {
	expectInterrupts(t, `
110 cpu0 typed 2 type=3 start=90
120 cpu0 state_cpu 2 since=80
130 cpu0 typed 2 type=3 start=115
140 cpu0 typed 2 type=1 start=125 .handler=1
200 cpu0 switch 2 next=3 prev_state=S
210 cpu0 typed 3 type=3 start=190
250 cpu0 typed 3 type=2 start=240 .vector=7 open
end close=250
`, `
ping 100-200 100-110 local_timer 115-130 local_timer 130-140 hardirq:virtio1-req.0
pong 200-250 200-210 local_timer 240-250 softirq:7
`)
}

// The interrupt that wakes is the innermost one that is recorded. Its event comes after that of the waking, and even after the thread runs on
// another CPU: then only what follows has the name. No interrupt lasts longer than the thread runs that it interrupted, so the last one woke nobody.
func TestInterruptsWake(t *testing.T) {
	expectInterrupts(t, `
100 cpu0 state_cpu 2 since=80
100 cpu1 state_cpu 1 since=80
100 cpu1 state_thread 3 state=S since=90
100 cpu1 state_thread 4 state=S since=90
210 cpu0 waking 2 wakee=3 interrupt
212 cpu0 typed 2 type=3 start=205
215 cpu0 waking 2 wakee=4 interrupt
220 cpu1 switch 1 next=3 prev_state=R since=90 next_state=S
250 cpu0 typed 2 type=2 start=200 .vector=3
260 cpu1 switch 3 next=4 prev_state=S since=90 next_state=S
270 cpu0 waking 2 wakee=3 interrupt
280 cpu0 switch 2 next=3 prev_state=S since=260 next_state=S
290 cpu0 typed 3 type=3 start=262
end close=300
`, `
pong 210-220 woken by "local_timer"
pong 220-260 woken by "local_timer"
side 215-260 woken by "softirq:NET_RX"
ping 100-280 200-205 softirq:NET_RX 205-212 local_timer in softirq:NET_RX 212-250 softirq:NET_RX
pong 270-280 woken by ""
pong 280-300 woken by ""
pong 280-300 280-290 local_timer
side 260-300 woken by "softirq:NET_RX"
`)
}

// A running interval with very many interrupts is emitted in several spans, without losing time.
func TestManyInterruptsDivideASpan(t *testing.T) {
	var text strings.Builder
	text.WriteString("100 cpu0 state_cpu 2 since=100\n")
	const many = 3*maxParts + 10
	for n := range many {
		fmt.Fprintf(&text, "%d cpu0 typed 2 type=3 start=%d\n", 1000+10*n+4, 1000+10*n)
	}
	fmt.Fprintf(&text, "end close=%d\n", 1000+10*many)
	r := fromtext.Reader(t, irqTypes+text.String())
	var spans []Span
	var inside int64
	v := &visited{NewSpans(r, func(s *Span) {
		spans = append(spans, *s)
		inside += s.InterruptTime()
		if len(s.Interrupts) > maxParts {
			t.Errorf("a span has %d interrupts", len(s.Interrupts))
		}
	})}
	v.WithInterrupts(r)
	if err := Visit(r, v); err != nil {
		t.Fatal(err)
	}
	if inside != 4*many || len(spans) < 3 {
		t.Errorf("%d spans have %d ns in interrupts, not %d", len(spans), inside, 4*many)
	}
	for i := range spans[1:] {
		if spans[i].To != spans[i+1].From {
			t.Errorf("a span ends at %d, and the next one begins at %d", spans[i].To, spans[i+1].From)
		}
	}
}

// Whatever the events say, the parts of a CPU are in order, apart, and bounded.
func TestPartsAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	in := &interrupts{ids: make(map[interruptName]InterruptID), names: make([]interruptName, 1)}
	by := []InterruptID{in.intern(interruptName{name: "a"}), in.intern(interruptName{name: "b"})}
	c := in.cpu(0)
	now := int64(0)
	for range 20000 {
		now += random.Int64N(20)
		from := now - random.Int64N(100)
		in.add(c, Interrupt{from, now - random.Int64N(3), by[random.IntN(2)]})
		if random.IntN(30) == 0 {
			in.take(0, now-50, now-random.Int64N(40))
		}
		at := c.done
		for _, p := range c.parts {
			if p.From < at || p.To <= p.From || in.names[p.By].depth >= maxIRQDepth {
				t.Fatalf("%v after %d, depth %d", p, at, in.names[p.By].depth)
			}
			at = p.To
		}
	}
	if len(in.names) > 1<<(maxIRQDepth+1) {
		t.Errorf("%d names", len(in.names))
	}
}

// A sample is of what the timer's interrupt interrupted.
func TestSamplesInInterrupts(t *testing.T) {
	s := NewSpans(definitions{}, func(*Span) {})
	s.WithInterrupts(nil)
	in := s.interrupts
	soft := in.intern(interruptName{name: "softirq"})
	timer := in.intern(interruptName{name: "local_timer", hard: true})
	parts := []Interrupt{{10, 20, timer}, {30, 40, soft}, {40, 50, in.under(soft, timer)}, {50, 60, soft}}
	named := func(at int64, inside bool) string {
		id := s.Sampled(parts, at, inside)
		if id == 0 {
			return "-"
		}
		name, _ := s.InterruptName(id)
		return name
	}
	var got []string
	for at := int64(5); at < 70; at += 5 {
		got = append(got, named(at, false))
	}
	for at, want := range map[int64]string{0: "local_timer", 15: "local_timer", 24: "local_timer", 26: "softirq", 45: "softirq", 61: "softirq", 60 + nearInterrupt: "-"} {
		if got := named(at, true); got != want {
			t.Errorf("in an interrupt, at %d: %s, want %s", at, got, want)
		}
	}
	want := []string{"-", "-", "-", "-", "-", "softirq", "softirq", "softirq", "softirq", "softirq", "softirq", "-", "-"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
