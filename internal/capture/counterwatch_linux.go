package capture

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/bounded"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/ringdata"
)

// counterWatch compares what counters have counted with the limits of conditions.
type counterWatch struct {
	counters   *format.Counters
	conditions []*counterCondition
	windows    []counterWindow // by condition
	threads    *bounded.Map[uint32, *countedThread]
}

// countedThread says which conditions a thread's name matches.
type countedThread struct {
	names   identity
	matches []bool
}

const maxCountedThreads = 1 << 15

func newCounterWatch(c *conditions) *counterWatch {
	w := &counterWatch{
		counters: format.NewCounters(&format.Session{Counters: c.counted}), conditions: c.counters,
		threads: bounded.NewMap[uint32, *countedThread](maxCountedThreads),
	}
	for _, one := range c.counters {
		w.windows = append(w.windows, counterWindow{part: one.per.Nanoseconds() / windowParts})
	}
	return w
}

// take adds up a batch, and calls found with each condition that holds.
func (w *counterWatch) take(b *countedBatch, found func(c *counterCondition, reason string)) {
	for i := range b.runs {
		run := &b.runs[i]
		for n, matches := range w.matches(run) {
			if matches {
				w.windows[n].add(run)
			}
		}
	}
	for n, c := range w.conditions {
		if value, holds := w.windows[n].compare(w.counters, c, b.at); holds {
			found(c, fmt.Sprintf("%s: %s in %s", c.text, counterText(value, w.counters.List[c.place]), limitText(c.per.Nanoseconds())))
		}
	}
}

// matches returns which conditions a thread's name matches. The recorder itself matches none.
func (w *counterWatch) matches(run *countedRun) []bool {
	known, found := w.threads.Get(run.tid)
	if found && known.names == run.names {
		return known.matches
	}
	thread, process, pid := run.names.strings()
	if pid == 0 {
		thread, process, pid = threadNames(run.tid)
	}
	known = &countedThread{run.names, make([]bool, len(w.conditions))}
	for i, c := range w.conditions {
		known.matches[i] = pid != os.Getpid() && (glob.Match(c.counter.names, thread) || glob.Match(c.counter.names, process))
	}
	w.threads.Put(run.tid, known)
	return known.matches
}

// counterText is a value with its name.
func counterText(v float64, c *format.Counter) string {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if !c.IsMetric() && c.GetScale() == "" && v < math.MaxInt64 {
		text = cli.Grouped(uint64(v))
	}
	if c.GetUnit() != "" {
		text += " " + c.GetUnit()
	}
	return c.GetName() + " " + text
}

// counterWindow adds up counts over the time of a condition, wherever that begins: it is cut into windowParts parts, and moves on by one at a
// time.
type counterWindow struct {
	part   int64 // ns
	parts  [keptParts]windowPart
	newest int64 // number of the last part with counts; 0: there is none
	next   int64 // the first part at whose end the window has not been compared
}

// windowPart is what was counted in a part of the window.
type windowPart struct {
	number int64
	ran    float64 // ns
	counts [ringdata.MaxCounters]float64
	known  uint8 // by counter
}

const (
	windowParts = 10
	// keptParts is how many parts are kept: what a longer time on a CPU counted in earlier ones is not compared.
	keptParts = 64
)

// add adds what a thread counted, spread evenly over its time on the CPU.
func (w *counterWindow) add(run *countedRun) {
	first, last := run.from/w.part, run.to/w.part
	if w.newest == 0 {
		w.next = first
	}
	w.newest = max(w.newest, last)
	first = max(first, w.newest-keptParts+1)
	w.next = min(w.next, first)
	length := run.to - run.from
	for n := first; n <= last; n++ {
		share := 1.0
		if length > 0 {
			share = float64(min(run.to, (n+1)*w.part)-max(run.from, n*w.part)) / float64(length)
		}
		p := &w.parts[n%keptParts]
		if p.number != n {
			*p = windowPart{number: n}
		}
		p.ran += share * float64(run.ran)
		p.known |= run.known
		for i, count := range run.counts {
			p.counts[i] += share * float64(count)
		}
	}
}

// compare moves the window on up to a time, and returns the value with which the condition holds, if it does. Then the window begins anew, so that
// nothing counts twice.
func (w *counterWindow) compare(counters *format.Counters, c *counterCondition, at int64) (value float64, holds bool) {
	if w.newest == 0 {
		return 0, false
	}
	isMetric := counters.List[c.place].IsMetric()
	last := max(w.newest, at/w.part)
	if isMetric { // the value of the last part may still change
		last = at/w.part - 1
	}
	for n := max(w.next, w.newest-keptParts+1); n <= min(last, w.newest+windowParts-1); n++ {
		value, ran := w.value(counters, c.place, n)
		if isMetric && ran < float64(c.per)/windowParts {
			continue
		}
		if c.counter.isBelow && value < c.counter.value || !c.counter.isBelow && value > c.counter.value {
			*w = counterWindow{part: w.part}
			return value, true
		}
	}
	if w.next = max(w.next, last); isMetric {
		w.next = max(w.next, last+1)
	}
	return 0, false
}

// value returns a counter's value in the window that ends with a part, NaN if it is not known, and for how long threads were on CPUs in it.
func (w *counterWindow) value(counters *format.Counters, place int, end int64) (value, ran float64) {
	var counts [ringdata.MaxCounters]format.Count
	var sums [ringdata.MaxCounters]float64
	for n := end - windowParts + 1; n <= end; n++ {
		p := &w.parts[max(n, 0)%keptParts]
		if p.number != n {
			continue
		}
		ran += p.ran
		for i, count := range p.counts {
			sums[i] += count
			counts[i].Known = counts[i].Known || p.known>>i&1 != 0
		}
	}
	for i, sum := range sums {
		counts[i].Number = uint64(math.Round(sum))
	}
	return counters.AppendValues(nil, counts[:])[place], ran
}

// countedType is a condition on what a probe counts.
type countedType struct {
	*Condition
	number uint32 // of the event type, as probe.Program.Type
}

// compareProbes compares what probes counted in an interval that ended at a time; events are by the numbers of event types.
func (s *conditionSink) compareProbes(events map[uint32]uint64, at, interval int64) {
	for _, c := range s.countedTypes {
		if n := float64(events[c.number]) * float64(time.Second) / float64(max(interval, 1)); n > c.counter.value {
			s.hold(firing{Mark: assemble.Mark{At: at, Condition: c.text}, what: cli.Counted(uint64(n), "event") + " in 1s"})
		}
	}
}
