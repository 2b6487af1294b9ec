package tracks

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/label"
)

// typedItems makes items of typed events. It keeps the begin of a span until its end comes.
type typedItems struct {
	*resolver
	types    types
	values   []format.Value
	items    []Item
	args     []Arg
	buf      []byte // of a text
	names    *label.Names
	open     *bounded.Map[spanKey, spans]
	count    int // of spans that have begun
	memory   int // bytes that open spans take, about
	counting counterArgs
	// What events that stand for many have counted.
	counted *bounded.Map[countKey, *counted]
}

// openSpan is a span that has begun, and how many had before.
type openSpan struct {
	Item
	number int
}

const (
	maxBegun  = 1 << 14                 // keys with open spans
	maxNested = 64                      // open spans of one key
	maxOpen   = 64 << 20                // bytes of all open spans; from half of it on they are kept without their arguments
	maxText   = format.MaxValueText + 1 // bytes; encoders mark what is longer than [format.MaxValueText] as cut
	maxKey    = 256                     // bytes of a key
)

// spans are the open spans of a key, the latest last. Those beyond a bound are only counted.
type spans struct {
	open   []openSpan
	beyond int
}

// spanKey matches the end of a span with its begin. It holds no ids, because a span may cross sections.
type spanKey struct {
	typ   identity
	tid   int32
	start int64
	cpu   int64 // of what has no thread; -1: any
	key   string
}

func newTypedItems(r *resolver) typedItems {
	return typedItems{resolver: r, types: newTypes(r.defs), names: label.NewNames(r.defs), open: bounded.NewMap[spanKey, spans](maxBegun), counted: newCounted()}
}

// of returns the items of an event, valid until the next call.
func (d *typedItems) of(e *format.Event) []Item {
	d.items = d.items[:0]
	t := d.types.of(e.TypeID())
	if t == nil || t.isEntry {
		return nil
	}
	var ok bool
	if d.values, ok = t.def.AppendValues(d.values[:0], e); !ok {
		return nil
	}
	if t.isCounted {
		d.addCounts(t, e)
		return d.items
	}
	track := d.track(t, e)
	d.counters(t, e, track)
	if t.shape == format.TypeShape_SHAPE_INSTANT && len(d.items) > 0 && len(d.items) == len(d.values) {
		return d.items // it has no other fields
	}
	i := d.item(t, e)
	i.Track = track
	d.label(&i, t, e)
	if t.shape == format.TypeShape_SHAPE_BEGIN {
		i.Args = make([]Arg, 0, 1+len(d.values))
	} else {
		i.Args = d.args[:0]
	}
	if t.on == format.TypeTrack_TRACK_GLOBAL && i.Task != nil && t.shape != format.TypeShape_SHAPE_END {
		i.Args = append(i.Args, Arg{Name: threadName, Type: ArgTask, Task: i.Task})
	}
	d.crossThreads(&i, t)
	key := d.fill(&i, t, e)
	i.Link = d.link(t, e)
	if t.shape != format.TypeShape_SHAPE_BEGIN {
		d.args = i.Args
	}
	d.shape(t, e, i, key)
	return d.items
}

// item returns an item of a type without what its values determine.
func (d *typedItems) item(t *drawnType, e *format.Event) Item {
	at := e.Happened()
	return Item{On: t.on, Track: t.track, Task: d.task(e.Task), CPU: e.CPU, From: at, To: at, Open: e.Flags&format.FlagOpen != 0, Name: t.name, Type: t.name, Colour: t.colour, Nests: t.nests}
}

// label names an item by the template of its type, if that has one.
func (d *typedItems) label(i *Item, t *drawnType, e *format.Event) {
	if len(t.def.Label) > 0 {
		d.buf = d.names.Append(d.buf[:0], t.def, e, d.values)
		i.Name = string(d.buf)
	}
}

// crossThreads moves a span that began in another thread than it ended to the track of their process, or to one for all: it does not
// nest with those of either.
func (d *typedItems) crossThreads(i *Item, t *drawnType) {
	if t.beganBy < 0 || t.on != format.TypeTrack_TRACK_THREAD || i.Task == nil || !i.Task.IsThread() {
		return
	}
	from := d.task(format.TaskID(d.values[t.beganBy].ID()))
	if from == nil || !from.IsThread() || from.IsSame(i.Task) {
		return
	}
	i.Began, i.On = from, format.TypeTrack_TRACK_GLOBAL
	if pid := i.Task.Def.Pid; pid > 0 && from.Def.Pid == pid {
		i.On = format.TypeTrack_TRACK_PROCESS
	}
	i.Args = append(i.Args, Arg{Name: threadName, Type: ArgTask, Task: i.Task})
}

