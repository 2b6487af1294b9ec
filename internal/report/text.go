package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/printable"
	"wprof/internal/waits"
)

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if _, err := w.Write(printable.JSON(text.Bytes())); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer, source string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s, %s; %s, %s\n", printable.Text(source), short(r.WindowNs), cli.Counted(uint64(r.CPUs), "CPU"), cli.Counted(uint64(r.Processes), "process"), cli.Counted(uint64(r.Threads), "thread"))
	if r.LostData {
		fmt.Fprintln(out, "Events are missing; what they would have shown is \"not recorded\".")
	}
	r.PrintLists(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// PrintLists writes everything but the capture's name and size.
func (r *Report) PrintLists(w io.Writer) {
	r.printFindings(w)
	r.printTime(w)
	r.printFunctions(w)
	r.printWaits(w)
	r.printLocks(w)
	r.printDelays(w)
	r.printLongest(w)
}

func (r *Report) printFindings(w io.Writer) {
	fmt.Fprintln(w, "\nFindings (share of the time at work)")
	if len(r.Findings) == 0 {
		Paragraph(w, "  none: ", r.withoutFindings())
	}
	for _, f := range r.Findings {
		head, kind := strings.Repeat(" ", 10), f.Kind
		switch share := fmt.Sprintf("%.1f%%", 100*f.Weight); f.WeightOf {
		case ofWork:
			head = fmt.Sprintf("  %6s  ", share)
		case ofPackets:
			kind += ", " + share + " of packets"
		}
		Paragraph(w, head, kind+": "+f.Summary)
		fmt.Fprintf(w, "          $ %s\n", cli.AsTyped(f.Command))
	}
}

// muchUnknown is the part of the time at work from which on unknown waits are explained.
const muchUnknown = 0.1

// mostlyIdle is the share of idle time from which on a report without findings says where that was.
const mostlyIdle = 0.5

// withoutFindings says what a report shows that has none.
func (r *Report) withoutFindings() string {
	if r.Threads == 0 {
		return "no thread is selected, or none was recorded"
	}
	text := "the capture shows nothing that held threads up for a large part of the time"
	idle := r.Sum(Idle).Ns
	at := slices.IndexFunc(r.Waits, func(one Wait) bool { return one.ForWork })
	if Share(idle, r.TotalNs) < mostlyIdle || at < 0 {
		return text
	}
	most := &r.Waits[at]
	text += fmt.Sprintf(". Threads waited for %s of their lifetimes as for work, most of all %s in %s (%s)", percent(idle, r.TotalNs),
		processName(most.Process, most.PID), cmp.Or(most.Function, "a place without a stack"), strings.TrimSpace(most.Class+" "+most.Object))
	return text + ": if they should have worked meanwhile, begin there"
}

func (r *Report) printTime(w io.Writer) {
	fmt.Fprintf(w, "\n%-19s%20s  %11s  %9s  %12s\n", "Time", "", "of lifetime", "of window", "count")
	row := func(key string, ns int64, count string) {
		text := fmt.Sprintf("%-19s%20s  %10.1f%%  %8.1f%%  %12s", key+":", Exact(ns), 100*Share(ns, r.TotalNs), 100*Share(ns, r.WindowNs), count)
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
	for _, name := range [...]string{OnCPU, Interrupts, Blocked, Delayed, New, Idle, NotRecorded} {
		if sum := r.Sum(name); sum.Ns > 0 {
			row(name, sum.Ns, cli.Grouped(sum.Count))
		}
		if name == Interrupts {
			for _, one := range r.Interrupts[:min(maxListed, len(r.Interrupts))] {
				row("  "+one.Name, one.Ns, cli.Grouped(one.Count))
			}
		}
		for _, t := range r.ClassesOf(name) {
			row("  "+t.Class, t.Ns, cli.Grouped(t.Count))
		}
	}
	row("total", r.TotalNs, "")
	row("at work", r.WorkNs, "") // without idle, unknown and not recorded
	if unknown := r.Sum(waits.Unknown.String()).Ns; Share(unknown, r.WorkNs) >= muchUnknown {
		fmt.Fprintf(w, "What threads waited for is unknown where the wait was short: wprof-record --offcpu-min 0 records it for all.\n")
	}
}

func (r *Report) printFunctions(w io.Writer) {
	if len(r.Functions) == 0 {
		return
	}
	fmt.Fprintf(w, "\nFunctions on the CPU: self, total, function < callers (%s samples)\n", cli.Grouped(r.Samples))
	var rows [][]string
	for _, f := range r.Functions {
		text := f.Name
		for i, c := range f.Callers {
			before := ", "
			if i == 0 {
				before = " < "
			}
			text += fmt.Sprintf("%s%s %.0f%%", before, c.Name, 100*c.Share)
		}
		rows = append(rows, []string{fmt.Sprintf("%.1f%%", 100*f.Self), fmt.Sprintf("%.1f%%", 100*f.Total), text})
	}
	columns(w, rows)
}

func (r *Report) printWaits(w io.Writer) {
	if len(r.Waits) == 0 {
		return
	}
	fmt.Fprintln(w, "\nWaits: time, times, longest, what for, who, function < caller")
	var rows [][]string
	for _, one := range r.Waits {
		what := strings.TrimSpace(one.Class + " " + one.Object)
		if one.ForWork {
			what = "idle: " + what
		}
		rows = append(rows, []string{short(one.Ns), cli.Grouped(one.Count), short(one.LongestNs), what, processName(one.Process, one.PID), one.Function})
	}
	columns(w, rows)
}

func (r *Report) printLocks(w io.Writer) {
	if len(r.Locks) == 0 {
		return
	}
	fmt.Fprintln(w, "\nLocks: time, waits, longest, lock, who")
	var rows [][]string
	for _, l := range r.Locks {
		name := l.Object
		if l.Kernel {
			name = "kernel: " + name
		}
		if l.Semaphore {
			name = "semaphore " + name
		}
		rows = append(rows, []string{short(l.Ns), cli.Grouped(l.Waits), short(l.LongestNs), name, processName(l.Process, l.PID)})
		for _, more := range []struct {
			label string
			parts []Part
		}{{"behind", l.Owners}, {"owners", l.OwnerTime}, {"waiters", l.Waiters}, {"in", l.Functions}} {
			if text := listed(more.parts, l.Ns); text != "" {
				rows = append(rows, []string{"", "", "", more.label + " " + text, ""})
			}
		}
		if l.Chain != "" {
			rows = append(rows, []string{"", "", "", "chain " + l.Chain, ""})
		}
	}
	columns(w, rows)
}

// maxListed is how many parts of a time are listed.
const maxListed = 3

// listed lists the largest parts of a time.
func listed(all []Part, of int64) string {
	var texts []string
	for _, p := range all[:min(maxListed, len(all))] {
		texts = append(texts, fmt.Sprintf("%s %s", p.Name, percent(p.Ns, of)))
	}
	return strings.Join(texts, ", ")
}

func (r *Report) printDelays(w io.Writer) {
	if len(r.Delays) == 0 {
		return
	}
	fmt.Fprintln(w, "\nDelays for a CPU: time, times, longest, who, by whom")
	var rows [][]string
	for _, d := range r.Delays {
		by := "behind "
		if d.Preempted {
			by = "preempted by "
		}
		switch {
		case d.By == "":
			by += "threads that are not known"
		case d.ByPID == d.PID:
			by += "its own threads"
		default:
			by += processName(d.By, d.ByPID)
		}
		rows = append(rows, []string{short(d.Ns), cli.Grouped(d.Count), short(d.LongestNs), processName(d.Process, d.PID), by})
	}
	columns(w, rows)
}

func (r *Report) printLongest(w io.Writer) {
	if len(r.Longest) == 0 {
		return
	}
	fmt.Fprintln(w, "\nLongest waits that are not idle: start after the opening of the window, length, what for, thread, function")
	var rows [][]string
	for _, one := range r.Longest {
		length := short(one.Ns)
		if one.Open {
			length += "+"
		}
		what := strings.TrimSpace(one.Class + " " + one.Object)
		if one.Waker != "" {
			what += ", woken by " + one.Waker
		}
		rows = append(rows, []string{Exact(one.StartNs), length, what, fmt.Sprintf("%s (%d)", one.Thread, one.TID), one.Function})
	}
	columns(w, rows)
}

func processName(name string, pid int32) string {
	if pid == 0 {
		return name
	}
	return fmt.Sprintf("%s (pid %d)", name, pid)
}

// Exact writes a time to the nanosecond.
func Exact(ns int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	return fmt.Sprintf("%s%d.%09d s", sign, ns/1e9, ns%1e9)
}

// pageWidth is the maximum length of lines.
const pageWidth = 120

// columns writes rows with aligned columns; the numbers in front are aligned to the right. Long texts are cut in the middle.
func columns(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 && cell != "" && row[len(row)-1] != "" {
				widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), maxCell))
			}
		}
	}
	for _, row := range rows {
		line := " "
		for i, cell := range row {
			if row[len(row)-1] != "" && i < len(row)-1 {
				cell = shortened(cell, maxCell)
			}
			if isNumber(cell) {
				line += fmt.Sprintf(" %*s ", widths[i], cell)
			} else {
				line += fmt.Sprintf(" %-*s ", widths[i], cell)
			}
		}
		fmt.Fprintln(w, shortened(strings.TrimRight(line, " "), pageWidth))
	}
}

// maxCell is the width of a column that is not the last one.
const maxCell = 40

func isNumber(cell string) bool {
	return cell != "" && cell[0] >= '0' && cell[0] <= '9' && !strings.HasPrefix(cell, "0x")
}

// shortened cuts a text in the middle.
func shortened(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	head := width * 2 / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-head-1):])
}

// Paragraph writes text in lines after a head; further lines are indented by its width.
func Paragraph(w io.Writer, head, text string) {
	at := head
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(at)+1+utf8.RuneCountInString(word) > pageWidth && len(at) > len(head) {
			fmt.Fprintln(w, strings.TrimRight(at, " "))
			at = strings.Repeat(" ", len(head))
		}
		if len(at) > len(head) {
			at += " "
		}
		at += word
	}
	fmt.Fprintln(w, at)
}
