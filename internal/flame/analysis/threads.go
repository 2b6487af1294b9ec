package analysis

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/report"
	"wprof/internal/timeline"
)

// Reports has the reports about threads; a [report.Collector] does.
type Reports interface {
	Report() *report.Report                   // of all
	ThreadReport(timeline.Key) *report.Report // of one; nil: there is none
}

// KeyOf identifies a thread of a profile in Reports.
func KeyOf(t *profile.Thread) timeline.Key { return timeline.Key{TID: t.TID, Start: t.Start} }

// WriteThreads writes a table of the threads of a view: the lifetime of each in the window, the times by what it did, and its
// coverage, those that were at work longest first: on the CPU, runnable, or blocked but for waits for work. The last row is for all
// together. Times are seconds.
func WriteThreads(w io.Writer, p *profile.Profile, v graph.View, of Reports) error {
	out := bufio.NewWriter(w)
	all := of.Report()
	fmt.Fprint(out, "Wall-clock analysis by thread\n\n")
	line(out, "of", subjectOf(p, &v))
	line(out, "threads", fmt.Sprint(all.Threads))
	writeAbout(out, p)
	WriteCoverage(out, all)
	rows, width := threadRows(p, &v, of)
	fmt.Fprintf(out, "\n%7s %-*s %9s %9s %9s %9s %9s %6s\n", "tid", width, "role", "lifetime", "on-CPU", "blocked", "delay", "idle", "cover")
	for i := range rows {
		rows[i].write(out, width)
	}
	(&threadRow{Report: all, tid: "all"}).write(out, width)
	writeCost(out, p)
	return out.Flush()
}

// countProcesses returns the number of processes of a view.
func countProcesses(p *profile.Profile, v *graph.View) int {
	pids := make(map[int32]bool)
	for t := range v.Threads(p) {
		pids[t.PID] = true
	}
	return len(pids)
}

// threadRow is a row of the table of threads.
type threadRow struct {
	*report.Report
	tid, role string
}

// leastRole is the least width of the column of roles.
const leastRole = 15

// threadRows returns the rows of a view's threads in their order in the table, and the width of the column of roles.
func threadRows(p *profile.Profile, v *graph.View, of Reports) (rows []threadRow, width int) {
	width = leastRole
	several := countProcesses(p, v) > 1
	for t := range v.Threads(p) {
		row := threadRow{of.ThreadReport(KeyOf(t)), fmt.Sprint(t.TID), p.RoleName(t)}
		if row.Report == nil {
			continue
		}
		if several {
			row.role = p.Labels[t.Label].Process + ":" + row.role
		}
		width = max(width, utf8.RuneCountInString(row.role))
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b threadRow) int { return cmp.Compare(covered(b.Report), covered(a.Report)) })
	return rows, width
}

func (r *threadRow) write(w io.Writer, width int) {
	s := func(class string) float64 { return float64(r.Sum(class).Ns) / 1e9 }
	fmt.Fprintf(w, "%7s %-*s %9.3f %9.3f %9.3f %9.3f %9.3f %5.1f%%\n", r.tid, width, r.role,
		float64(r.TotalNs)/1e9, s(report.OnCPU), s(report.Blocked), s(report.Delayed), s(report.Idle), 100*coverage(r.Report, r.WindowNs))
}