// fill sets name, arguments and stack of an item by the event's values, and returns its key.
func (d *typedItems) fill(i *Item, t *drawnType, e *format.Event) (key string) {
	for n := range d.values {
		v := &d.values[n]
		if n == t.counting {
			d.counting.add(i, v.Bytes)
		}
		if v.IsUnknown() || !v.Field.IsShown() {
			continue
		}
		switch format.ValueHint(v.Field.Hint) {
		case format.ValueHint_HINT_NAME:
			i.Name = cmp.Or(d.text(v, e), i.Name)
			if t.shape != format.TypeShape_SHAPE_END {
				continue
			}
		case format.ValueHint_HINT_KEY:
			key = d.key(v)
		}
		if n == t.stack {
			i.Stack = d.stack(format.StackID(v.ID()))
			continue
		}
		if a := d.arg(v, e); a.Type != ArgText || a.Text != "" {
			a.Name = t.args[n]
			i.Args = append(i.Args, a)
		}
	}
	return key
}

// shape adds the item of an event, unless it begins or ends a span whose other end is missing.
func (d *typedItems) shape(t *drawnType, e *format.Event, i Item, key string) {
	switch t.shape {
	case format.TypeShape_SHAPE_SPAN:
		i.Shape = ShapeSlice
		i.Interrupts = t.interrupts && (t.own < 0 || d.values[t.own].Number == 0)
		if start, isSpan := e.Start(); isSpan {
			i.From = min(start, i.To)
		}
	case format.TypeShape_SHAPE_BEGIN:
		i.Shape = ShapeSlice
		i.place()
		d.begin(d.spanKey(t, e, key), i)
		return
	case format.TypeShape_SHAPE_END:
		if !t.hasBegin || !d.end(d.spanKey(t, e, key), &i) {
			return
		}
	}
	i.place()
	d.items = append(d.items, i)
}

func (d *typedItems) begin(k spanKey, i Item) {
	s, _ := d.open.Get(k)
	if d.memory+i.memory() > maxOpen/2 {
		i.Args = nil
	}
	if w := i.memory(); len(s.open) < maxNested && d.memory+w <= maxOpen {
		d.count++
		d.memory += w
		s.open = append(s.open, openSpan{i, d.count})
	} else {
		s.beyond++
	}
	d.open.Put(k, s)
}

// drop is called with the spans of a key that are dropped.
func (d *typedItems) drop(s spans) {
	for n := range s.open {
		d.memory -= s.open[n].memory()
	}
}

// memory is about the memory that an open span takes, in bytes.
func (i *Item) memory() int {
	w := int(unsafe.Sizeof(openSpan{})) + len(i.Name) + cap(i.Args)*int(unsafe.Sizeof(Arg{}))
	for n := range i.Args {
		w += len(i.Args[n].Text)
	}
	return w
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
	first := s.open[last].Item
	d.memory -= first.memory()
	s.open[last] = openSpan{}
	if s.open = s.open[:last]; last == 0 {
		d.open.Delete(k)
	} else {
		d.open.Put(k, s)
	}
	first.addEnd(i)
	*i = first
	return true
}

// addEnd adds the values of the end of a span to its begin. Values that are the same at both ends are shown once.
func (i *Item) addEnd(end *Item) {
	i.To = max(end.From, i.From)
	if i.Name == i.Type && end.Name != end.Type {
		i.Name = end.Name
	}
	switch {
	case end.Stack == nil || i.Stack != nil && end.Stack.isSame(i.Stack):
	case i.Stack == nil && i.arg(stackName) == nil:
		i.Stack = end.Stack
	default:
		i.Args = append(i.Args, Arg{Name: stackName + atEnd, Type: ArgStack, Stack: end.Stack})
	}
	for n := range end.Args {
		a := &end.Args[n]
		name, repeated := strings.CutSuffix(a.Name, atEnd)
		if of := i.arg(name); !repeated || of == nil || !of.isSame(a) {
			i.Args = append(i.Args, *a)
		}
	}
}

func (a *Arg) isSame(b *Arg) bool {
	if a.Type != b.Type {
		return false
	}
	switch a.Type {
	case ArgText:
		return a.Text == b.Text
	case ArgTask:
		return a.Task.IsSame(b.Task)
	case ArgStack:
		return a.Stack.isSame(b.Stack)
	}
	return a.Number == b.Number
}

func (d *typedItems) spanKey(t *drawnType, e *format.Event, key string) spanKey {
	k := spanKey{typ: t.begins, cpu: -1, key: key}
	if key != "" {
		return k
	}
	task := d.defs.Task(e.Task)
	switch {
	case !task.IsLost() && !task.IsIdle():
		k.tid, k.start = task.Tid, task.Start
	case e.Task != 0 || t.isByCPU:
		k.cpu = int64(e.CPU)
	}
	return k
}

// track returns the name of an event's track.
func (d *typedItems) track(t *drawnType, e *format.Event) string {
	if t.perTrack < 0 || t.perTrack >= len(d.values) {
		return t.track
	}
	return t.trackOf(d.text(&d.values[t.perTrack], e))
}

