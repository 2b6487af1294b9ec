package info

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/cli"
	recorded "wprof/internal/sources"
)

const (
	// maxFunctions bounds the functions that are counted, and listedFunctions those that are printed.
	maxFunctions    = 1 << 16
	listedFunctions = 100
)

// calls is the [timeline.Visitor] that adds up calls of functions of Python and of operators of PyTorch.
type calls struct {
	r      *format.Reader
	tables []*callTable
	values []format.Value
	opened int64
	window int64 // length of all windows
	last   int64
	lost   bool
}

// callTable is what is listed of one feature's calls.
type callTable struct {
	feature string
	what    string // is called
	of      string
	found   *bounded.Map[string, *calledFunction]
	all     uint64
}

func newCallTable(feature, what, of string) *callTable {
	return &callTable{feature: feature, what: what, of: of, found: bounded.NewMap[string, *calledFunction](maxFunctions)}
}

// calledFunction is what is known of a function's calls.
type calledFunction struct {
	name    string
	calls   uint64
	open    uint64 // of them, at the close
	total   int64  // ns; of calls within each other, of each
	self    int64
	longest int64
}

func newCalls(r *format.Reader) *calls {
	return &calls{r: r, tables: []*callTable{
		newCallTable(recorded.PythonCalls, "function", "Python"), newCallTable(recorded.Torch, "operator", "PyTorch"),
	}}
}

func (c *calls) hasLost() bool { return c.lost }

// NewSection implements [timeline.Visitor].
func (c *calls) NewSection(*format.Session) error { return nil }

// Open implements [timeline.Visitor].
func (c *calls) Open(_ *format.Session, at, _ int64, _ bool) error {
	c.opened, c.last = at, at
	return nil
}

// Close implements [timeline.Visitor].
func (c *calls) Close(at int64) error {
	c.window += max(0, max(at, c.last)-c.opened)
	return nil
}

// Event implements [timeline.Visitor].
func (c *calls) Event(e *format.Event) error {
	c.last = max(c.last, e.Time)
	c.lost = c.lost || e.Kind == format.KindLost && e.Lost().IsFault()
	if e.Kind != format.KindTyped || e.Task != 0 && e.Flags&format.FlagSubject == 0 {
		return nil
	}
	t := c.r.EventType(e.TypeID())
	if t.IsLost() {
		return nil
	}
	i := slices.IndexFunc(c.tables, func(table *callTable) bool { return table.feature == string(t.Group) })
	if i < 0 {
		return nil
	}
	var ok bool
	if c.values, ok = t.AppendValues(c.values[:0], e); ok {
		c.add(c.tables[i], e)
	}
	return nil
}

func (c *calls) add(to *callTable, e *format.Event) {
	name, self := "?", int64(0)
	for i := range c.values {
		v := &c.values[i]
		switch string(v.Field.Name) {
		case to.what:
			if text := c.r.Text(v.ID()); text != nil {
				name = string(text.Text)
			}
		case "self":
			self = v.Int()
		}
	}
	f, found := to.found.Get(name)
	if !found {
		f = &calledFunction{name: name}
		to.found.Put(name, f)
	}
	to.all++
	f.calls++
	f.self += self
	if start, ok := e.Start(); ok {
		length := e.Happened() - start
		f.total += length
		f.longest = max(f.longest, length)
	}
	if e.Flags&format.FlagOpen != 0 {
		f.open++
	}
}

// print prints the tables that have calls, or that there are none.
func (c *calls) print(w io.Writer, source string) error {
	out := bufio.NewWriter(w)
	some := slices.DeleteFunc(slices.Clone(c.tables), func(t *callTable) bool { return t.all == 0 })
	if len(some) == 0 {
		some = c.tables[:1]
	}
	for i, t := range some {
		if i > 0 {
			fmt.Fprintln(out)
		}
		t.print(out, source, c.window)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the list of functions: %w", err)
	}
	return nil
}

// print prints a row for each function, those with most time of their own first.
func (t *callTable) print(w io.Writer, source string, window int64) {
	all := slices.SortedFunc(t.found.Values(), func(a, b *calledFunction) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	fmt.Fprintf(w, "%s: %s of %s of %s in %s\n\n", name(source), cli.Counted(t.all, "call"), cli.Counted(uint64(len(all)), t.what), t.of, seconds(window))
	if len(all) > 0 {
		table(w, functionRows(t.what, all[:min(len(all), listedFunctions)]))
	}
	if more := len(all) - listedFunctions; more > 0 {
		fmt.Fprintf(w, "  and %s more\n", cli.Grouped(uint64(more)))
	}
}

func functionRows(what string, all []*calledFunction) [][]string {
	rows := [][]string{{"calls", "self", "total", "a call", "longest", "open", what}}
	for _, f := range all {
		open := ""
		if f.open > 0 {
			open = cli.Grouped(f.open)
		}
		rows = append(rows, []string{
			cli.Grouped(f.calls), brief(f.self), brief(f.total), brief(f.total / int64(f.calls)), brief(f.longest), open, name(f.name),
		})
	}
	return rows
}
