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

// typedItems makes items of typed events. It keeps the begin of a span until its end comes.
type typedItems struct {
	*resolver
	values []format.Value
	items  []Item
	open   *bounded.Map[spanKey, spans]
	count  int // of spans that have begun
}

// openSpan is a span that has begun, and how many had before.
type openSpan struct {
	Item
	number int
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

// of returns the items of an event, valid until the next call.
func (d *typedItems) of(e *format.Event) []Item {
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
	i := Item{On: on, Track: string(t.Track), Task: d.task(e.Task), CPU: e.CPU, From: at, To: at, Open: e.Flags&format.FlagOpen != 0, Name: string(t.Name), Type: string(t.Name), Colour: string(t.Colour)}
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
		if format.ValueType(v.Field.Type) == format.ValueType_VALUE_STACK && !v.Field.List && i.Stack == nil {
			i.Stack = d.stack(format.StackID(v.ID()))
			continue
		}
		if a := d.arg(v, e); a.Type != ArgText || a.Text != "" {
			i.Args = append(i.Args, a)
		}
	}
	d.shape(t, e, i, key)
	return d.items
}

// shape adds the item of an event, unless it begins or ends a span whose other end is missing.
func (d *typedItems) shape(t *format.EventType, e *format.Event, i Item, key string) {
	start, isSpan := e.Start()
	if i.Track == "" && (t.Shape != uint32(format.TypeShape_SHAPE_INSTANT) || i.On != format.TypeTrack_TRACK_THREAD) {
		i.Track = string(t.Name)
	}
	switch format.TypeShape(t.Shape) {
	case format.TypeShape_SHAPE_SPAN:
		i.Shape, i.From = ShapeSlice, i.To
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

func (d *typedItems) begin(k spanKey, i Item) {
	s, _ := d.open.Get(k)
	if len(s.open) < maxNested {
		d.count++
		s.open = append(s.open, openSpan{i, d.count})
	} else {
		s.beyond++
	}
	d.open.Put(k, s)
}

// end turns the item of an end into that of its span. It returns false if no span is open.
func (d *typedItems) end(k spanKey, i *Item) bool {
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
	first.Shape, first.To = ShapeSlice, max(i.From, first.From)
	first.Args = append(first.Args, i.Args...)
	*i = first.Item
	return true
}

func (d *typedItems) spanKey(t *format.EventType, e *format.Event, key string) spanKey {
	k := spanKey{typ: string(t.Name), group: string(t.Group), key: key}
	if task := d.defs.Task(e.Task); key == "" && !task.IsLost() {
		k.tid, k.start = task.Tid, task.Start
	}
	return k
}

// counters adds an item for each value that is drawn as a counter.
func (d *typedItems) counters(t *format.EventType, e *format.Event, on format.TypeTrack, at int64) (any bool) {
	for n := range d.values {
		v := &d.values[n]
		if v.Field.Hint != uint32(format.ValueHint_HINT_COUNTER) || math.IsNaN(number(v)) || math.IsInf(number(v), 0) {
			continue
		}
		name := string(v.Field.Name)
		if track := string(t.Track); track != "" {
			name = track + " " + name
		}
		d.items = append(d.items, Item{Shape: ShapeCounter, On: on, Track: name, Task: d.task(e.Task), CPU: e.CPU, From: at, To: at, Name: name, Type: string(t.Name), Value: number(v), Unit: string(v.Field.Unit)})
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

func (d *typedItems) arg(v *format.Value, e *format.Event) Arg {
	a := Arg{Name: string(v.Field.Name), Type: ArgText, Number: v.Number, Unit: string(v.Field.Unit)}
	if v.Field.List {
		var all strings.Builder
		for one := range v.Elements(e.TimeBase()) {
			if all.Len() > 0 {
				all.WriteString(", ")
			}
			if all.WriteString(d.text(&one, e)); all.Len() >= maxText {
				break
			}
		}
		a.Text = clipped(all.String(), maxText)
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
		a.Type, a.Name, a.Unit = ArgInt, a.Name+"_ns", "ns"
	case format.ValueType_VALUE_TIME:
		a.Type, a.Name, a.Unit, a.Number = ArgInt, a.Name+"_before_ns", "ns", uint64(e.Happened()-v.Int())
	case format.ValueType_VALUE_FLOAT:
		a.Type = ArgFloat
	case format.ValueType_VALUE_TASK:
		if a.Task = d.task(format.TaskID(v.ID())); a.Task != nil {
			a.Type = ArgTask
		}
	case format.ValueType_VALUE_STACK:
		if a.Stack = d.stack(format.StackID(v.ID())); a.Stack != nil {
			a.Type = ArgStack
		}
	}
	if a.Type == ArgText {
		a.Text = d.text(v, e)
	}
	return a
}

// key returns a value as a key by which the two ends of a span are matched.
func (d *typedItems) key(v *format.Value) string {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		return "=" + string(clipped(v.Bytes, maxKey))
	case format.ValueType_VALUE_TEXT:
		if t := d.defs.Text(v.ID()); t != nil {
			return "=" + string(clipped(t.Text, maxKey))
		}
	case format.ValueType_VALUE_TASK:
		if t := d.defs.Task(format.TaskID(v.ID())); !t.IsLost() {
			return fmt.Sprintf("%d %d", t.Tid, t.Start)
		}
	}
	return strconv.FormatUint(v.Number, 10)
}

func clipped[T string | []byte](text T, most int) T { return text[:min(len(text), most)] }

// text returns a value as text, cut to what is shown.
func (d *typedItems) text(v *format.Value, e *format.Event) string {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_BOOL:
		return strconv.FormatBool(v.Number != 0)
	case format.ValueType_VALUE_FLOAT:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		return string(clipped(v.Bytes, maxText))
	case format.ValueType_VALUE_TEXT:
		if v.Number == 0 {
			return ""
		}
		return string(clipped(cmp.Or(d.defs.Text(v.ID()), format.LostText(v.ID())).Text, maxText))
	case format.ValueType_VALUE_ENUM:
		if name := v.Field.EnumName(v.Int()); name != nil {
			return string(clipped(name, maxText))
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

// close returns the spans that are still open, ended at a time and marked Open. The slice is valid until the next call.
func (d *typedItems) close(at int64) []Item {
	var open []openSpan
	for s := range d.open.Values() {
		open = append(open, s.open...)
	}
	// Those inside others come first, as they would have ended.
	slices.SortFunc(open, func(a, b openSpan) int { return cmp.Or(cmp.Compare(b.From, a.From), b.number-a.number) })
	d.items = d.items[:0]
	for _, one := range open {
		one.Shape, one.To, one.Open = ShapeSlice, max(at, one.From), true
		d.items = append(d.items, one.Item)
	}
	d.open.Clear()
	return d.items
}
