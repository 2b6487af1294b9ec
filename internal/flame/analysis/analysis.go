package analysis

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// Maximum number of stacks that an analysis lists.
const (
	topStacks = 10 // of blocked threads
	topWaits  = 3  // of threads that waited for work
)

// Write writes the time of a view's threads ([graph.View].Only, From, To, Inline and Lines; other fields are ignored): on-CPU, blocked by reason,
// runnable and waiting for work; how much of the window that covers and what this means; in which stacks the threads were blocked
// longest; and what the recording itself cost.
// Lines of the form "key: value" are for grep(1): keys do not change between versions. Times are seconds.
func Write(w io.Writer, p *profile.Profile, v graph.View) error {
	out := bufio.NewWriter(w)
	b := breakDown(p, &v)
	window := windowOf(p, &v)
	writeSubject(out, p, &v, &b, window)
	b.writeShares(out, window, p.About.MinBlock)
	b.writeSampling(out, &p.About)
	b.explainCoverage(out, window, &p.About)
	writeTop(out, p, "Top %d blocking stacks", profile.ClassBlocked, topStacks, &v)
	writeTop(out, p, "Top %d waits for work", profile.ClassIdle, topWaits, &v)
	writeCost(out, p)
	return out.Flush()
}

// writeSubject writes which threads the analysis covers.
func writeSubject(w io.Writer, p *profile.Profile, v *graph.View, b *breakdown, window int64) {
	fmt.Fprintf(w, "Wall-clock analysis\n\n")
	line(w, "of", subjectOf(p, v))
	line(w, "threads", fmt.Sprint(b.threads))
	writeAbout(w, p, window)
}

// writeAbout describes the recording.
func writeAbout(w io.Writer, p *profile.Profile, window int64) {
	a := &p.About
	line(w, "host", listed(a.Host, a.Kernel))
	if !a.Start.IsZero() {
		line(w, "recorded", a.Start.UTC().Format(time.DateTime)+" UTC")
	}
	line(w, "window", seconds(window))
	for _, s := range a.Sources {
		if s.Period > 0 {
			line(w, "sampling", fmt.Sprintf("%s, %.4g Hz, %d samples in all", s.Name, 1e9/float64(s.Period), a.Samples))
		}
	}
	if a.OffCPU != "" {
		line(w, "off-CPU stacks", a.OffCPU)
	}
	switch {
	case a.Lost > 0:
		line(w, "lost", fmt.Sprintf("%d events; what they would have shown is unknown", a.Lost))
	case a.IsLossy:
		line(w, "lost", "an unknown number of events; what they would have shown is unknown")
	default:
		line(w, "lost", "nothing")
	}
	if a.CutStacks > 0 {
		line(w, "cut stacks", fmt.Sprintf("%.1f%% of stacks lack their outer functions", 100*part(int64(a.CutStacks), int64(a.UserStacks))))
	}
}

// subjectOf names the threads of a view.
func subjectOf(p *profile.Profile, v *graph.View) string {
	var first *profile.Thread
	threads := 0
	for t := range v.Threads(p) {
		if first == nil {
			first = t
		}
		threads++
	}
	switch {
	case threads == 0:
		return "nothing: no thread of the capture was chosen"
	case countProcesses(p, v) > 1:
		return fmt.Sprintf("%d processes", countProcesses(p, v))
	}
	l := &p.Labels[first.Label]
	process := fmt.Sprintf("process %s (pid %d)", l.Process, first.PID)
	if threads > 1 || first.TID == first.PID {
		return process
	}
	return fmt.Sprintf("thread %s (tid %d) of %s", l.Comm, first.TID, process)
}

