package tracks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/internal/bounded"
)

// Definitions looks up ids of the current section; nil: unknown. [format.Reader] is one.
type Definitions interface {
	EventType(id uint32) *format.EventType
	Text(id uint32) *format.Text
	Task(format.TaskID) *format.Task
}

// Typed makes items of typed events. It keeps the begin of a span until its end comes.
type Typed struct {
	defs   Definitions
	values []format.Value
	items  []Item
	open   *bounded.Map[spanKey, spans]

	section, count int
}

// openSpan is a span that has begun, and the section whose ids it has.
type openSpan struct {
	Item
	section, number int
}

const (
	maxBegun  = 1 << 14 // keys with open spans
	maxNested = 64      // open spans of one key
	maxText   = 4096    // bytes of a value as text
	maxKey    = 256     // bytes of a key
)

// spans are the open spans of a key, the latest last. Those beyond maxNested are only counted.
type spans struct {
	open   []openSpan
	beyond int
}

// spanKey matches the end of a span with its begin. It holds no ids, because a span may cross sections.
type spanKey struct {
	typ, group string
	tid        int32
	start      int64
	key        string
}

// NewTyped returns a Typed that looks definitions up in defs.
func NewTyped(defs Definitions) *Typed {
	return &Typed{defs: defs, open: bounded.NewMap[spanKey, spans](maxBegun)}
}

// NewSection is called when ids change their meaning.
func (d *Typed) NewSection() { d.section++ }

// Items are what is drawn of an event, valid until the next call.
func (d *Typed) Items(e *format.Event) []Item {
	d.items = d.items[:0]
	t := d.defs.EventType(e.TypeID())
	if t.IsLost() {
		return nil
	}
	var ok bool
	if d.values, ok = t.AppendValues(d.values[:0], e); !ok {
		return nil
	}
	at := e.Happened()
	on := format.TypeTrack(t.On)
	hasCounters := d.counters(t, e, on, at)
	if shape := format.TypeShape(t.Shape); shape == format.TypeShape_SHAPE_INSTANT && hasCounters {
		return d.items
	}
	i := Item{On: on, Track: string(t.Track), Task: e.Task, CPU: e.CPU, From: at, To: at, Open: e.Flags&format.FlagOpen != 0, Name: string(t.Name)}
	var key string
	for n := range d.values {
		v := &d.values[n]
		switch format.ValueHint(v.Field.Hint) {
		case format.ValueHint_HINT_NAME:
			i.Name = d.text(v, e)
			continue
		case format.ValueHint_HINT_KEY:
			key = d.key(v)
		}
		if format.ValueType(v.Field.Type) == format.ValueType_VALUE_STACK && !v.Field.List && i.Stack == 0 {
			i.Stack = format.StackID(v.ID())
			continue
		}
		a := d.arg(v, e)
		if t.Shape == uint32(format.TypeShape_SHAPE_BEGIN) {
			a = d.lasting(a, v, e)
		}
		if a.Type != ArgText || a.Text != "" {
			i.Args = append(i.Args, a)
		}
	}
	d.shape(t, e, i, key)
	return d.items
}

// shape adds the item of an event, unless it only begins or ends a span whose other end is not there.
func (d *Typed) shape(t *format.EventType, e *format.Event, i Item, key string) {
	start, isSpan := e.Start()
	if i.Track == "" && (t.Shape != uint32(format.TypeShape_SHAPE_INSTANT) || i.On != format.TypeTrack_TRACK_THREAD) {
		i.Track = string(t.Name)
	}
	switch format.TypeShape(t.Shape) {
	case format.TypeShape_SHAPE_SPAN:
		i.Shape, i.From = Slice, i.To
		if isSpan {
			i.From = min(start, i.To)
		}
	case format.TypeShape_SHAPE_BEGIN:
		d.begin(d.spanKey(t, e, key), i)
		return
	case format.TypeShape_SHAPE_END:
		begins := d.defs.EventType(t.Ends)
		if begins.IsLost() || !d.end(d.spanKey(begins, e, key), &i) {
			return
		}
	}
	d.items = append(d.items, i)
}

