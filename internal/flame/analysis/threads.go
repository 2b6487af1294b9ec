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
)

// WriteThreads writes a table of the threads of a view: the lifetime of each in the window, the times by what it did, and its
// coverage, those that were at work longest first: on the CPU, runnable, or blocked but for waits for work. The last row is for all
// together. Times are seconds.
func WriteThreads(w io.Writer, p *profile.Profile, v graph.View) error {
	out := bufio.NewWriter(w)
	all := breakDown(p, &v)
	window := windowOf(p, &v)
	fmt.Fprint(out, "Wall-clock analysis by thread\n\n")
	line(out, "of", subjectOf(p, &v))
	line(out, "threads", fmt.Sprint(all.threads))
	writeAbout(out, p, window)
	rows, width := threadRows(p, &v)
	fmt.Fprintf(out, "\n%7s %-*s %9s %9s %9s %9s %9s %6s\n", "tid", width, "role", "lifetime", "on-CPU", "blocked", "delay", "idle", "cover")
	for i := range rows {
		rows[i].write(out, width, window)
	}
	(&threadRow{breakdown: all, tid: "all"}).write(out, width, window)
	if missing := all.unknown.ns + all.leftOut; missing > 0 {
		fmt.Fprintln(out)
		wrapped(out, "", fmt.Sprintf("%s of the lifetimes are in no column: unknown time, and off-CPU intervals that were left out as too short.", seconds(missing)))
	}
	all.explainCoverage(out, window, &p.About)
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
	breakdown
	tid, role string
}

// leastRole is the least width of the column of roles.
const leastRole = 15

// threadRows returns the rows of a view's threads in their order in the table, and the width of the column of roles.
func threadRows(p *profile.Profile, v *graph.View) (rows []threadRow, width int) {
	width = leastRole
	several := countProcesses(p, v) > 1
	for t := range v.Threads(p) {
		row := threadRow{tid: fmt.Sprint(t.TID), role: p.RoleName(t)}
		if several {
			row.role = p.Labels[t.Label].Process + ":" + row.role
		}
		row.add(p, t, v)
		width = max(width, utf8.RuneCountInString(row.role))
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b threadRow) int { return cmp.Compare(b.covered(), a.covered()) })
	return rows, width
}

func (r *threadRow) write(w io.Writer, width int, window int64) {
	s := func(ns int64) float64 { return float64(ns) / 1e9 }
	fmt.Fprintf(w, "%7s %-*s %9.3f %9.3f %9.3f %9.3f %9.3f %5.1f%%\n", r.tid, width, r.role,
		s(r.lifetime), s(r.onCPU.ns), s(r.blocked().ns), s(r.delay().ns), s(r.idle.ns), 100*r.coverage(window))
}
