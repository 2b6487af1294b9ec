package perfetto

import (
	"cmp"
	"math"
	"slices"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/tracks"
)

// counterTracks draw what counters counted on each CPU and in each process, as rates, and derived metrics.
type counterTracks struct {
	cpus      []*counterRow                    // by number
	processes *bounded.Map[int64, *counterRow] // by number, see [processes]
	busy      []*counterRow                    // those with intervals that are not drawn
	names     []string                         // of tracks, by counter
	next      int64                            // when rows are drawn next, CLOCK_MONOTONIC ns
	counts    []format.Count
	values    []float64
}

// maxCounterRows bounds the processes that are kept: those that used a CPU last.
const maxCounterRows = 1 << 12

func newCounterTracks(onDrop func(*counterRow)) counterTracks {
	c := counterTracks{processes: bounded.NewMap[int64, *counterRow](maxCounterRows)}
	c.processes.OnDrop = onDrop
	return c
}

// setCounters sets the counters of a section. If they are others than before, their tracks begin anew.
func (w *view) setCounters(s *format.Session) {
	c := &w.rates
	var names []string
	for _, one := range format.NewCounters(s).List {
		names = append(names, rateName(one))
	}
	if len(c.names) > 0 && !slices.Equal(c.names, names) {
		w.closeRates()
		c.cpus = nil
		c.processes.Clear()
	}
	c.names = names
	w.counters.newSection(s)
}

// isTime reports whether a counter counts ns: those in a time are a number of CPUs.
func isTime(c *format.Counter) bool {
	return !c.IsMetric() && c.GetScale() == "" && c.GetUnit() == "ns"
}

// rateName is the name of a counter's tracks.
func rateName(c *format.Counter) string {
	switch {
	case c.IsMetric():
		return c.GetName()
	case isTime(c):
		return c.GetName() + " CPUs"
	}
	if c.GetUnit() != "" {
		return c.GetName() + " " + c.GetUnit() + "/s"
	}
	return c.GetName() + "/s"
}

// countRun takes what was counted up to a switch, before that changes who has the CPU.
func (w *view) countRun(v *tracks.Event) {
	c := &w.rates
	if v.Kind != format.KindSwitch || v.Flags&format.FlagSubject == 0 || v.CPU >= maxCPUs || v.Task == nil || !v.Task.IsThread() {
		return
	}
	data, has := v.Switch().Counts()
	if !has {
		return
	}
	c.counts = format.ReadCounts(c.counts[:0], data)
	from := v.Time
	if one := w.occupancy.on(v.CPU); one.task != nil && one.task.IsSame(v.Task) {
		from = min(one.since, from)
	}
	w.addCounts(c.cpu(w, v.CPU), v, from)
	w.addCounts(c.process(w, v.Task, from), v, from)
}

func (w *view) addCounts(r *counterRow, v *tracks.Event, from int64) {
	r.add(from, v.Time, w.rates.counts)
	r.ran += v.Time - from
	if !r.isBusy {
		r.isBusy = true
		w.rates.busy = append(w.rates.busy, r)
	}
	switch {
	case !r.hasTracks():
		r.merge(maxUndrawn)
	case len(r.waiting) > maxWaiting:
		w.drawRates(r, r.waiting[len(r.waiting)/2].number)
	}
}

// hasTracks reports whether a row is drawn. Those of processes that hardly run are not: a machine has thousands of them.
func (r *counterRow) hasTracks() bool {
	return r.item.On == format.TypeTrack_TRACK_CPU || r.ran >= minRateNs
}

func (c *counterTracks) cpu(w *view, number uint32) *counterRow {
	for uint64(len(c.cpus)) <= uint64(number) {
		c.cpus = append(c.cpus, nil)
	}
	if c.cpus[number] == nil {
		c.cpus[number] = w.newCounterRow(tracks.Item{On: format.TypeTrack_TRACK_CPU, CPU: number})
	}
	return c.cpus[number]
}

