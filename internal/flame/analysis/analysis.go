package analysis

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/report"
)

// Maximum number of stacks that an analysis lists.
const (
	topStacks = 10 // of blocked threads
	topWaits  = 3  // of threads that waited for work
)

// Write writes about a view's threads ([graph.View].Only, From, To, Inline and Lines; other fields are ignored): how it was recorded, how much of
// the window their time at work covers, their report, how well on-CPU time is sampled, in which stacks they were blocked longest, and what
// the recording itself cost. r is their report; nil: there is none.
// Lines of the form "key: value" are for grep(1): keys do not change between versions. Times are seconds.
func Write(w io.Writer, p *profile.Profile, v graph.View, r *report.Report) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "Wall-clock analysis\n\n")
	line(out, "of", subjectOf(p, &v))
	if r == nil {
		writeAbout(out, p)
		fmt.Fprint(out, "\nNo report: there is one of each of the first threads only, and none of the idle threads of CPUs\n")
	} else {
		line(out, "threads", fmt.Sprint(r.Threads))
		writeAbout(out, p)
		WriteCoverage(out, r)
		r.PrintLists(out)
	}
	writeSampling(out, p, &v)
	writeTop(out, p, "Top %d blocking stacks", profile.ClassBlocked, topStacks, &v)
	writeTop(out, p, "Top %d waits for work", profile.ClassIdle, topWaits, &v)
	writeCost(out, p)
	return out.Flush()
}

// writeAbout describes the recording.
func writeAbout(w io.Writer, p *profile.Profile) {
	a := &p.About
	line(w, "host", listed(a.Host, a.Kernel))
	if !a.Start.IsZero() {
		line(w, "recorded", a.Start.UTC().Format(time.DateTime)+" UTC")
	}
	line(w, "window", report.Exact(a.Window))
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
		line(w, "cut stacks", fmt.Sprintf("%.1f%% of stacks lack their outer functions", 100*report.Share(a.CutStacks, a.UserStacks)))
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

// writeSampling writes how well the stacks of on-CPU time are known, and what to do about it.
func writeSampling(w io.Writer, p *profile.Profile, v *graph.View) {
	q, a := v.Sampling(p), &p.About
	if q.OnCPU == 0 || len(a.Sources) == 0 {
		return
	}
	fmt.Fprint(w, "\nSampling\n\n")
	share := func(key string, ns int64, means string) {
		if ns > 0 {
			line(w, key, fmt.Sprintf("%s, %.1f%% of the on-CPU time: %s", report.Exact(ns), 100*report.Share(ns, q.OnCPU), means))
		}
	}
	share("from other threads", q.Borrowed, "threads without samples, which have the stacks of other threads of the same name")
	share("not sampled", q.NotSampled, "where in the code it was spent is unknown")
	var facts []string
	if e := q.StandardError(); e > 0 {
		facts = append(facts, fmt.Sprintf("A function's share of the on-CPU time in the flame graph has a standard error of up to %.1f percentage points.", 100*e))
	}
	if !a.Spread {
		facts = append(facts, "With --spread span only on-CPU intervals with a sample have stacks, and the longer ones are overestimated.")
	}
	if q.StandardError() >= manyPoints || q.NotSampled > 0 {
		facts = append(facts, "To know it better, sample more often (wprof-wallclock -f, wprof-record -Stimer=999hz) or record for longer.")
	}
	report.Paragraph(w, "", strings.Join(facts, " "))
}

// manyPoints is the standard error from which on an analysis advises to take more samples.
const manyPoints = 0.02

// writeCost writes what the recording itself cost.
func writeCost(w io.Writer, p *profile.Profile) {
	c := &p.About.Recorder
	fmt.Fprint(w, "\nCost of the recording\n\n")
	cpu := report.Exact(c.CPU)
	if p.About.Window >= int64(time.Second) { // the recorder's start alone takes longer than a very short window
		cpu += fmt.Sprintf(", %.1f%% of one CPU over the window", 100*report.Share(c.CPU, p.About.Window))
	}
	line(w, "recorder CPU", cpu)
	line(w, "recorder memory", fmt.Sprintf("%.1f MB at its peak", float64(c.Memory)/1e6))
	fmt.Fprintln(w)
	report.Paragraph(w, "", "The recorder's CPU time includes its start, and sorting events and looking up function names after the window. The time of its "+
		"kernel programs, about a microsecond a switch and a few a stack, is part of the recorded threads' own time.")
}

// line writes a "key: value" line; a long value continues on the next lines.
func line(w io.Writer, key, value string) { report.Paragraph(w, fmt.Sprintf("%-23s", key+":"), value) }

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