// counters adds an item for each value that is drawn as a counter.
func (d *typedItems) counters(t *drawnType, e *format.Event, track string) {
	prefix := t.counters
	if track != t.track {
		prefix = track + " "
	}
	for n := range d.values {
		v := &d.values[n]
		if !v.Field.IsCounter() || v.IsUnknown() {
			continue
		}
		name := prefix + string(v.Field.Name)
		if start, isSpan := e.Start(); isSpan && n > 0 && d.values[n-1].Field.Hint == uint32(format.ValueHint_HINT_COUNTER_AT_START) {
			d.counter(t, e, &d.values[n-1], name, start)
		}
		d.counter(t, e, v, name, e.Happened())
	}
}

func (d *typedItems) counter(t *drawnType, e *format.Event, v *format.Value, name string, at int64) {
	if !isFinite(number(v)) {
		return
	}
	i := d.item(t, e)
	if v.Field.Hint == uint32(format.ValueHint_HINT_PROCESS_COUNTER) && i.On == format.TypeTrack_TRACK_THREAD {
		i.On = format.TypeTrack_TRACK_PROCESS
	}
	i.From, i.To = at, at
	i.Shape, i.Track, i.Name, i.Value, i.Unit = ShapeCounter, name, name, number(v), unitOf(v.Field)
	i.place()
	d.items = append(d.items, i)
}

// unitOf returns the unit of a field's numbers.
func unitOf(f *format.TypeField) string {
	if f.Is(format.ValueType_VALUE_DURATION) {
		return "ns"
	}
	return string(f.Unit)
}

// isFinite reports whether f is a number that JSON and viewers have; infinity and NaN are shown as text.
func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// isShown reports whether viewers show an unsigned number as it is: in Perfetto's engine, numbers from 2^63 on are negative.
func isShown(n uint64) bool { return n <= math.MaxInt64 }

func isHex(v *format.Value) bool { return v.Field.Hint == uint32(format.ValueHint_HINT_HEX) }

func number(v *format.Value) float64 {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_FLOAT:
		return v.Float()
	case format.ValueType_VALUE_INT, format.ValueType_VALUE_DURATION, format.ValueType_VALUE_ENUM:
		return float64(v.Int())
	}
	return float64(v.Number)
}

// arg returns a value as an argument without its name.
func (d *typedItems) arg(v *format.Value, e *format.Event) Arg {
	a := Arg{Type: ArgText, Number: v.Number, Unit: string(v.Field.Unit)}
	if v.Field.List {
		a.Text = d.text(v, e)
		return a
	}
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_UINT:
		if !isHex(v) && isShown(v.Number) {
			a.Type = ArgUint
		}
	case format.ValueType_VALUE_INT:
		if !isHex(v) {
			a.Type = ArgInt
		}
	case format.ValueType_VALUE_DURATION:
		a.Type, a.Unit = ArgInt, "ns"
	case format.ValueType_VALUE_TIME:
		a.Type, a.Unit, a.Number = ArgInt, "ns", uint64(e.Happened()-v.Int())
	case format.ValueType_VALUE_FLOAT:
		if isFinite(v.Float()) {
			a.Type = ArgFloat
		}
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

// key returns a value as a key by which the two ends of a span are matched, also if they are in different sections. An id whose
// definition is lost only matches within its section.
func (d *typedItems) key(v *format.Value) string {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_BOOL:
		return strconv.FormatBool(v.Number != 0)
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		return textKey(v.Bytes)
	case format.ValueType_VALUE_TEXT:
		if t := d.defs.Text(v.ID()); t != nil {
			return textKey(t.Text)
		}
	case format.ValueType_VALUE_TASK:
		if t := d.defs.Task(format.TaskID(v.ID())); !t.IsLost() {
			return fmt.Sprintf("%d %d", t.Tid, t.Start)
		}
	case format.ValueType_VALUE_STACK:
		if s := d.stack(format.StackID(v.ID())); s.isKnown() {
			return s.places()
		}
	default:
		return strconv.FormatUint(v.Number, 10)
	}
	if v.Number == 0 {
		return "none"
	}
	return fmt.Sprintf("lost %d %d", d.section, v.Number)
}

// textKey returns a key of bounded length for a text.
func textKey(text []byte) string {
	if len(text) <= maxKey {
		return "=" + string(text)
	}
	sum := sha256.Sum256(text)
	return "#" + string(sum[:])
}

// text returns a value as text, cut to what is shown.
func (d *typedItems) text(v *format.Value, e *format.Event) string {
	d.buf = label.AppendValue(d.buf[:0], v, e, d.defs, maxText)
	return string(d.buf)
}

// close returns the spans that are still open, ended at a time and marked Open, and what was counted last. The slice is valid until the next call.
func (d *typedItems) close(at int64) []Item {
	var open []openSpan
	for s := range d.open.Values() {
		open = append(open, s.open...)
	}
	// Those inside others come first, as they would have ended.
	slices.SortFunc(open, func(a, b openSpan) int { return cmp.Or(cmp.Compare(b.From, a.From), b.number-a.number) })
	d.items = d.items[:0]
	for _, one := range open {
		one.To, one.Open = max(at, one.From), true
		d.items = append(d.items, one.Item)
	}
	d.open.Clear()
	d.memory = 0
	d.closeCounts()
	return d.items
}
