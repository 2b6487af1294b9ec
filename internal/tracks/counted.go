package tracks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/histogram"
)

// countKey identifies what events were counted by, in all sections.
type countKey struct {
	on    format.TypeTrack
	tid   int32
	start int64
	cpu   uint32
	name  string
}

// counted is what was counted of a key in an interval. It is drawn when the next interval is known, or none.
type counted struct {
	Item      // from the beginning of the interval to its end, without a name
	events    float64
	sum       float64
	unit      string // of the sum and the buckets
	hasSum    bool
	isSpread  bool // there are buckets
	histogram histogram.Counts
}

// tid is the thread of a counter that belongs to one.
func (c *counted) tid() int32 {
	if c.Task == nil {
		return 0
	}
	return c.Task.Def.Tid
}

const (
	maxCounted  = 1 << 12 // keys of which intervals are kept
	maxKeyShown = 200     // bytes of a counter's name before the field
	hashShown   = 4       // bytes of the hash of longer ones
)

func newCounted() *bounded.Map[countKey, *counted] {
	return bounded.NewMap[countKey, *counted](maxCounted)
}

// addCounts takes an event that stands for many, and draws the interval of its key before.
func (d *typedItems) addCounts(t *drawnType, e *format.Event) {
	c := d.countsOf(t, e)
	key := countKey{on: c.On, name: c.Track}
	switch c.On {
	case format.TypeTrack_TRACK_THREAD, format.TypeTrack_TRACK_PROCESS:
		key.tid, key.start = c.Task.Def.Tid, c.Task.Def.Start
	case format.TypeTrack_TRACK_CPU:
		key.cpu = c.CPU
	}
	before, found := d.counted.Get(key)
	if found && before.isSameInterval(c) {
		before.add(c)
		return
	}
	if found {
		d.drawCounts(before, c.From)
	}
	d.counted.Put(key, c)
}

// countsOf reads the numbers of an event, and what they are the counts of.
func (d *typedItems) countsOf(t *drawnType, e *format.Event) *counted {
	c := &counted{Item: d.item(t, e)}
	c.Shape, c.Group = ShapeCounter, t.countGroup()
	c.Track = d.countTrack(t, e)
	c.place()
	c.events = float64(d.values[t.counts.Events].Number)
	if n := t.counts.Interval; n >= 0 && !d.values[n].IsUnknown() {
		c.From = max(0, c.To-max(0, d.values[n].Int()))
	}
	if n := t.counts.Sum; n >= 0 && !d.values[n].IsUnknown() && isFinite(number(&d.values[n])) {
		c.sum, c.hasSum, c.unit = number(&d.values[n]), true, unitOf(d.values[n].Field)
	}
	if n := t.counts.Buckets; n >= 0 && !d.values[n].IsUnknown() {
		c.isSpread, c.unit = true, cmp.Or(c.unit, unitOf(d.values[n].Field))
		c.histogram.AddAll(d.values[n].Numbers())
	}
	return c
}

// countGroup returns what the names of a type's counters begin with.
func (t *drawnType) countGroup() string {
	if t.track == "" || strings.Contains(t.track, t.name) {
		return cmp.Or(t.track, t.name)
	}
	return t.track + " " + t.name
}

// countTrack returns the name of a counter without its field: the type's, then the values of the key. Different keys have different names;
// stacks are no part of them, because there may be very many.
func (d *typedItems) countTrack(t *drawnType, e *format.Event) string {
	var b strings.Builder
	b.WriteString(t.countGroup())
	for n := range d.values[:t.counts.Events] {
		v := &d.values[n]
		if v.Field.Is(format.ValueType_VALUE_STACK) || !v.Field.IsShown() {
			continue
		}
		b.WriteString(" " + string(v.Field.Name) + "=")
		if v.IsUnknown() {
			b.WriteByte('?')
			continue
		}
		b.WriteString(keyText(d.text(v, e)))
	}
	return shortName(b.String())
}

// keyText writes a value so that none looks like another, or like two.
func keyText(text string) string {
	if quoted := strconv.Quote(text); text == "" || strings.ContainsAny(text, " =?") || quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

// shortName cuts a long name, and adds what distinguishes it from others that begin in the same way.
func shortName(name string) string {
	if len(name) <= maxKeyShown {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	at := maxKeyShown
	for !utf8.RuneStart(name[at]) {
		at--
	}
	return name[:at] + "… #" + hex.EncodeToString(sum[:hashShown])
}

// isSameInterval reports whether another event of the key, by another stack, is about the same interval. Times differ a little.
func (c *counted) isSameInterval(other *counted) bool { return other.From <= c.From+(c.To-c.From)/2 }

func (c *counted) add(other *counted) {
	c.To = max(c.To, other.To)
	c.events += other.events
	c.sum += other.sum
	c.hasSum, c.isSpread = c.hasSum || other.hasSum, c.isSpread || other.isSpread
	c.histogram.Merge(&other.histogram)
}

// drawCounts draws the counters of an interval, from its beginning on. next is when the next one of the key begins: unless that is where this
// one ends, about, they fall to 0 there.
func (d *typedItems) drawCounts(c *counted, next int64) {
	length := c.To - c.From
	falls := length > 0 && next > c.To+length/2
	d.drawCount(c, "events", "", c.events, falls)
	if c.hasSum {
		d.drawCount(c, "sum", c.unit, c.sum, falls)
		d.drawCount(c, "avg", c.unit, c.sum/max(1, c.events), falls)
	}
	if c.isSpread {
		d.drawCount(c, "p50", c.unit, c.histogram.Quantile(0.5), falls)
		d.drawCount(c, "p99", c.unit, c.histogram.Quantile(0.99), falls)
	}
}

func (d *typedItems) drawCount(c *counted, field, unit string, value float64, falls bool) {
	i := c.Item
	i.Track += " " + field
	i.Name, i.Unit, i.Value = i.Track, unit, value
	d.items = append(d.items, i)
	if falls {
		i.From, i.Value = i.To, 0
		d.items = append(d.items, i)
	}
}

// dropCounts draws the counters of a key that is dropped: nothing is known of the next interval.
func (d *typedItems) dropCounts(c *counted) { d.drawCounts(c, never) }

const never = 1<<63 - 1

// closeCounts draws the last interval of each key.
func (d *typedItems) closeCounts() {
	all := slices.SortedFunc(d.counted.Values(), func(a, b *counted) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Track, b.Track), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.tid(), b.tid()))
	})
	for _, c := range all {
		d.drawCounts(c, never)
	}
	d.counted.Clear()
}
