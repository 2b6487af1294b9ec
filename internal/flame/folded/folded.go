package folded

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// Unit is what the weights of folded stacks are counted in.
type Unit uint8

const (
	Microseconds Unit = iota
	Nanoseconds
	Milliseconds
	Samples // number of samples, of blocks and of waits for a CPU
)

// ns returns the length of a unit; 0 for Samples.
func (u Unit) ns() int64 {
	return [...]int64{Microseconds: 1e3, Nanoseconds: 1, Milliseconds: 1e6, Samples: 0}[u]
}

// Text selects how a graph is written as folded stacks.
type Text struct {
	Unit   Unit
	Kernel bool // kernel frames have the suffix _[k]
}

// Suffixes of frames.
const (
	kernelSuffix = "_[k]"
	onSuffix     = "_[c]"
	offSuffix    = "_[o]"
)

// Write writes a view of a profile as folded stacks, see [WriteGraph]. Only the frames of one root are in memory
// at a time.
func Write(w io.Writer, p *profile.Profile, v graph.View, t Text) error {
	type part struct {
		root string
		cell *profile.Cell
	}
	var parts []part
	roots := make(map[string]string) // one copy of each
	v.EachCell(p, func(cell *profile.Cell) {
		root := v.Root(p, cell)
		if known, found := roots[root]; found {
			root = known
		} else {
			roots[root] = root
		}
		parts = append(parts, part{root, cell})
	})
	slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(a.root, b.root) })
	b := graph.NewBuilder(v, p)
	out := bufio.NewWriterSize(w, foldedBuffer)
	for i, one := range parts {
		if i > 0 && one.root != parts[i-1].root {
			writeFoldedGraph(out, b.End(), t)
			b.Begin()
		}
		b.AddCell(one.cell)
	}
	writeFoldedGraph(out, b.End(), t)
	return out.Flush()
}

// WriteGraph writes folded stacks, one per line: the frames from the root on, separated by semicolons, a space and
// the weight. For a graph that is compared with another one, the other's weight comes before its own, as difffolded.pl
// writes it.
//
// Weights are whole numbers. The rounding error of a line is carried over to the next one of the same root, so that a root's
// lines add up to its time; lines with a weight of 0 are left out.
func WriteGraph(w io.Writer, g *graph.Graph, t Text) error {
	out := bufio.NewWriterSize(w, foldedBuffer)
	writeFoldedGraph(out, g, t)
	return out.Flush()
}

const foldedBuffer = 64 << 10

func writeFoldedGraph(w *bufio.Writer, g *graph.Graph, t Text) {
	f := folder{g: g, t: t, w: w}
	for _, child := range g.Children(0) {
		f.own, f.base = rounder{unit: t.Unit}, rounder{unit: t.Unit}
		f.write(child)
	}
	if f.line = append(f.line[:0], "[all]"...); g.Self[0].Ns() > 0 {
		f.writeLine(0)
	}
}

type folder struct {
	g         *graph.Graph
	t         Text
	w         *bufio.Writer
	line      []byte
	own, base rounder
}

// write writes the lines of a node and of all nodes above it.
func (f *folder) write(id int32) {
	n := &f.g.Nodes[id]
	length := len(f.line)
	if length > 0 {
		f.line = append(f.line, ';')
	}
	f.line = append(f.line, foldedName(n.Name)...)
	if n.Kind == graph.KindKernel && f.t.Kernel {
		f.line = append(f.line, kernelSuffix...)
	}
	plain := len(f.line)
	switch n.Mark {
	case graph.MarkOn:
		f.line = append(f.line, onSuffix...)
	case graph.MarkOff:
		f.line = append(f.line, offSuffix...)
	}
	f.writeLine(id)
	f.line = f.line[:plain]
	for _, child := range f.g.Children(id) {
		f.write(child)
	}
	f.line = f.line[:length]
}

// writeLine writes the current line with a node's own weight.
func (f *folder) writeLine(id int32) {
	own := f.own.round(f.g.Self[id])
	if f.g.Base == nil {
		if own == 0 {
			return
		}
		_, _ = f.w.Write(f.line) // the error is returned by Flush
	} else {
		base := f.base.round(f.g.BaseSelf[id])
		if own == 0 && base == 0 {
			return
		}
		_, _ = f.w.Write(f.line)
		_ = f.w.WriteByte(' ')
		_, _ = f.w.WriteString(strconv.FormatInt(base, 10))
	}
	_ = f.w.WriteByte(' ')
	_, _ = f.w.WriteString(strconv.FormatInt(own, 10))
	_ = f.w.WriteByte('\n')
}

// rounder rounds weights so that their rounded values add up to their rounded sum.
type rounder struct {
	unit    Unit
	ns      int64 // of the weights so far
	written int64
}

func (r *rounder) round(w graph.Weight) int64 {
	unit := r.unit.ns()
	if unit == 0 {
		return int64(w.Times())
	}
	r.ns += w.Ns()
	all := (r.ns + unit/2) / unit
	n := all - r.written
	r.written = all
	return n
}

// foldedName replaces the separators of folded stacks in a name.
func foldedName(name string) string {
	if strings.IndexByte(name, ';') < 0 {
		return name
	}
	return strings.ReplaceAll(name, ";", ":")
}
