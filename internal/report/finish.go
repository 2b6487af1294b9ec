package report

import (
	"wprof/format"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// finish adds up all threads. No event may follow.
func (c *Collector) finish() {
	if c.spans == nil {
		return
	}
	c.dropped = c.spans.Timeline().DroppedThreads()
	c.spans = nil // frees it
	for i, t := range c.threads {
		c.retire(t)
		c.threads[i] = nil
	}
	c.threads = nil
}

// Report returns the report of all selected threads. No event may follow.
func (c *Collector) Report() *Report {
	c.finish()
	return c.all.report()
}

// ThreadReport returns the report of one thread, with Options.Threads; nil: it is not selected, or there are too many.
func (c *Collector) ThreadReport(of timeline.Key) *Report {
	c.finish()
	if own := c.own[of]; own != nil && own.threads > 0 {
		return own.report()
	}
	return nil
}

func (o *totals) report() *Report {
	r := &Report{
		WindowNs: o.c.windowNs, CPUs: o.c.cpus, Processes: o.known, Threads: o.threads, TotalNs: o.total,
		Samples: o.samples, LostData: o.c.isLossy, DroppedThreads: o.c.dropped,
	}
	for class, one := range o.time {
		if isWork(class) {
			r.WorkNs += one.ns
		}
	}
	for _, p := range o.processes {
		r.LivedNs = format.Sum(r.LivedNs, p.lived)
	}
	r.Time, r.Functions, r.Waits, r.Locks = o.timeTable(), o.functionTable(), o.waitTable(), o.lockRows()
	r.Interrupts = o.interrupts.sorted(o.c.o.Limit)
	r.Delays, r.Longest = o.delayTable(), o.longestTable()
	r.Findings = o.findings(r)
	return r
}

// timeTable returns the time by class. It adds up to the lifetimes exactly, so --limit does not apply.
func (o *totals) timeTable() []Time {
	rows := []Time{}
	row := func(class int) {
		if one := o.time[class]; one.ns > 0 {
			rows = append(rows, Time{className(class), one.ns, Share(one.ns, o.total), one.count})
		}
	}
	for _, class := range []int{classOnCPU, classInterrupt, int(waits.Runnable), int(waits.Preempted), int(waits.Throttled), classNew} {
		row(class)
	}
	for class := int(waits.Lock); class < int(waits.Preempted); class++ {
		row(class)
	}
	row(int(waits.Unknown))
	row(classIdle)
	row(classLost)
	return rows
}

func className(class int) string {
	switch class {
	case classOnCPU:
		return OnCPU
	case classInterrupt:
		return Interrupts
	case classNew:
		return New
	case classIdle:
		return Idle
	case classLost:
		return NotRecorded
	}
	return waits.Class(class).String()
}

func (o *totals) waitTable() []Wait {
	rows := []Wait{}
	c, keys := o.c, o.waits.sorted(compareWaits)
	for _, forWork := range []bool{false, true} {
		for _, key := range keys {
			if key.forWork != forWork || len(rows) >= c.o.Limit {
				continue
			}
			s := o.waits.all[key]
			rows = append(rows, Wait{
				Class: key.class.String(), Object: c.names.text[key.object], Process: c.names.text[key.name], PID: key.pid, Function: c.functionOf(key.site, key.caller),
				Ns: s.Ns, Count: s.Count, LongestNs: s.longest, ForWork: forWork, Wakers: s.by.sorted(c.o.Limit),
			})
		}
	}
	return rows
}

func (o *totals) longestTable() []Interval {
	c := o.c
	o.longest.shrink(c.o.Limit)
	rows := []Interval{}
	for _, w := range o.longest.all {
		rows = append(rows, Interval{
			StartNs: w.from - c.r.FirstOpen(), Ns: w.to - w.from, Class: w.class.String(), Object: c.names.text[w.object], Thread: c.names.text[w.thread.comm], TID: w.thread.tid,
			Process: c.names.text[w.thread.process], PID: w.thread.pid, Function: c.calls.nameOf(w.site), Waker: c.names.text[w.waker], Open: w.open,
		})
	}
	return rows
}
