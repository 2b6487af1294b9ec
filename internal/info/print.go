package info

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"wprof/format"
)

// listed is how many lines a list has before the rest is only counted.
const listed = 10

// Print writes a summary for people.
func (s *Summary) Print(w io.Writer, source string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s\n", source, size(s.Bytes))
	for i := range s.Recordings {
		s.Recordings[i].print(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func (r *Recording) print(w io.Writer) {
	r.printSession(w)
	r.printEvents(w)
	r.printProcesses(w)
	r.printLosses(w)
	r.printCost(w)
}

// fact writes one line: what it is about in the first column.
func fact(w io.Writer, what, format string, a ...any) {
	fmt.Fprintf(w, "%-11s %s\n", what, fmt.Sprintf(format, a...))
}

func (r *Recording) printSession(w io.Writer) {
	s := r.Session
	var where []string
	if s.Host != "" {
		where = append(where, name(s.Host))
	}
	if s.KernelRelease != "" {
		where = append(where, strings.TrimRight("Linux "+name(s.KernelRelease)+" "+strings.Trim(name(s.Machine), `"`), " "))
	}
	if n := len(s.Cpus); n > 0 {
		where = append(where, cpus(s.Cpus))
	}
	fmt.Fprintln(w)
	if len(where) > 0 {
		fact(w, "host", "%s", strings.Join(where, ", "))
	}
	fact(w, "recorded", "%s", r.when())
	if len(s.Command) > 0 {
		fact(w, "command", "%s", commandLine(s.Command))
	}
	for _, line := range s.History {
		fact(w, "then", "%s", name(line))
	}
	if s.RangeStart != 0 || s.RangeEnd != 0 {
		from, to := s.Open, r.Close
		if s.RangeStart != 0 {
			from = s.RangeStart
		}
		if s.RangeEnd != 0 {
			to = s.RangeEnd
		}
		fact(w, "kept", "from %s to %s after the opening", seconds(from-s.Open), seconds(to-s.Open))
	}
	for _, m := range s.Metadata {
		fact(w, "metadata", "%s=%s", name(m.Key), name(m.Value))
	}
	if r.Epochs > 1 {
		fact(w, "epochs", "%s", count(r.Epochs))
	}
}

func cpus(all []*format.Cpu) string {
	offline, nodes := 0, map[int32]bool{}
	for _, c := range all {
		nodes[c.Node] = true
		if c.Offline {
			offline++
		}
	}
	text := count(len(all)) + " CPUs"
	if len(all) == 1 {
		text = "1 CPU"
	}
	if len(nodes) > 1 {
		text += " in " + count(len(nodes)) + " NUMA nodes"
	}
	if offline > 0 {
		text += " (" + count(offline) + " offline)"
	}
	return text
}

// when is the wall-clock time of the opening, by the clock snapshot nearest to it, and how long the window was open.
func (r *Recording) when() string {
	length := "for a time that is not known"
	if d := r.window(); d > 0 {
		length = "for " + seconds(d)
	}
	var best *format.ClockSnapshot
	for _, c := range r.Clocks {
		if c.Realtime != 0 && (best == nil || distance(c.Monotonic, r.Session.Open) < distance(best.Monotonic, r.Session.Open)) {
			best = c
		}
	}
	if best == nil {
		return length
	}
	start := time.Unix(0, best.Realtime-best.Monotonic+r.Session.Open)
	return start.Format("2006-01-02 15:04:05.000 -0700") + ", " + length
}

func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// window is the length of the window; 0 if it is not known.
func (r *Recording) window() int64 { return max(0, r.Close-r.Session.Open) }

func (r *Recording) printEvents(w io.Writer) {
	fact(w, "events", "%s%s", count(r.Events), r.rate(r.Events))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, k := range r.Kinds {
		share := percent(float64(k.Events), float64(r.Events))
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t  %s\n", count(k.Events), share, perSecond(k.Events, r.window()), size(k.Bytes), kindName(k.Kind))
	}
	flush(t)
	if r.Raw > 0 && r.Events > 0 {
		fact(w, "stored", "%s of %s, %.1f bytes an event", size(r.Stored), size(r.Raw), float64(r.Stored)/float64(r.Events))
	}
	fact(w, "defined", "%s", plural(r.Defined, "definition"))
	if r.Late > 0 {
		fact(w, "late", "%s", plural(r.Late, "event"))
	}
}

// flush ends a table; the writer below keeps its own error.
func flush(t *tabwriter.Writer) { _ = t.Flush() }

func (r *Recording) rate(n uint64) string {
	if r.window() == 0 {
		return ""
	}
	return ", " + perSecond(n, r.window())
}

func perSecond(n uint64, window int64) string {
	if window == 0 {
		return "-"
	}
	return count(int64(math.Round(float64(n)/(float64(window)/1e9)))) + "/s"
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		what += "e"
	}
	return count(n) + " " + what + "s"
}

func kindName(kind uint32) string {
	if kind == 0 {
		return "any"
	}
	for _, k := range format.Kinds() {
		if uint32(k.Kind) == kind {
			return k.Name
		}
	}
	return "kind" + strconv.FormatUint(uint64(kind), 10)
}

func (r *Recording) printProcesses(w io.Writer) {
	if len(r.Processes) == 0 {
		return
	}
	fact(w, "CPU time", "%s on CPU in the window", plural(uint64(len(r.Processes)), "process"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, p := range r.Processes[:min(listed, len(r.Processes))] {
		fmt.Fprintf(t, "%s\t%s\tpid %d\t  %s\n", seconds(p.Ns), percent(float64(p.Ns), float64(r.window())), p.Pid, name(p.Comm))
	}
	flush(t)
	more(w, len(r.Processes)-listed)
}

func more(w io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(w, "  and %s more\n", count(n))
	}
}

func (r *Recording) printLosses(w io.Writer) {
	total := uint64(0)
	for _, l := range r.Losses {
		total += l.Count
	}
	if total == 0 && len(r.Losses) == 0 {
		fact(w, "lost", "nothing")
		return
	}
	fact(w, "lost", "%s", plural(total, "event"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, l := range r.Losses[:min(listed, len(r.Losses))] {
		where := "all CPUs"
		if l.Cpu != format.AllCPUs {
			where = fmt.Sprintf("cpu%d", l.Cpu)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t  %s\n", count(l.Count), where, kindName(l.Kind), causeName(l.Cause))
	}
	flush(t)
	more(w, len(r.Losses)-listed)
}

func causeName(cause uint32) string {
	if text, ok := format.Causes()[format.Cause(cause)]; ok && cause < 256 {
		return text
	}
	return "cause " + strconv.FormatUint(uint64(cause), 10)
}

func (r *Recording) printCost(w io.Writer) {
	c := r.Cost
	if c == nil {
		return
	}
	fact(w, "recorder", "%s of CPU (%s user, %s system), peak memory %s, rings %s, spool %s", seconds(c.UserNs+c.SystemNs),
		seconds(c.UserNs), seconds(c.SystemNs), size(c.PeakRss), size(c.RingBytes), size(c.SpoolBytes))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, p := range c.Programs {
		each := "-"
		if p.Runs > 0 {
			each = fmt.Sprintf("%.0f ns", float64(p.Ns)/float64(p.Runs))
		}
		fmt.Fprintf(t, "%s runs\t%s each\t%s skipped\t  %s\n", count(p.Runs), each, count(p.RecursionMisses), name(p.Name))
	}
	flush(t)
}
