package profile

import (
	"cmp"
	"errors"
	"fmt"
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
	counted  uint64 // events of those that stand for many
}

func newEventCounter(c *collector) *eventCounter {
	n := &eventCounter{c: c, seen: make([]bool, len(c.o.Events)), labels: make(map[*format.Task]LabelID), pairs: tracks.NewMaker(c.r)}
	n.pairs.ShowPython(c.o.Python)
	for _, k := range format.Kinds() {
		if k.IsPlain() && !c.o.Probes {
			n.kinds[k.Kind] = slices.Index(c.o.Events, k.Name) + 1
		}
	}
	return n
}

func (n *eventCounter) newSection(s *format.Session) {
	n.pairs.NewSection(s)
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
		if n.c.o.Weight.Arg != "" {
			n.c.p.About.NoNumber++
			return
		}
		n.add(e, n.c.taskLabel(e.Task), e.Stack(), 0, 1)
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
		number, ok := n.weight()
		if !ok {
			n.c.p.About.NoNumber++
			return
		}
		label, count := n.c.taskLabel(e.Task), uint64(1)
		if fields, isCounted := t.Counts(); isCounted {
			count = n.values[fields.Events].Number
			label = cmp.Or(label, n.keyLabel(n.values[:fields.Events]))
		} else if period, isSample := t.Sampled(); isSample {
			count = n.values[period].Number
		}
		if count > math.MaxInt64/2-n.counted {
			n.c.fail(errTooMany)
			return
		}
		n.counted += count
		n.add(e, label, stackIn(n.values), number, count)
	}
}

// weight returns the number in the field that is the weight, 0 without one; false: there is none that can be added up.
func (n *eventCounter) weight() (number int64, ok bool) {
	arg := n.c.o.Weight.Arg
	if arg == "" {
		return 0, true
	}
	for i := range n.values {
		v := &n.values[i]
		if string(v.Field.Name) != arg || v.Field.List || v.IsUnknown() || !v.Field.IsShown() {
			continue
		}
		switch format.ValueType(v.Field.Type) {
		case format.ValueType_VALUE_UINT:
			return int64(v.Number), v.Number <= math.MaxInt64
		case format.ValueType_VALUE_INT, format.ValueType_VALUE_DURATION:
			return v.Int(), v.Int() >= 0
		case format.ValueType_VALUE_FLOAT:
			f := v.Float()
			return int64(f), f >= 0 && f < math.MaxInt64
		}
	}
	return 0, false
}

// nameOf returns the index of a type's name in Options.Events; -1: it is not there. The end of a span has the name of its begin. The
// entries of spans are left out, because the spans count.
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
	if !named.IsLost() && !named.Entry {
		name = n.match(named)
	}
	n.types.Put(id, name+2)
	return name
}

// match returns the index in Options.Events; -1: it is not there.
func (n *eventCounter) match(t *format.EventType) int {
	names := []string{string(t.Name)}
	if n.c.o.Probes && len(t.Probe) == 0 {
		return -1
	}
	if n.c.o.Probes {
		names = []string{string(t.Probe), string(t.Name)}
	}
	for _, one := range names {
		if i := slices.Index(n.c.o.Events, one); i >= 0 {
			return i
		}
	}
	n.c.p.About.OtherEvents = appendOther(n.c.p.About.OtherEvents, names[0])
	return -1
}

// appendOther adds a name for a message that lists a few of those that are there.
func appendOther(names []string, name string) []string {
	const few = 10
	if len(names) == few || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
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

// keyLabel returns the label of events that were counted by the name of the thread; 0: they were not.
func (n *eventCounter) keyLabel(key []format.Value) LabelID {
	for i := range key {
		v := &key[i]
		if string(v.Field.Name) != "comm" || !v.Field.Is(format.ValueType_VALUE_STRING) || v.Field.List || v.IsUnknown() {
			continue
		}
		name := n.c.name(v.Bytes)
		if len(n.c.p.Labels) >= n.c.labelLimit() {
			name = MoreThreads
		}
		return n.c.internLabel(Label{Comm: name, Process: name, ProcessComm: name})
	}
	return 0
}

// add counts an instant that stands for count events, or a span that is one event. number is its weight, with Weight.Arg.
func (n *eventCounter) add(e *format.Event, label LabelID, stack format.StackID, number int64, count uint64) {
	if label == 0 {
		label = n.c.internLabel(Label{Comm: noThread, Process: noThread})
	}
	to := e.Happened()
	from, isSpan := e.Start()
	if !isSpan {
		from = to
	}
	n.hasSpans = n.hasSpans || isSpan
	at := n.c.interner.stack(stack)
	if n.c.o.Weight.Arg != "" {
		n.put(label, e.CPU, at, to, to, number, count)
		return
	}
	n.count(label, e.CPU, at, from, to, count)
}

// addSpans counts spans whose begin and end are two events, perhaps of different sections.
func (n *eventCounter) addSpans(items []tracks.Item) {
	for i := range items {
		item := &items[i]
		if item.Shape != tracks.ShapeSlice {
			continue
		}
		if n.c.o.Weight.Arg != "" {
			n.c.p.About.NoNumber++
			continue
		}
		n.hasSpans = true
		n.count(n.label(item.Task), item.CPU, n.c.interner.drawn(item.Stack), item.From, item.To, 1)
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

// count adds events to the threads of one label. The part of a span before the window does not count.
func (n *eventCounter) count(label LabelID, cpu uint32, at resolved, from, to int64, count uint64) {
	from = min(max(from, n.c.opened), to)
	n.put(label, cpu, at, from, to, to-from, count)
}

// put adds events with a weight to a cell.
func (n *eventCounter) put(label LabelID, cpu uint32, at resolved, from, to, weight int64, count uint64) {
	c := n.c
	if weight > math.MaxInt64/2-c.total {
		c.fail(n.errTooMuch())
		return
	}
	c.total += weight
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
	t.Lifetime += weight
	key := CellKey{Class: ClassEvent, CPU: cpu, Label: label, Stack: at.node}
	if c.o.Weight.Arg == "" {
		c.add(t, key, from, to, count)
		return
	}
	if !c.o.CPUs {
		key.CPU = NoCPU
	}
	cell := c.cell(t, key)
	cell.Ns += weight
	cell.Count += count
}

var errTooMany = errors.New("more than 2^62 events were counted; take a part of the capture with --start and --end")

func (n *eventCounter) errTooMuch() error {
	if arg := n.c.o.Weight.Arg; arg != "" {
		return fmt.Errorf("the numbers in %s add up to more than 2^62; take a part of it with --start and --end", arg)
	}
	return errTooLong
}

// finish sets each cell's time to its count, unless there are spans.
func (n *eventCounter) finish() {
	a := &n.c.p.About
	for i, name := range n.c.o.Events {
		if !n.seen[i] {
			a.NotSeen = append(a.NotSeen, name)
		}
	}
	if a.SumOf != "" || n.hasSpans && !n.c.o.Weight.Count {
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
