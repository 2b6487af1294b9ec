package info

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/cmdline"
	"wprof/internal/printable"
	"wprof/internal/topology"
)

// listed is the maximum number of rows of a list; the others are only counted.
const listed = 10

// Print writes a summary for people.
func (s *Summary) Print(w io.Writer, source string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s\n", printable.Text(source), size(s.Bytes))
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
	r.printThreads(w)
	r.printCounts(w)
	r.printSampled(w)
	r.printWaits(w)
	r.printLosses(w)
	r.printCost(w)
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
	t := topology.Of(s)
	if t.CPUs > 0 {
		where = append(where, cpus(&t))
	}
	fmt.Fprintln(w)
	if len(where) > 0 {
		fact(w, "host", "%s", strings.Join(where, ", "))
	}
	if t.Cores > 0 {
		fact(w, "CPUs", "%s", cores(&t))
	}
	fact(w, "recorded", "%s", r.when())
	r.printSchedule(w)
	printSnapshot(w, s)
	r.printJumps(w)
	if len(s.Command) > 0 {
		factWords(w, "command", cmdline.Quoted(s.Command), ` \`)
	}
	for _, line := range s.History {
		fact(w, "then", "%s", name(line))
	}
	if from, to := r.kept(); r.isRange() {
		stretches := ""
		if n := r.stretches(); n > 1 {
			stretches = fmt.Sprintf("%s stretches, %s of %s, ", cli.Grouped(n), seconds(r.length()), seconds(r.window()))
		}
		fact(w, "kept", "%sfrom %s to %s after the opening", stretches, seconds(from-s.Open), seconds(to-s.Open))
	}
	for _, m := range s.Metadata {
		fact(w, "metadata", "%s=%s", name(m.Key), name(m.Value))
	}
	if epochs := r.Epochs - len(r.Stretches) + 1; epochs > 1 {
		fact(w, "epochs", "%s", cli.Grouped(epochs))
	}
	if len(s.Sources) > 0 {
		fact(w, "sources", "%s", sources(s.Sources))
	}
}

// printSnapshot prints what a snapshot was taken for, and when.
func printSnapshot(w io.Writer, s *format.Session) {
	var reason, at string
	for _, c := range s.Config {
		switch c.Key {
		case "snapshot":
			reason = name(c.Value)
		case "snapshot-at":
			at = " at " + name(c.Value)
		}
	}
	if reason != "" {
		fact(w, "snapshot", "%s%s", reason, at)
	}
}

// printSchedule prints when the recording was to be prepared and to begin, if its user said so.
func (r *Recording) printSchedule(w io.Writer) {
	s := r.Session
	if s.Prepare != "" {
		fact(w, "prepared", "--prepare %s", name(s.Prepare))
	}
	if s.Activate == "" {
		return
	}
	text := "--activate " + name(s.Activate)
	if s.Requested != 0 {
		if at := format.WallTime(r.Clocks, s.Requested); !at.IsZero() {
			text += ", which was " + at.Round(time.Microsecond).Format("2006-01-02 15:04:05.000000 UTC")
		}
		if late := time.Duration(format.Sum(s.Open, -s.Requested)); late != 0 {
			text += fmt.Sprintf("; the window opened %s later", late)
		}
	}
	fact(w, "activated", "%s", text)
}

func sources(all []*format.Source) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = name(s.Name) + " " + rate(s.Period)
	}
	return strings.Join(texts, ", ")
}

// rate returns the frequency for a period in nanoseconds.
func rate(period int64) string {
	switch {
	case period <= 0:
		return "at an unknown rate"
	case period > 1e9:
		return "every " + seconds(period)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", 1e9/float64(period)), "0"), ".") + " Hz"
}

// when returns the wall-clock time of the opening, in UTC as all tools give it, and the length of the window.
func (r *Recording) when() string {
	length := "for an unknown time"
	if d := r.window(); d > 0 {
		length = "for " + seconds(d)
	}
	start := r.start()
	if start.IsZero() {
		return length
	}
	return start.Round(time.Millisecond).Format("2006-01-02 15:04:05.000 UTC") + ", " + length
}

// start returns the wall-clock time of the opening, UTC; zero: not known.
func (r *Recording) start() time.Time { return format.WallTime(r.Clocks, r.Session.Open) }

// window returns the length of the window; 0: not known.
func (r *Recording) window() int64 { return max(0, r.Close-r.Session.Open) }

// isRange reports whether a filter kept a time range.
func (r *Recording) isRange() bool { return r.Session.RangeStart != 0 || r.Session.RangeEnd != 0 }

// kept returns the part of the window that the capture holds.
func (r *Recording) kept() (from, to int64) {
	from, to = r.Session.Open, r.Close
	if r.Session.RangeStart != 0 {
		from = r.Session.RangeStart
	}
	if r.Session.RangeEnd != 0 {
		to = r.Session.RangeEnd
	}
	if n := len(r.Stretches); n > 1 {
		to = r.Stretches[n-1].To
	}
	return from, to
}

// stretches returns how many parts of the window the capture holds, with gaps between them.
func (r *Recording) stretches() (n int) {
	for _, s := range r.Stretches {
		if s.To > s.From {
			n++
		}
	}
	return max(1, n)
}

// length returns the length of the part of the window that the capture holds; 0: not known.
func (r *Recording) length() (sum int64) {
	if len(r.Stretches) > 1 {
		for _, s := range r.Stretches {
			sum = format.Sum(sum, max(0, s.To-s.From))
		}
		return sum
	}
	from, to := r.kept()
	from = max(from, r.Session.Open)
	if r.Close > 0 {
		to = min(to, r.Close)
	}
	return max(0, to-from)
}

func (r *Recording) printEvents(w io.Writer) {
	fact(w, "events", "%s%s", cli.Grouped(r.Events), r.rate(r.Events))
	var rows [][]string
	for _, k := range r.Kinds {
		share := percent(float64(k.Events), float64(r.Events))
		rows = append(rows, []string{cli.Grouped(k.Events), share, perSecond(k.Events, r.length()), size(k.Bytes), kindName(k.Kind)})
	}
	table(w, rows)
	r.printTypes(w)
	if r.Raw > 0 && r.Events > 0 {
		fact(w, "stored", "%s of %s, %.1f bytes an event", size(r.Stored), size(r.Raw), float64(r.Stored)/float64(r.Events))
	}
	besides := ""
	if len(r.Types) > 0 {
		besides = " besides texts and event types"
	}
	fact(w, "defined", "%s%s", cli.Counted(r.Defined, "definition"), besides)
	if r.Late > 0 {
		fact(w, "late", "%s", cli.Counted(r.Late, "event"))
	}
}

// printTypes lists the events of kind typed by their types.
func (r *Recording) printTypes(w io.Writer) {
	if len(r.Types) == 0 {
		return
	}
	only := ""
	if len(r.Types) == format.MaxTypeCounts {
		only = ", the most frequent ones"
	}
	fact(w, "types", "%s of events%s", cli.Counted(uint64(len(r.Types)), "type"), only)
	var rows [][]string
	for _, t := range r.Types[:min(listed, len(r.Types))] {
		what := name(t.Name)
		if len(t.Group) > 0 {
			what += " of " + name(t.Group)
		}
		rows = append(rows, []string{cli.Grouped(t.Events), perSecond(t.Events, r.length()), what})
	}
	table(w, rows)
	printMore(w, len(r.Types)-listed)
}

func (r *Recording) rate(n uint64) string {
	if r.length() == 0 {
		return ""
	}
	return ", " + perSecond(n, r.length())
}

func perSecond(n uint64, length int64) string {
	if length == 0 {
		return "-"
	}
	return cli.Grouped(int64(math.Round(float64(n)/(float64(length)/1e9)))) + "/s"
}

func kindName(kind uint32) string {
	if kind <= math.MaxUint8 {
		return format.Kind(kind).String()
	}
	return "kind" + strconv.FormatUint(uint64(kind), 10)
}

func (r *Recording) printProcesses(w io.Writer) {
	if len(r.Processes) == 0 {
		return
	}
	when := "window"
	if r.isRange() {
		when = "kept range"
	}
	fact(w, "CPU time", "%s on CPU in the %s", cli.Counted(uint64(len(r.Processes)+r.Others), "process"), when)
	var rows [][]string
	for _, p := range r.Processes[:min(listed, len(r.Processes))] {
		called := name(r.labels.of(p))
		if _, place := r.labels.cgroupOf(p); place.ID != "" {
			called += " (" + name(place.Label()) + ")"
		}
		rows = append(rows, []string{seconds(p.Ns), percent(float64(p.Ns), float64(r.length())), processID(p), called})
	}
	table(w, rows)
	printMore(w, len(r.Processes)+r.Others-listed)
	r.printContainers(w)
}

// printContainers lists the containers with most CPU time of their processes.
func (r *Recording) printContainers(w io.Writer) {
	all := r.containers()
	if len(all) == 0 {
		return
	}
	fact(w, "containers", "%s on CPU", cli.Counted(uint64(len(all)), "container"))
	var rows [][]string
	for _, c := range all[:min(listed, len(all))] {
		row := []string{seconds(c.ns), percent(float64(c.ns), float64(r.length())), name(c.place.Label()), ""}
		switch {
		case c.place.Pod != "":
			row[3] = "pod " + c.place.Pod
		case c.place.Unit != "":
			row[3] = name(c.place.Unit)
		}
		rows = append(rows, row)
	}
	table(w, rows)
	printMore(w, len(all)-listed)
}

// processID formats a process's id, and its id in its container.
func processID(p *format.ProcessTime) string {
	if p.NsPid != 0 {
		return fmt.Sprintf("pid %d (%d in its namespace)", p.Pid, p.NsPid)
	}
	return fmt.Sprintf("pid %d", p.Pid)
}

// lost returns the number of events that are known to be lost.
func (r *Recording) lost() uint64 { return r.sumLosses((*format.Loss).IsFault) }

// leftOut returns the number of events that limits left out.
func (r *Recording) leftOut() uint64 {
	return r.sumLosses(func(l *format.Loss) bool { return !l.IsFault() })
}

func (r *Recording) sumLosses(which func(*format.Loss) bool) (total uint64) {
	for _, l := range r.Losses {
		if which(l) {
			total = format.Sum(total, l.Count)
		}
	}
	return total
}

// lossy reports whether events are missing that were to be recorded.
func (r *Recording) lossy() bool { return slices.ContainsFunc(r.Losses, (*format.Loss).IsFault) }

func (r *Recording) printLosses(w io.Writer) {
	total := r.lost()
	switch {
	case total == 0 && r.lossy():
		fact(w, "lost", "an unknown number of events")
	case total > 0:
		fact(w, "lost", "%s", cli.Counted(total, "event"))
	case r.Cut:
		fact(w, "lost", "not known: the end of the recording is missing")
		return
	default:
		fact(w, "lost", "nothing")
	}
	if left := r.leftOut(); left > 0 {
		fact(w, "left out", "%s, by limits", cli.Counted(left, "event"))
	}
	var rows [][]string
	for _, l := range r.Losses[:min(listed, len(r.Losses))] {
		where := "all CPUs"
		if l.Cpu != format.AllCPUs {
			where = fmt.Sprintf("cpu%d", l.Cpu)
		}
		lost := cli.Grouped(l.Count)
		if l.Count == 0 {
			lost = "?"
		}
		rows = append(rows, []string{lost, where, lossName(l), causeName(l.Cause)})
	}
	table(w, rows)
	printMore(w, len(r.Losses)-listed)
}

// lossName names the missing events: by their type if it is known.
func lossName(l *format.Loss) string {
	if len(l.Type) > 0 {
		return printable.Text(string(l.Type))
	}
	return kindName(l.Kind)
}

func causeName(cause uint32) string {
	if cause <= math.MaxUint8 {
		return format.Cause(cause).String()
	}
	return "cause " + strconv.FormatUint(uint64(cause), 10)
}

func (r *Recording) printCost(w io.Writer) {
	c := r.Cost
	switch {
	case c == nil:
		return
	case isCostUnknown(c):
		fact(w, "recorder", "its cost is not known: it was killed")
		return
	}
	factWords(w, "recorder", []string{
		fmt.Sprintf("%s of CPU (%s user, %s system),", seconds(c.UserNs+c.SystemNs), seconds(c.UserNs), seconds(c.SystemNs)),
		"peak memory " + size(c.PeakRss) + ",", "rings " + size(c.RingBytes) + ",", "spool " + size(c.SpoolBytes),
	}, "")
	var rows [][]string
	for _, p := range c.Programs {
		each := "-"
		if p.Runs > 0 {
			each = fmt.Sprintf("%.0f ns", float64(p.Ns)/float64(p.Runs))
		}
		rows = append(rows, []string{cli.Grouped(p.Runs) + " runs", each + " each", cli.Grouped(p.RecursionMisses) + " skipped", name(p.Name)})
	}
	table(w, rows)
	if all := c.FramesByTable + c.FramesByPointer; all > 0 {
		fact(w, "unwound", "%s of %s by tables, the others by frame pointer", share(c.FramesByTable, all), cli.Counted(all, "user frame"))
	}
}