// writeShares writes the table of times by what the threads did.
func (b *breakdown) writeShares(w io.Writer, window, minBlock int64) {
	fmt.Fprintf(w, "\n%-23s%14s  %11s  %9s  %s\n", "", "time", "of lifetime", "of window", "count")
	row := func(key string, s share, unit string) {
		count := ""
		if unit != "" {
			count = howOften(s.count, unit)
		}
		text := fmt.Sprintf("%-23s%14s  %10.1f%%  %8.1f%%  %s", key+":", seconds(s.ns), 100*part(s.ns, b.lifetime), 100*part(s.ns, window), count)
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
	row("on-CPU", b.onCPU, "samples")
	if b.sampling.Borrowed > 0 {
		row("  from other threads", share{ns: b.sampling.Borrowed}, "")
	}
	if b.sampling.NotSampled > 0 {
		row("  not sampled", share{ns: b.sampling.NotSampled}, "")
	}
	row("blocked", b.blocked(), "times")
	for _, r := range b.off {
		row("  "+r.reason, r.share, "times")
	}
	row("scheduling delay", b.delay(), "times")
	row("  runnable", b.runnable, "times")
	row("  preempted", b.preempt, "times")
	row("waits for work", b.idle, "times")
	if b.unknown.ns > 0 {
		row("unknown", b.unknown, "")
	}
	if b.leftOut > 0 {
		row("off for less than "+shortDuration(minBlock), share{ns: b.leftOut}, "")
	}
	row("total", share{ns: b.total()}, "")
}

// writeSampling writes how well the stacks of on-CPU time are known, and what to do about it.
func (b *breakdown) writeSampling(w io.Writer, a *profile.About) {
	q := &b.sampling
	if b.onCPU.ns == 0 || len(a.Sources) == 0 {
		return
	}
	var facts []string
	if e := q.StandardError(); e > 0 {
		facts = append(facts, fmt.Sprintf("A function's share of the on-CPU time in the flame graph has a standard error of up to %.1f percentage points.", 100*e))
	}
	if q.Borrowed > 0 {
		facts = append(facts, fmt.Sprintf("%.1f%% of the on-CPU time is of threads without samples, and has the stacks of other threads of the same name.",
			100*part(q.Borrowed, q.OnCPU)))
	}
	if q.NotSampled > 0 {
		facts = append(facts, fmt.Sprintf("%.1f%% of the on-CPU time has no sample, so where in the code it was spent is unknown.", 100*part(q.NotSampled, q.OnCPU)))
	}
	if !a.Spread {
		facts = append(facts, "With --spread span only on-CPU intervals with a sample have stacks, and the longer ones are overestimated.")
	}
	if q.StandardError() >= manyPoints || q.NotSampled > 0 {
		facts = append(facts, "To know it better, sample more often (wprof-wallclock -f, wprof-record -Stimer=999hz) or record for longer.")
	}
	fmt.Fprintln(w)
	wrapped(w, "", strings.Join(facts, " "))
}

// manyPoints is the standard error from which on an analysis advises to take more samples.
const manyPoints = 0.02

// howOften formats a count: 3 times, once.
func howOften(n uint64, unit string) string {
	switch {
	case n != 1:
		return fmt.Sprintf("%d %s", n, unit)
	case unit == "times":
		return "once"
	}
	return "1 " + strings.TrimSuffix(unit, "s")
}

// explainCoverage writes the coverage, its interpretation, and how it is calculated.
func (b *breakdown) explainCoverage(w io.Writer, window int64, a *profile.About) {
	fmt.Fprintln(w)
	b.writeReading(w, window, a)
	fmt.Fprintln(w)
	wrapped(w, "", "Coverage is (on-CPU + blocked + scheduling delay) / window. Waits for work, unknown time and off-CPU intervals "+
		"that were left out as too short are not in it: with them every thread's time adds up to its lifetime, whatever it did.")
}

// WriteCoverage writes the coverage of a view's threads and its interpretation.
func WriteCoverage(w io.Writer, p *profile.Profile, v graph.View) {
	b := breakDown(p, &v)
	b.writeReading(w, windowOf(p, &v), &p.About)
}

// writeReading writes the coverage and its interpretation.
func (b *breakdown) writeReading(w io.Writer, window int64, a *profile.About) {
	line(w, "coverage", fmt.Sprintf("%.1f%% of the window (100%%: one thread always at work)", 100*b.coverage(window)))
	line(w, "reading", b.reading(window, a))
}

// writeCost writes what the recording itself cost.
func writeCost(w io.Writer, p *profile.Profile) {
	c := &p.About.Recorder
	fmt.Fprint(w, "\nCost of the recording\n\n")
	cpu := seconds(c.CPU)
	if p.About.Window >= int64(time.Second) { // the recorder's start alone takes longer than a very short window
		cpu += fmt.Sprintf(", %.1f%% of one CPU over the window", 100*part(c.CPU, p.About.Window))
	}
	line(w, "recorder CPU", cpu)
	line(w, "recorder memory", fmt.Sprintf("%.1f MB at its peak", float64(c.Memory)/1e6))
	fmt.Fprintln(w)
	wrapped(w, "", "The recorder's CPU time includes its start, and sorting events and looking up function names after the window. The time of its "+
		"kernel programs, about a microsecond a switch and a few a stack, is part of the recorded threads' own time.")
}

// line writes a "key: value" line; a long value continues on the next lines.
func line(w io.Writer, key, value string) {
	wrapped(w, fmt.Sprintf("%-23s", key+":"), value)
}

// wrapped writes text in lines of 80 columns after a head; further lines are indented by its width.
func wrapped(w io.Writer, head, text string) {
	const columns = 80
	at := head
	for _, word := range strings.Fields(text) {
		if len(at) > len(head) && len([]rune(at))+1+len([]rune(word)) > columns {
			fmt.Fprintln(w, at)
			at = strings.Repeat(" ", len(head))
		}
		if len(at) > len(head) {
			at += " "
		}
		at += word
	}
	fmt.Fprintln(w, strings.TrimRight(at, " "))
}

// listed joins two texts by a comma; either may be empty.
func listed(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + ", " + b
}

// seconds formats a time to the microsecond.
func seconds(ns int64) string { return fmt.Sprintf("%.6f s", float64(ns)/1e9) }

// shortDuration formats a threshold, such as 1ms.
func shortDuration(ns int64) string { return time.Duration(ns).String() }
