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

// calls is the [timeline.Visitor] that adds up calls of functions of Python.
type calls struct {
	r      *format.Reader
	found  *bounded.Map[string, *calledFunction]
	values []format.Value
	opened int64
	window int64 // length of all windows
	last   int64
	all    uint64
	lost   bool
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
	return &calls{r: r, found: bounded.NewMap[string, *calledFunction](maxFunctions)}
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
	if t.IsLost() || string(t.Group) != recorded.PythonCalls {
		return nil
	}
	var ok bool
	if c.values, ok = t.AppendValues(c.values[:0], e); ok {
		c.add(e)
	}
	return nil
}

func (c *calls) add(e *format.Event) {
	name, self := "?", int64(0)
	for i := range c.values {
		v := &c.values[i]
		switch string(v.Field.Name) {
		case "function":
			if text := c.r.Text(v.ID()); text != nil {
				name = string(text.Text)
			}
		case "self":
			self = v.Int()
		}
	}
	f, found := c.found.Get(name)
	if !found {
		f = &calledFunction{name: name}
		c.found.Put(name, f)
	}
	c.all++
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

// print prints a row for each function, those with most time of their own first.
func (c *calls) print(w io.Writer, source string) error {
	all := slices.SortedFunc(c.found.Values(), func(a, b *calledFunction) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s of %s of Python in %s\n\n", name(source), cli.Counted(c.all, "call"), cli.Counted(uint64(len(all)), "function"), seconds(c.window))
	if len(all) > 0 {
		table(out, functionRows(all[:min(len(all), listedFunctions)]))
	}
	if more := len(all) - listedFunctions; more > 0 {
		fmt.Fprintf(out, "  and %s more\n", cli.Grouped(uint64(more)))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the list of functions: %w", err)
	}
	return nil
}

func functionRows(all []*calledFunction) [][]string {
	rows := [][]string{{"calls", "self", "total", "a call", "longest", "open", "function"}}
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
