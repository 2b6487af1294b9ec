package info

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
)

// worstModules is the maximum number of modules in a list.
const worstModules = 5

// printSampled prints how many frames have names, how many stacks look cut, and the worst modules.
func (r *Recording) printSampled(w io.Writer) {
	s := r.Sampled
	if s == nil {
		return
	}
	of := plural(s.Samples, "sample")
	if !s.All {
		of = "the first " + of
	}
	fact(w, "samples", "%s of %s have a stack", cli.Grouped(s.WithStack), of)
	if s.WithStack == 0 {
		return
	}
	fact(w, "named", "%s of %s, %s of %s", share(s.Kernel.Named, s.Kernel.Frames),
		plural(s.Kernel.Frames, "kernel frame"), share(s.User.Named, s.User.Frames), plural(s.User.Frames, "user frame"))
	var rows [][]string
	for _, m := range s.Modules[:min(worstModules, len(s.Modules))] {
		if m.unnamed() > 0 {
			rows = append(rows, []string{cli.Grouped(m.unnamed()) + " of " + cli.Grouped(m.Frames), "not named", name(m.Path)})
		}
	}
	table(w, rows)
	fact(w, "lines", "%s of %s have a source line", share(s.User.Lined, s.User.Frames), plural(s.User.Frames, "user frame"))
	s.printCut(w)
}

func (s *Sampled) printCut(w io.Writer) {
	if s.UserStacks > 0 {
		fact(w, "cut stacks", "%s of %s lack their outer functions%s", share(s.CutStacks, s.UserStacks), plural(s.UserStacks, "user stack"), s.reasons())
	}
	var rows [][]string
	for _, m := range s.worstCut() {
		rows = append(rows, []string{cli.Grouped(m.CutStacks), share(m.CutStacks, s.CutStacks), name(m.Path)})
	}
	table(w, rows[:min(worstModules, len(rows))])
	if s.TooDeep > 0 {
		fact(w, "too deep", "%s deeper than the recorder's limit", plural(s.TooDeep, "stack"))
	}
}

// reasons lists why user stacks ended early, as far as that was recorded.
func (s *Sampled) reasons() string {
	var parts []string
	for _, e := range format.AllStackEnds() {
		if n := s.Ends[e.End]; n > 0 && e.IsEarly {
			parts = append(parts, cli.Grouped(n)+" "+e.Name)
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// worstCut returns the modules in which cut stacks end, most first.
func (s *Sampled) worstCut() []*ModuleCount {
	all := slices.DeleteFunc(slices.Clone(s.Modules), func(m *ModuleCount) bool { return m.CutStacks == 0 })
	slices.SortStableFunc(all, func(a, b *ModuleCount) int { return cmp.Compare(b.CutStacks, a.CutStacks) })
	return all
}

func share(part, whole uint64) string { return percent(float64(part), float64(whole)) }
