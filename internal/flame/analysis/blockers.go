package analysis

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/report"
)

// maxFrames is the maximum number of functions of a stack in an analysis.
const maxFrames = 32

// blocker is a stack in which threads were off-CPU for one reason.
type blocker struct {
	reason string
	frames []*graph.Step  // outermost first
	stack  profile.NodeID // one with these frames
	waited
}

// waited is a time in ns, and how many times it is made of.
type waited struct {
	ns    int64
	count uint64
}

// blockerKey is the key by which times are added up first. Stacks with different keys may have the same function names.
type blockerKey struct {
	stack  profile.NodeID
	reason string
}

// blockersOf returns the stacks of one class, the longest time first.
func blockersOf(p *profile.Profile, class profile.Class, v *graph.View) []*blocker {
	sums := make(map[blockerKey]*waited)
	var order []blockerKey // keeps the sort stable
	for t := range v.Threads(p) {
		for i := range t.Cells {
			c := &t.Cells[i]
			w := v.Weight(c)
			if c.Class != class || w.Ns() == 0 {
				continue
			}
			key := blockerKey{c.Stack, c.Reason()}
			if sums[key] == nil {
				sums[key] = new(waited)
				order = append(order, key)
			}
			sums[key].ns += w.Ns()
			sums[key].count += w.Times()
		}
	}
	return merged(p, v, order, sums)
}

// merged resolves stacks to names and merges those with the same names.
func merged(p *profile.Profile, v *graph.View, order []blockerKey, sums map[blockerKey]*waited) []*blocker {
	g := graph.NewBuilder(graph.View{Inline: v.Inline, Lines: v.Lines}, p)
	same := make(map[string]*blocker)
	var all []*blocker
	for _, key := range order {
		frames := g.Stack(key.stack)
		var text strings.Builder
		text.WriteString(key.reason)
		for _, f := range frames {
			fmt.Fprintf(&text, "\x00%d%s", f.Kind, f.Name)
		}
		b := same[text.String()]
		if b == nil {
			b = &blocker{reason: key.reason, frames: frames, stack: key.stack}
			same[text.String()] = b
			all = append(all, b)
		}
		b.ns += sums[key].ns
		b.count += sums[key].count
	}
	slices.SortStableFunc(all, func(x, y *blocker) int { return cmp.Compare(y.ns, x.ns) })
	return all
}

// writeTop lists the stacks of a class with the most time. It writes nothing if there are no waits for work.
func writeTop(w io.Writer, p *profile.Profile, title string, class profile.Class, top int, v *graph.View) {
	all := blockersOf(p, class, v)
	if len(all) == 0 {
		if class == profile.ClassBlocked {
			fmt.Fprint(w, "\nNo blocking stacks: no thread was blocked at work\n")
		}
		return
	}
	total := int64(0)
	for _, b := range all {
		total += b.ns
	}
	shown := min(top, len(all))
	fmt.Fprintf(w, "\n"+title+" of %d, innermost function first\n", shown, len(all))
	if min := p.About.MinBlock; min > 0 {
		fmt.Fprintf(w, "Off-CPU intervals of less than %v are not in them\n", time.Duration(min))
	}
	for i, b := range all[:shown] {
		fmt.Fprintf(w, "\n%2d. %s, %.1f%%: %s", i+1, report.Exact(b.ns), 100*report.Share(b.ns, total), b.reason)
		switch {
		case b.count == 1:
			fmt.Fprint(w, ", once")
		case b.count > 1:
			fmt.Fprintf(w, ", %d times, %s each", b.count, report.Exact(b.ns/int64(b.count)))
		}
		fmt.Fprintln(w)
		b.writeFrames(w)
	}
}

func (b *blocker) writeFrames(w io.Writer) {
	if len(b.frames) == 0 {
		fmt.Fprintln(w, "      [no stack]")
	}
	for i := len(b.frames) - 1; i >= 0; i-- {
		if i < len(b.frames)-maxFrames {
			fmt.Fprintf(w, "      ... and %d more\n", i+1)
			return
		}
		fmt.Fprintln(w, "      "+textOf(b.frames[i]))
	}
}

// textOf returns a frame's name, with the kernel's functions marked as in folded stacks.
func textOf(s *graph.Step) string {
	if s.Kind == graph.KindKernel {
		return s.Name + "_[k]"
	}
	return s.Name
}
