package profile

import (
	"math"
	"slices"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/tracks"
)

// noThread is the name of events without a thread.
const noThread = "[no thread]"

// eventCounter adds up events by stack, see [Options].Events.
type eventCounter struct {
	c        *collector
	seen     []bool // of Options.Events
	hasSpans bool
	kinds    [format.MaxKind + 1]int // of plain kinds: index of Options.Events, plus 1
	types    byid.Table[int]         // of the current section: that index plus 2
	labels   map[*format.Task]LabelID
	pairs    *tracks.Maker // joins the begins and ends of spans
	values   []format.Value
}

func newEventCounter(c *collector) *eventCounter {
	n := &eventCounter{c: c, seen: make([]bool, len(c.o.Events)), labels: make(map[*format.Task]LabelID), pairs: tracks.NewMaker(c.r)}
	for _, k := range format.Kinds() {
		if k.IsPlain() {
			n.kinds[k.Kind] = slices.Index(c.o.Events, k.Name) + 1
		}
	}
	return n
}

func (n *eventCounter) newSection() {
	n.pairs.NewSection()
	n.types.Clear()
	clear(n.labels)
}

// event counts an event if its name is in Options.Events.
func (n *eventCounter) event(e *format.Event) {
	switch {
	case e.Task != 0 && e.Flags&format.FlagSubject == 0 || e.Kind > format.MaxKind:
	case e.Kind == format.KindTyped:
		n.typed(e)
	case n.kinds[e.Kind] > 0:
		n.seen[n.kinds[e.Kind]-1] = true
		n.add(e, e.Stack())
	}
}

func (n *eventCounter) typed(e *format.Event) {
	name := n.nameOf(e.TypeID())
	if name < 0 {
		return
	}
	t := n.c.r.EventType(e.TypeID())
	var ok bool
	if n.values, ok = t.AppendValues(n.values[:0], e); !ok {
		return
	}
	n.seen[name] = true
	switch format.TypeShape(t.Shape) {
	case format.TypeShape_SHAPE_BEGIN, format.TypeShape_SHAPE_END:
		items, _ := n.pairs.Items(e)
		n.addSpans(items)
	default:
		n.add(e, stackIn(n.values))
	}
}

// nameOf returns the index of a type's name in Options.Events; -1: it is not there. The end of a span has the name of its begin.
// The table is by id, so that only definitions of types with events are decoded: a section may have very many.
func (n *eventCounter) nameOf(id uint32) int {
	const none = -1
	if known := n.types.Get(id); known != 0 {
		return known - 2
	}
	named := n.c.r.EventType(id)
	if named.IsLost() {
		return none
	}
	if named.Shape == uint32(format.TypeShape_SHAPE_END) {
		named = n.c.r.EventType(named.Ends)
	}
	name := none
	if !named.IsLost() {
		if name = slices.Index(n.c.o.Events, string(named.Name)); name == none {
			n.addOther(string(named.Name))
		}
	}
	n.types.Put(id, name+2)
	return name
}

func (n *eventCounter) addOther(name string) {
	const few = 10
	if others := &n.c.p.About.OtherEvents; len(*others) < few && !slices.Contains(*others, name) {
		*others = append(*others, name)
	}
}

// stackIn returns the first stack among values; 0: there is none.
func stackIn(values []format.Value) format.StackID {
	for i := range values {
		if f := values[i].Field; f.Is(format.ValueType_VALUE_STACK) && !f.List {
			return format.StackID(values[i].ID())
		}
	}
	return 0
}

// add counts an instant, or a span that is one event.
func (n *eventCounter) add(e *format.Event, stack format.StackID) {
	label := n.c.taskLabel(e.Task)
	if label == 0 {
		label = n.c.internLabel(Label{Comm: noThread, Process: noThread})
	}
	to := e.Happened()
	from, isSpan := e.Start()
	if !isSpan {
		from = to
	}
	n.hasSpans = n.hasSpans || isSpan
	n.count(label, e.CPU, n.c.interner.stack(stack), from, to)
}

// addSpans counts spans whose begin and end are two events, perhaps of different sections.
func (n *eventCounter) addSpans(items []tracks.Item) {
	for i := range items {
		item := &items[i]
		if item.Shape != tracks.ShapeSlice {
			continue
		}
		n.hasSpans = true
		n.count(n.label(item.Task), item.CPU, n.c.interner.drawn(item.Stack), item.From, item.To)
	}
}

func (n *eventCounter) label(task *tracks.Task) LabelID {
	if task == nil {
		return n.c.internLabel(Label{Comm: noThread, Process: noThread})
	}
	label, known := n.labels[task.Def]
	if !known {
		label = n.c.labelOf(task.Def)
		n.labels[task.Def] = label
	}
	return label
}

// count adds an event to the threads of one label. The part of a span before the window does not count.
func (n *eventCounter) count(label LabelID, cpu uint32, at resolved, from, to int64) {
	c := n.c
	from = min(max(from, c.opened), to)
	if to-from > math.MaxInt64/2-c.total {
		c.fail(errTooLong)
		return
	}
	c.total += to - from
	c.countStack(at)
	l := c.p.Labels[label]
	t := c.ended[label]
	if t == nil {
		t = &thread{Thread: Thread{TID: l.TID, PID: l.PID, Label: label}}
		if c.ended == nil {
			c.ended = make(map[LabelID]*thread)
		}
		c.ended[label] = t
	}
	t.Lifetime += to - from
	c.add(t, CellKey{Class: ClassEvent, CPU: cpu, Label: label, Stack: at.node}, from, to, 1)
}

// finish sets each cell's time to its count, unless there are spans.
func (n *eventCounter) finish() {
	a := &n.c.p.About
	for i, name := range n.c.o.Events {
		if !n.seen[i] {
			a.NotSeen = append(a.NotSeen, name)
		}
	}
	if n.hasSpans {
		return
	}
	a.IsCount = true
	n.c.eachThread(func(t *thread) {
		t.Lifetime = 0
		for i := range t.Cells {
			cell := &t.Cells[i]
			cell.Ns = int64(min(cell.Count, math.MaxInt64/2))
			t.Lifetime += cell.Ns
		}
	})
}
