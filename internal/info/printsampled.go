package info

import (
	"io"

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
	of := cli.Counted(s.Samples, "sample")
	if !s.All {
		of = "the first " + of
	}
	fact(w, "samples", "%s of %s have a stack", cli.Grouped(s.WithStack), of)
	if s.WithStack == 0 {
		return
	}
	fact(w, "named", "%s of %s, %s of %s", share(s.Kernel.Named, s.Kernel.Frames),
		cli.Counted(s.Kernel.Frames, "kernel frame"), share(s.User.Named, s.User.Frames), cli.Counted(s.User.Frames, "user frame"))
	var rows [][]string
	for _, m := range s.Modules[:min(worstModules, len(s.Modules))] {
		if m.unnamed() > 0 {
			rows = append(rows, []string{cli.Grouped(m.unnamed()) + " of " + cli.Grouped(m.Frames), "not named", name(m.Path)})
		}
	}
	table(w, rows)
	fact(w, "lines", "%s of %s have a source line", share(s.User.Lined, s.User.Frames), cli.Counted(s.User.Frames, "user frame"))
	s.printCut(w)
}

func (s *Sampled) printCut(w io.Writer) {
	s.UserStacks.print(w, "cut stacks")
	if s.TooDeep > 0 {
		fact(w, "too deep", "%s deeper than the recorder's limit", cli.Counted(s.TooDeep, "stack"))
	}
}

func share(part, whole uint64) string { return percent(float64(part), float64(whole)) }
