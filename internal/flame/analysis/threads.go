package analysis

import (
	"bufio"
	"fmt"
	"io"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// WriteThreads writes a table of the threads of a view: the lifetime of each in the window, the times by what it did, and its
// coverage. The last row is for all together. Times are seconds.
func WriteThreads(w io.Writer, p *profile.Profile, v graph.View) error {
	out := bufio.NewWriter(w)
	all := breakDown(p, &v)
	window := windowOf(p, &v)
	fmt.Fprint(out, "Wall-clock analysis by thread\n\n")
	line(out, "of", subjectOf(p, &v))
	line(out, "threads", fmt.Sprint(all.threads))
	writeAbout(out, p, window)
	fmt.Fprintf(out, "\n%7s %-15s %9s %9s %9s %9s %9s %6s\n", "tid", "role", "lifetime", "on-CPU", "blocked", "delay", "idle", "cover")
	several := countProcesses(p, &v) > 1
	for t := range v.Threads(p) {
		role := p.RoleName(t)
		if several {
			role = p.Labels[t.Label].Process + ":" + role
		}
		var b breakdown
		b.add(p, t, &v)
		b.writeRow(out, fmt.Sprint(t.TID), role, window)
	}
	all.writeRow(out, "all", "", window)
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

func (b *breakdown) writeRow(w io.Writer, tid, role string, window int64) {
	s := func(ns int64) float64 { return float64(ns) / 1e9 }
	fmt.Fprintf(w, "%7s %-15s %9.3f %9.3f %9.3f %9.3f %9.3f %5.1f%%\n", tid, role,
		s(b.lifetime), s(b.onCPU.ns), s(b.blocked().ns), s(b.delay().ns), s(b.idle.ns), 100*b.coverage(window))
}
