package report

import (
	"wprof/internal/waits"
)

// finish adds up all threads and makes the report.
func (c *collector) finish() *Report {
	dropped := c.spans.Timeline().DroppedThreads()
	c.spans = nil // frees it
	for i, t := range c.threads {
		c.retire(t)
		c.threads[i] = nil
	}
	r := &Report{
		WindowNs: c.windowNs, CPUs: c.cpus, Processes: c.known, Threads: c.lived, TotalNs: c.total,
		Samples: c.samples, LostData: c.isLossy, DroppedThreads: dropped,
	}
	for class, one := range c.time {
		if isWork(class) {
			r.WorkNs += one.ns
		}
	}
	c.threads = nil
	r.Time, r.Functions, r.Waits, r.Locks = c.timeTable(), c.functionTable(), c.waitTable(), c.lockRows()
	r.Delays, r.Longest = c.delayTable(), c.longestTable()
	r.Findings = c.findings(r)
	return r
}

// timeTable returns the time by class. It adds up to the lifetimes exactly, so --limit does not apply.
func (c *collector) timeTable() []Time {
	rows := []Time{}
	row := func(class int) {
		if one := c.time[class]; one.ns > 0 {
			rows = append(rows, Time{className(class), one.ns, part(one.ns, c.total), one.count})
		}
	}
	for _, class := range []int{classOnCPU, int(waits.Runnable), int(waits.Preempted), classNew} {
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
		return "on-CPU"
	case classNew:
		return "new"
	case classIdle:
		return "idle"
	case classLost:
		return "not recorded"
	}
	return waits.Class(class).String()
}

func (c *collector) waitTable() []Wait {
	rows := []Wait{}
	keys := c.waits.sorted(compareWaits)
	for _, forWork := range []bool{false, true} {
		for _, key := range keys {
			if key.forWork != forWork || len(rows) >= c.o.Limit {
				continue
			}
			s := c.waits.all[key]
			rows = append(rows, Wait{
				Class: key.class.String(), Object: c.names.text[key.object], Process: c.names.text[key.name], PID: key.pid, Function: c.functionOf(key.site, key.caller),
				Ns: s.Ns, Count: s.Count, LongestNs: s.longest, ForWork: forWork, Wakers: s.by.sorted(c.o.Limit),
			})
		}
	}
	return rows
}

func (c *collector) longestTable() []Interval {
	c.longest.shrink(c.o.Limit)
	rows := []Interval{}
	for _, w := range c.longest.all {
		rows = append(rows, Interval{
			StartNs: w.from - c.r.FirstOpen(), Ns: w.to - w.from, Class: w.class.String(), Object: c.names.text[w.object], Thread: c.names.text[w.thread.comm], TID: w.thread.tid,
			Process: c.names.text[w.thread.process], PID: w.thread.pid, Function: c.calls.nameOf(w.site), Waker: c.names.text[w.waker], Open: w.open,
		})
	}
	return rows
}
