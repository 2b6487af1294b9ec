package report

import (
	"fmt"
	"strings"

	"wprof/internal/stacks"
	"wprof/internal/timeline"
)

// anyInterrupt is the waker where it is not known which interrupt it was.
const anyInterrupt = "[interrupt]"

// interruptName names an interrupt among threads.
func (c *Collector) interruptName(id timeline.InterruptID) string {
	name, _ := c.spans.InterruptName(id)
	return "[" + string(stacks.Printable([]byte(name), stacks.Unnamed)) + "]"
}

// isInterrupt reports whether a waker is an interrupt: names of threads end with their ids.
func isInterrupt(waker string) bool { return strings.HasSuffix(waker, "]") }

// pending is a sample that may turn out to be an interrupt's, whose event comes later.
type pending struct {
	at int64
	place
}

const (
	maxPending         = 256 // samples of a thread
	maxInterruptedCPUs = 1 << 12
)

// addInterrupts adds the interrupts in a span to those of its CPU.
func (c *Collector) addInterrupts(s *timeline.Span) {
	if len(s.Interrupts) == 0 {
		return
	}
	of := c.interrupts[s.CPU]
	if of == nil {
		if len(c.interrupts) >= maxInterruptedCPUs {
			return
		}
		of = new(sum)
		c.interrupts[s.CPU] = of
	}
	for _, one := range s.Interrupts {
		ns := one.To - one.From
		of.add(ns, 1, ns)
		of.by.add(c.interruptName(one.By), ns, 1)
	}
}

// addInterruptsOf adds the interrupts in a span to those of its thread, and counts the samples that are not theirs.
func (c *Collector) addInterruptsOf(t *thread, s *timeline.Span) {
	if len(t.pending) > 0 {
		c.countPending(t, s)
	}
	for _, one := range s.Interrupts {
		ns := one.To - one.From
		t.in(classInterrupt).add(ns, 1)
		t.interrupts.add(c.interruptName(one.By), ns, 1)
	}
}

// countPending counts the samples of a span that are the thread's own.
func (c *Collector) countPending(t *thread, s *timeline.Span) {
	n := 0
	for ; n < len(t.pending) && t.pending[n].at <= s.To; n++ {
		if one := &t.pending[n]; c.spans.Sampled(s.Interrupts, one.at, one.interrupt) == 0 {
			c.countSample(t, one.place)
		}
	}
	t.pending = t.pending[:copy(t.pending, t.pending[n:])]
}

// interrupts adds interrupts that take much of the time in which the threads of a process had a CPU.
func (f *finder) interrupts(p *process) {
	ns := p.time[classInterrupt].ns
	had := ns + p.time[classOnCPU].ns
	if Share(ns, had) < leastOfCPU || !f.matters(ns, p.work()) {
		return
	}
	f.add(interruptStorm, f.weight(ns), p.pid, p.name, f.flame(p.pid, "--on-cpu"), "interrupts took %s of the %s in which %s had a CPU, %s: %s; it is not to blame for them",
		short(ns), short(had), f.nameOf(p.pid, p.name), percent(ns, had), listed(p.interrupts.sorted(maxListed), ns))
}

// interruptedCPUs adds the CPU that was interrupted most. What threads that are not selected were interrupted by is not in their report.
func (f *finder) interruptedCPUs() {
	if f.c.o.Selector != nil || f.of != f.c.all {
		return
	}
	most, many, all := uint32(0), 0, int64(0)
	for cpu, of := range f.c.interrupts {
		if Share(of.Ns, f.report.WindowNs) < leastOfOneCPU {
			continue
		}
		many++
		all += of.Ns
		if best := f.c.interrupts[most]; many == 1 || of.Ns > best.Ns || of.Ns == best.Ns && cpu < most {
			most = cpu
		}
	}
	if many == 0 {
		return
	}
	of := f.c.interrupts[most]
	text := fmt.Sprintf("CPU %d was in interrupts for %s of the window, %.0f a second, on average for %s: %s", most, percent(of.Ns, f.report.WindowNs),
		perSecond(of.Count, f.report.WindowNs), short(of.Ns/int64(max(1, of.Count))), listed(of.by.sorted(maxListed), of.Ns))
	if many > 1 {
		text += fmt.Sprintf("; %d CPUs were for %.0f%% and more", many, 100*leastOfOneCPU)
	}
	f.add(interruptStorm, f.weight(all), 0, 0, "wprof-flame --on-cpu --by cpu --idle-threads", "%s", text)
}