func (d *Typed) begin(k spanKey, i Item) {
	s, _ := d.open.Get(k)
	if len(s.open) < maxNested {
		d.count++
		s.open = append(s.open, openSpan{i, d.section, d.count})
	} else {
		s.beyond++
	}
	d.open.Put(k, s)
}

// end makes the item of an end that of its span. It returns false if none is open.
func (d *Typed) end(k spanKey, i *Item) bool {
	s, _ := d.open.Get(k)
	if s.beyond > 0 {
		s.beyond--
		d.open.Put(k, s)
		return false
	}
	last := len(s.open) - 1
	if last < 0 {
		return false
	}
	first := s.open[last]
	s.open[last] = openSpan{}
	if s.open = s.open[:last]; last == 0 {
		d.open.Delete(k)
	} else {
		d.open.Put(k, s)
	}
	if first.section != d.section {
		first.Task, first.Stack = i.Task, 0
	}
	first.Shape, first.To = Slice, max(i.From, first.From)
	first.Args = append(first.Args, i.Args...)
	*i = first.Item
	return true
}

func (d *Typed) spanKey(t *format.EventType, e *format.Event, key string) spanKey {
	k := spanKey{typ: string(t.Name), group: string(t.Group), key: key}
	if task := d.defs.Task(e.Task); key == "" && !task.IsLost() {
		k.tid, k.start = task.Tid, task.Start
	}
	return k
}

// counters adds an item for each value that is drawn as a counter.
func (d *Typed) counters(t *format.EventType, e *format.Event, on format.TypeTrack, at int64) (any bool) {
	for n := range d.values {
		v := &d.values[n]
		if v.Field.Hint != uint32(format.ValueHint_HINT_COUNTER) || math.IsNaN(number(v)) || math.IsInf(number(v), 0) {
			continue
		}
		name := string(v.Field.Name)
		if track := string(t.Track); track != "" {
			name = track + " " + name
		}
		d.items = append(d.items, Item{Shape: Counter, On: on, Track: name, Task: e.Task, CPU: e.CPU, From: at, To: at, Name: name, Value: number(v), Unit: string(v.Field.Unit)})
		any = true
	}
	return any
}

func number(v *format.Value) float64 {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_FLOAT:
		return v.Float()
	case format.ValueType_VALUE_INT, format.ValueType_VALUE_DURATION, format.ValueType_VALUE_ENUM, format.ValueType_VALUE_TIME:
		return float64(v.Int())
	}
	return float64(v.Number)
}

func (d *Typed) arg(v *format.Value, e *format.Event) Arg {
	a := Arg{Name: string(v.Field.Name), Type: ArgText, Number: v.Number}
	if v.Field.List {
		var parts []string
		for one := range v.Elements(e.TimeBase()) {
			if parts = append(parts, d.text(&one, e)); len(parts) == maxText/2 {
				break
			}
		}
		a.Text = clipped(strings.Join(parts, ", "), maxText)
		return a
	}
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_UINT:
		if v.Field.Hint != uint32(format.ValueHint_HINT_HEX) {
			a.Type = ArgUint
		}
	case format.ValueType_VALUE_INT:
		a.Type = ArgInt
	case format.ValueType_VALUE_DURATION:
		a.Type, a.Name = ArgInt, a.Name+"_ns"
	case format.ValueType_VALUE_TIME:
		a.Type, a.Name, a.Number = ArgInt, a.Name+"_before_ns", uint64(e.Happened()-v.Int())
	case format.ValueType_VALUE_FLOAT:
		a.Type = ArgFloat
	case format.ValueType_VALUE_TASK:
		a.Type, a.Number = ArgTask, uint64(v.ID())
	case format.ValueType_VALUE_STACK:
		a.Type, a.Number = ArgStack, uint64(v.ID())
	}
	if a.Type == ArgText {
		a.Text = d.text(v, e)
	}
	return a
}

