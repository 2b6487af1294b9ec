package tracks

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Where runs are joined: short ones of a thread that follow each other closely on the same CPU are one slice. A slice of joined runs
// is bounded, so that it shows where a thread was busy. The times off the CPU between them are shorter than those that timelines draw
// without a stack.
const (
	shortRunNs   = int64(1e6)
	shortGapNs   = int64(1e6)
	joinedRunsNs = int64(10e6)
)

// joinedRuns is a slice of a running thread that may grow.
type joinedRuns struct {
	slice Slice
	span  timeline.Span // of slice

	counts []format.Count
}

// addCounts adds counts to those of runs before: what is not known of one run is not known of all.
func addCounts(to, more []format.Count) []format.Count {
	to = to[:min(len(to), len(more))]
	for i := range to {
		to[i].Number = format.Sum(to[i].Number, more[i].Number)
		to[i].Known = to[i].Known && more[i].Known
		to[i].Scaled = to[i].Scaled || more[i].Scaled
	}
	return to
}

// takes reports whether the next run of the thread belongs to the slice. Between the two nothing is lost or hidden.
func (j *joinedRuns) takes(s *Slice) bool {
	return s.CPU == j.span.CPU && s.Task == j.slice.Task && !s.Open && s.Arrow.ID == 0 && s.Waking.ID == 0 &&
		s.Off.Known && s.Off.Since == j.span.To && s.From-j.span.To < shortGapNs && s.To-s.From < shortRunNs && s.To-j.span.From < joinedRunsNs
}

// add adds a run.
func (j *joinedRuns) add(s *Slice) {
	if j.slice.Runs == 0 {
		j.slice.Runs, j.slice.RanNs = 1, j.span.To-j.span.From
	}
	j.slice.Runs++
	j.slice.RanNs += s.To - s.From
	j.slice.Counts = addCounts(j.slice.Counts, s.Counts)
	if s.Off.Woken != 0 {
		j.slice.LongestDelayNs = max(j.slice.LongestDelayNs, s.DelayNs())
	}
	j.span.To, j.span.Next, j.span.Left = s.To, s.Next, s.Left
}

// ran draws a time on the CPU, or keeps it until it is known whether the next one is joined to it.
func (d *Drawer) ran(l *threadState) {
	s := &d.slice
	if !d.options.JoinRuns {
		d.enc.Slice(s)
		return
	}
	if j := l.runs; j != nil {
		if j.takes(s) {
			j.add(s)
			return
		}
		d.drawRuns(l)
	}
	if s.Open || s.To-s.From >= shortRunNs {
		d.enc.Slice(s)
		return
	}
	j := d.newJoinedRuns()
	j.slice, j.span = *s, *s.Span
	j.slice.Span, j.span.Counts = &j.span, nil
	j.counts = append(j.counts[:0], s.Counts...)
	j.slice.Counts = j.counts
	if s.Off.Woken != 0 {
		j.slice.LongestDelayNs = s.DelayNs()
	}
	l.runs = j
	if !l.isListed {
		l.isListed = true
		d.joining = append(d.joining, l)
	}
}

// newJoinedRuns returns memory for a slice, of one that has been drawn if there is any.
func (d *Drawer) newJoinedRuns() *joinedRuns {
	n := len(d.spare)
	if n == 0 {
		return new(joinedRuns)
	}
	j := d.spare[n-1]
	d.spare = d.spare[:n-1]
	return j
}

// drawRuns draws the runs of a thread that were kept.
func (d *Drawer) drawRuns(l *threadState) {
	j := l.runs
	if j == nil {
		return
	}
	l.runs = nil
	d.enc.Slice(&j.slice)
	d.spare = append(d.spare, j)
}

// drawOldRuns draws what no run at or after a time can be joined to any more. A thread that has ended is in the list too.
func (d *Drawer) drawOldRuns(now int64) {
	d.nextOldRuns = now + shortGapNs + shortRunNs
	kept := d.joining[:0]
	for _, l := range d.joining {
		if l.runs != nil && now-l.runs.span.To < shortGapNs+shortRunNs {
			kept = append(kept, l)
			continue
		}
		d.drawRuns(l)
		l.isListed = false
	}
	clear(d.joining[len(kept):])
	d.joining = kept
}

// drawAllRuns draws all runs that were kept.
func (d *Drawer) drawAllRuns() {
	for _, l := range d.joining {
		d.drawRuns(l)
		l.isListed = false
	}
	clear(d.joining)
	d.joining = d.joining[:0]
}
