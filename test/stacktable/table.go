package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const results = "<!-- results -->\n"

const heading = "| Program | Stacks | Whole: first recording | second | `perf -g` | `perf` dwarf | Named: ours | `perf -g` | `perf` dwarf | Wrong: ours | `perf -g` | `perf` dwarf |\n" +
	"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"

// Indices of [result.counts].
const (
	first = iota
	second
	perfFrame
	perfDwarf
)

// row is a line of the table.
func (r result) row() string {
	if r.counts == nil {
		return "| " + r.name + " | missing |" + strings.Repeat(" |", 10)
	}
	cells := []string{r.name, fmt.Sprint(r.counts[second].stacks)}
	for _, c := range r.counts {
		cells = append(cells, percent(c.whole, c.stacks))
	}
	for _, c := range r.counts[second:] {
		cells = append(cells, percent(c.named, c.frames))
	}
	for _, c := range r.counts[second:] {
		if r.right == nil {
			cells = append(cells, "")
		} else {
			cells = append(cells, fmt.Sprint(c.wrong))
		}
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func percent(part, all int) string {
	if all == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}

// explain prints what is not whole and what is wrong.
func (r result) explain(w io.Writer) {
	for i, c := range r.counts {
		fmt.Fprintf(w, "  %d: %d stacks, %d whole\n", i, c.stacks, c.whole)
		for _, list := range []map[string]int{c.ends, c.wrongs} {
			names := slices.SortedFunc(maps.Keys(list), func(a, b string) int { return cmp.Or(list[b]-list[a], cmp.Compare(a, b)) })
			for _, name := range names[:min(8, len(names))] {
				fmt.Fprintf(w, "%8d %s\n", list[name], name)
			}
		}
	}
}

// write puts the table in the place of the page's last one.
func write(page string, rows []result) error {
	var w strings.Builder
	fmt.Fprintf(&w, "%s\nWritten by `scripts/stack-table` on %s. %s\n%s", results, time.Now().UTC().Format(time.DateOnly), machine(), heading)
	for _, r := range rows {
		w.WriteString(r.row() + "\n")
	}
	if page == "" {
		_, err := io.WriteString(os.Stdout, w.String())
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, _, found := strings.Cut(string(text), results)
	if !found {
		return fmt.Errorf("%s has no line %q", page, results)
	}
	return os.WriteFile(page, []byte(before+w.String()), 0o644)
}

func machine() string {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	model := "unknown CPU"
	info, _ := os.ReadFile("/proc/cpuinfo")
	if _, rest, found := strings.Cut(string(info), "model name\t: "); found {
		model, _, _ = strings.Cut(rest, "\n")
	}
	return fmt.Sprintf("Machine: %d × %s, Linux %s (virtual).\n", runtime.NumCPU(), model, unix.ByteSliceToString(uts.Release[:]))
}