// lasting is an argument that does not depend on the section's ids.
func (d *Typed) lasting(a Arg, v *format.Value, e *format.Event) Arg {
	if a.Type == ArgTask || a.Type == ArgStack {
		a = Arg{Name: a.Name, Type: ArgText}
		if v.Field.Is(format.ValueType_VALUE_TASK) {
			a.Text = d.text(v, e)
		}
	}
	return a
}

// key is a value by which the two ends of a span are matched.
func (d *Typed) key(v *format.Value) string {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		return "=" + clipped(string(v.Bytes), maxKey)
	case format.ValueType_VALUE_TEXT:
		if t := d.defs.Text(v.ID()); t != nil {
			return "=" + clipped(string(t.Text), maxKey)
		}
	case format.ValueType_VALUE_TASK:
		if t := d.defs.Task(format.TaskID(v.ID())); !t.IsLost() {
			return fmt.Sprintf("%d %d", t.Tid, t.Start)
		}
	}
	return strconv.FormatUint(v.Number, 10)
}

func clipped(s string, most int) string { return s[:min(len(s), most)] }

// text is a value as text, as much as is shown of it.
func (d *Typed) text(v *format.Value, e *format.Event) string {
	return clipped(d.wholeText(v, e), maxText)
}

func (d *Typed) wholeText(v *format.Value, e *format.Event) string {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_BOOL:
		return strconv.FormatBool(v.Number != 0)
	case format.ValueType_VALUE_FLOAT:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		return string(v.Bytes)
	case format.ValueType_VALUE_TEXT:
		if v.Number == 0 {
			return ""
		}
		return string(cmp.Or(d.defs.Text(v.ID()), format.LostText(v.ID())).Text)
	case format.ValueType_VALUE_ENUM:
		if name := v.Field.EnumName(v.Int()); name != nil {
			return string(name)
		}
		return strconv.FormatInt(v.Int(), 10)
	case format.ValueType_VALUE_INT, format.ValueType_VALUE_DURATION:
		return strconv.FormatInt(v.Int(), 10)
	case format.ValueType_VALUE_TIME:
		return strconv.FormatInt(e.Happened()-v.Int(), 10)
	case format.ValueType_VALUE_TASK:
		if t := d.defs.Task(format.TaskID(v.ID())); !t.IsLost() {
			return string(t.Comm) + " " + strconv.Itoa(int(t.Tid))
		}
		return ""
	}
	if v.Field.Hint == uint32(format.ValueHint_HINT_HEX) {
		return fmt.Sprintf("%#x", v.Number)
	}
	return strconv.FormatUint(v.Number, 10)
}

// Close returns the spans that are still open, ended at a time and marked Open, without their stacks: the ids may be those of
// another section already. Spans of threads and processes that began in an earlier section are left out, because no id names
// their thread any more. The slice is valid until the next call.
func (d *Typed) Close(at int64) []Item {
	var open []openSpan
	for s := range d.open.Values() {
		for _, one := range s.open {
			if one.section != d.section {
				one.Task = 0
			}
			if one.section == d.section || one.On == format.TypeTrack_TRACK_CPU || one.On == format.TypeTrack_TRACK_GLOBAL {
				open = append(open, one)
			}
		}
	}
	// Those inside others come first, as they would have ended.
	slices.SortFunc(open, func(a, b openSpan) int { return cmp.Or(cmp.Compare(b.From, a.From), b.number-a.number) })
	d.items = d.items[:0]
	for _, one := range open {
		one.Shape, one.To, one.Open, one.Stack = Slice, max(at, one.From), true, 0
		d.items = append(d.items, one.Item)
	}
	d.open.Clear()
	return d.items
}