// process returns the row of a process; from is where its counts begin, if these are the first.
func (c *counterTracks) process(w *view, of *tracks.Task, from int64) *counterRow {
	number := w.processes.number(of, w.threads)
	r, found := c.processes.Get(number)
	if !found {
		r = w.newCounterRow(tracks.Item{On: format.TypeTrack_TRACK_PROCESS, Task: of})
		r.begins = from
		c.processes.Put(number, r)
	}
	r.item.Task = of
	return r
}

func (w *view) newCounterRow(item tracks.Item) *counterRow {
	item.Shape = tracks.ShapeCounter
	return &counterRow{item: item, drawn: w.opened / rateNs}
}

// reachRates draws the intervals to which nothing is added any more, once for each interval that ends.
func (w *view) reachRates(at int64) {
	c := &w.rates
	if at < c.next || len(c.busy) == 0 {
		return
	}
	c.next = at - at%rateNs + rateNs
	since := w.occupancy.sinceByProcess()
	left := c.busy[:0]
	for _, r := range c.busy {
		end := at
		if r.item.On == format.TypeTrack_TRACK_CPU {
			if one := w.occupancy.on(r.item.CPU); one.task != nil {
				end = one.since
			}
		} else if first, found := since[r.item.Task.Def.Pid]; found {
			end = first
		}
		if r.hasTracks() {
			w.drawRates(r, min(end, at)/rateNs)
		}
		if r.isBusy = len(r.waiting) > 0; r.isBusy {
			left = append(left, r)
		}
	}
	clear(c.busy[len(left):])
	c.busy = left
}

// drawRates draws the intervals of a row before the one with the number end.
func (w *view) drawRates(r *counterRow, end int64) {
	r.draw(end, func(number int64, counts *counterValues) {
		from := max(number*rateNs, w.opened, r.begins)
		w.drawRate(r, from, (number+1)*rateNs-from, counts)
	})
}

// drawRate draws the values of an interval that differ from those that were drawn last.
func (w *view) drawRate(r *counterRow, from, length int64, counts *counterValues) {
	c := &w.rates
	known := *counts
	for i := range known {
		if r.known>>i&1 == 0 {
			known[i] = math.NaN()
		}
	}
	c.values = w.counters.AppendShares(c.values[:0], known[:])
	for i, v := range c.values {
		one := w.counters.List[i]
		for len(r.shown) <= i {
			r.shown = append(r.shown, math.NaN())
		}
		if isTime(one) {
			v /= float64(max(length, 1))
		} else if !one.IsMetric() {
			v *= 1e9 / float64(max(length, 1))
		} else if math.IsNaN(v) && !math.IsNaN(r.shown[i]) {
			v = 0 // nothing ran
		}
		if v == r.shown[i] || math.IsNaN(v) || v == 0 && math.IsNaN(r.shown[i]) {
			continue // a track begins with the first value that is not 0
		}
		r.shown[i] = v
		item := r.item
		item.From, item.To, item.Value, item.Track, item.Name = from, from, v, c.names[i], c.names[i]
		w.item(&item, nil)
	}
}

// closeRates draws what is left at the close of a window, and nothing after it.
func (w *view) closeRates() {
	c := &w.rates
	if len(c.names) == 0 {
		return
	}
	w.resetIfDue()
	last := w.now / rateNs
	for _, r := range c.cpus {
		if r != nil {
			w.closeRate(r, last)
		}
	}
	processes := slices.SortedFunc(c.processes.Values(), func(a, b *counterRow) int {
		return cmp.Or(cmp.Compare(a.item.Task.Def.Pid, b.item.Task.Def.Pid), cmp.Compare(a.begins, b.begins))
	})
	for _, r := range processes {
		w.closeRate(r, last)
	}
	c.busy, c.next = nil, 0
}

func (w *view) closeRate(r *counterRow, last int64) {
	if r.isBusy = false; !r.hasTracks() {
		return
	}
	w.drawRates(r, last)
	r.draw(last+1, func(number int64, counts *counterValues) {
		from := max(number*rateNs, w.opened, r.begins)
		w.drawRate(r, from, w.now-from, counts)
	})
	w.drawRate(r, w.now, rateNs, new(counterValues))
}
