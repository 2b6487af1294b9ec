package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// report writes docs/performance.md and, beside it, the raw runs that the next report is compared with. Rows of parts
// that were not measured this time stay as they were if the report is of one part.
func report(markdown, raw string, rows []Row, part bool) error {
	var old []Row
	if data, err := os.ReadFile(raw); err == nil {
		if err := json.Unmarshal(data, &old); err != nil {
			return fmt.Errorf("read the last report's runs from %s: %w", raw, err)
		}
	}
	compare(rows, old, part)
	for i := range rows {
		rows[i].Machine = machine()
	}
	if part {
		rows = replaced(old, rows)
	}
	var w strings.Builder
	w.WriteString("# Performance\n\n")
	fmt.Fprintf(&w, "Written by `scripts/bench` on %s. Each figure is the median of the runs listed below, with its\n"+
		"95%% interval by order statistics (with fewer than six runs: their range). Slowdowns are ratios of neighbouring runs, which\n"+
		"alternate. Times include the noise of a shared virtual machine. *Limit* is the one that the project sets itself.\n\n", time.Now().UTC().Format("2006-01-02"))
	marks := writeMachines(&w, rows)
	w.WriteString("\n| What | Median | 95% interval | Limit | Met | Last report |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		lo, hi := r.Interval()
		last := "–"
		if r.Last != nil {
			last = number(*r.Last)
		}
		fmt.Fprintf(&w, "| %s%s | %s %s | %s – %s | %s | %s | %s |\n", r.Name, marks[r.Machine], number(r.Median()), r.Unit, number(lo), number(hi), r.Hold, r.Held(), last)
	}
	w.WriteString("\n## Every run\n\n")
	for _, r := range rows {
		fmt.Fprintf(&w, "**%s** (%s), `%s`", r.Name, r.Unit, r.Command)
		if r.Note != "" {
			fmt.Fprintf(&w, ". %s", r.Note)
		}
		w.WriteString("\n\n   ")
		for _, v := range r.Runs {
			w.WriteString(" " + number(v))
		}
		w.WriteString("\n\n")
	}
	data, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(raw, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(markdown, []byte(w.String()), 0o644)
}

// compare puts the medians of the last whole report beside the rows. What is measured again in a part of a report stays
// compared with the whole report before.
func compare(rows, old []Row, part bool) {
	for i := range rows {
		at := slices.IndexFunc(old, func(o Row) bool { return o.Name == rows[i].Name })
		if at < 0 {
			continue
		}
		if rows[i].Last = old[at].Last; !part {
			median := old[at].Median()
			rows[i].Last = &median
		}
	}
}

// replaced are the last rows, with those that were measured again in their places.
func replaced(last, again []Row) []Row {
	for _, r := range again {
		i := slices.IndexFunc(last, func(o Row) bool { return o.Name == r.Name })
		if i < 0 {
			last = append(last, r)
		} else {
			last[i] = r
		}
	}
	return last
}

// writeMachines lists the machines that the rows were measured on, and returns a mark for each; "" where it is the only one.
func writeMachines(w *strings.Builder, rows []Row) map[string]string {
	var machines []string
	for _, r := range rows {
		if !slices.Contains(machines, r.Machine) {
			machines = append(machines, r.Machine)
		}
	}
	marks := make(map[string]string)
	if len(machines) == 1 {
		fmt.Fprintf(w, "Machine: %s\n", machines[0])
		return marks
	}
	w.WriteString("Parts were measured on different machines; a number behind the name says which, and those of one part are of one machine.\n\n")
	for i, m := range machines {
		marks[m] = fmt.Sprintf(" (%d)", i+1)
		fmt.Fprintf(w, "%d. %s\n", i+1, m)
	}
	return marks
}

func machine() string {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	info, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown CPU"
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	var si unix.Sysinfo_t
	_ = unix.Sysinfo(&si)
	return fmt.Sprintf("%d × %s, %d MiB, Linux %s (virtual), %s.",
		runtime.NumCPU(), model, si.Totalram*uint64(si.Unit)>>20, unix.ByteSliceToString(uts.Release[:]), runtime.Version())
}
