package info

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
)

// Counts are what the counters of a recording counted.
type Counts struct {
	Total     CountSum
	ByCPU     countSums[uint32]
	ByProcess countSums[CountKey]
	ByThread  countSums[ThreadKey]
	Scaled    uint64 // counts that are estimates, because the counter counted for a part of the time
	Unknown   uint64 // counts that are not known
	all       bool   // all events were read
	counts    []format.Count
}

// CountKey is a process.
type CountKey struct {
	PID  int32
	Comm string
}

// ThreadKey is a thread under one name.
type ThreadKey struct {
	TID, PID int32
	Comm     string
}

// countSums are sums by what they are of.
type countSums[K comparable] map[K]*CountSum

// of returns the sum of a key; nil: it is a new one, and there are maxCounted.
func (s *countSums[K]) of(key K) *CountSum {
	sum := (*s)[key]
	if sum == nil && len(*s) < maxCounted {
		if *s == nil {
			*s = make(countSums[K])
		}
		sum = new(CountSum)
		(*s)[key] = sum
	}
	return sum
}

// sorted returns the keys, most of the first counter first; compare orders those with equal sums.
func (s countSums[K]) sorted(compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(s), func(a, b K) int {
		return cmp.Or(cmp.Compare(s[b].Sums[0], s[a].Sums[0]), compare(a, b))
	})
}

// CountSum adds up counts, in the order of the session's counters.
type CountSum struct {
	Sums [format.MaxCounters]uint64
	any  uint64 // counters that have any, as bits
}

// maxCounted bounds the processes, and the threads.
const maxCounted = 1 << 14

func (c *Counts) add(r *format.Reader, e *format.Event) {
	data, has := e.Switch().Counts()
	if !has || e.Flags&format.FlagSubject == 0 {
		return
	}
	task := r.Task(e.Task)
	c.counts = format.ReadCounts(c.counts[:0], data)
	for _, sum := range [...]*CountSum{
		&c.Total, c.ByCPU.of(e.CPU), c.ByProcess.of(CountKey{task.GetPid(), string(task.GetProcessComm())}),
		c.ByThread.of(ThreadKey{task.GetTid(), task.GetPid(), string(task.GetComm())}),
	} {
		sum.add(c.counts)
	}
	for _, n := range c.counts {
		switch {
		case !n.Known:
			c.Unknown++
		case n.Scaled:
			c.Scaled++
		}
	}
}

func (c *CountSum) add(counts []format.Count) {
	if c == nil {
		return
	}
	for i, n := range counts {
		if n.Known {
			c.Sums[i] = format.Sum(c.Sums[i], n.Number)
			c.any |= 1 << i
		}
	}
}

// values are the values of counters.
func (c *CountSum) values(of *format.Counters) []float64 {
	counts := make([]format.Count, len(of.List))
	for i := range counts {
		counts[i] = format.Count{Number: c.Sums[i], Known: c.any>>i&1 != 0}
	}
	return of.AppendValues(nil, counts)
}

// countedProcess is a row of the list.
type countedProcess struct {
	CountKey
	values []float64
}

// processes returns the processes, those with most of the first counter first.
func (c *Counts) processes(of *format.Counters) []countedProcess {
	var all []countedProcess
	for _, key := range c.ByProcess.sorted(func(a, b CountKey) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Comm, b.Comm)) }) {
		all = append(all, countedProcess{key, c.ByProcess[key].values(of)})
	}
	return all
}

// printCounts prints what counters counted, by process.
func (r *Recording) printCounts(w io.Writer) {
	s := r.Counts
	if s == nil {
		return
	}
	counters := format.NewCounters(r.Session)
	all := s.processes(counters)
	of := cli.Counted(uint64(len(all)), "process")
	if !s.all {
		of += " in the events that were read"
	}
	fact(w, "counters", "of %s while on a CPU", of)
	for _, p := range all[:min(listed, len(all))] {
		var texts []string
		for i, v := range p.values {
			texts = append(texts, countText(v, counters.List[i]))
		}
		fact(w, "", "pid %d %s: %s", p.PID, name(p.Comm), strings.Join(texts, ", "))
	}
	printMore(w, len(all)-listed)
	if s.Scaled > 0 {
		fact(w, "", "%s are estimates: more events were counted than the CPU has counters, so that they took turns", cli.Counted(s.Scaled, "count"))
	}
	if s.Unknown > 0 {
		fact(w, "", "%s are not known", cli.Counted(s.Unknown, "count"))
	}
}

// countText is a value with its name: a number of events, or of units or a ratio.
func countText(v float64, c *format.Counter) string {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	switch {
	case math.IsNaN(v):
		text = "not known"
	case !c.IsMetric() && c.GetScale() == "" && c.GetUnit() == "ns" && v < math.MaxInt64:
		return name(c.GetName()) + " " + seconds(int64(v))
	case !c.IsMetric() && c.GetScale() == "" && v < math.MaxInt64:
		text = cli.Grouped(uint64(v))
	}
	if c.GetUnit() != "" {
		text += " " + name(c.GetUnit())
	}
	return name(c.GetName()) + " " + text
}
