package info

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
)

// UserStacks counts user parts of stacks, once for each event that has one.
type UserStacks struct {
	All   uint64
	Ends  [format.StackEnds]uint64 // by [format.StackEnd]
	Cut   uint64                   // those that end early; see stacks.EndsEarly
	CutIn map[*ModuleCount]uint64  // of Cut, by the module in which they end
}

// add counts a stack; nil: it was lost.
func (u *UserStacks) add(f *stackFacts) {
	if f == nil || f.user.Frames == 0 {
		return
	}
	u.All++
	u.Ends[f.end]++
	if f.cut == nil {
		return
	}
	u.Cut++
	if u.CutIn == nil {
		u.CutIn = make(map[*ModuleCount]uint64)
	}
	u.CutIn[f.cut]++
}

// print prints how many stacks end early, why, and in which modules.
func (u *UserStacks) print(w io.Writer, label string) {
	if u.All == 0 {
		return
	}
	fact(w, label, "%s of %s lack their outer functions%s", share(u.Cut, u.All), cli.Counted(u.All, "user stack"), u.reasons())
	worst := slices.SortedFunc(maps.Keys(u.CutIn), func(a, b *ModuleCount) int {
		return cmp.Or(cmp.Compare(u.CutIn[b], u.CutIn[a]), cmp.Compare(a.Path, b.Path))
	})
	var rows [][]string
	for _, m := range worst[:min(worstModules, len(worst))] {
		rows = append(rows, []string{cli.Grouped(u.CutIn[m]), share(u.CutIn[m], u.Cut), name(m.Path)})
	}
	table(w, rows)
}

// reasons lists why stacks ended early, as far as that was recorded.
func (u *UserStacks) reasons() string {
	var parts []string
	for _, e := range format.AllStackEnds() {
		if n := u.Ends[e.End]; n > 0 && e.IsEarly {
			parts = append(parts, cli.Grouped(n)+" "+e.Name)
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (u *UserStacks) ends() StackEnds {
	of := func(end format.StackEnd) uint64 { return u.Ends[end] }
	return StackEnds{
		Unknown: of(format.StackEnd_STACK_END_UNKNOWN), Whole: of(format.StackEnd_STACK_END_ROOT), TooDeep: of(format.StackEnd_STACK_END_DEPTH),
		NoCode: of(format.StackEnd_STACK_END_NO_CODE), NoFrame: of(format.StackEnd_STACK_END_NO_FRAME),
		Unreadable: of(format.StackEnd_STACK_END_UNREADABLE), NoTable: of(format.StackEnd_STACK_END_NO_TABLE),
	}
}
