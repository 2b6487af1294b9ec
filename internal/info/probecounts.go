package info

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/histogram"
	"wprof/internal/label"
	"wprof/internal/stacks"
)

// probeCounts is what was counted of a probe in the kernel.
type probeCounts struct {
	keys    map[string]*keyCount
	beyond  keyCount         // of keys beyond maxKeys
	amounts histogram.Counts // of all
	unit    string           // of amounts
	hasSum  bool
}

// keyCount is what was counted of a key.
type keyCount struct {
	key     string
	events  uint64
	sum     float64
	amounts histogram.Counts
}

const (
	maxKeys     = 1 << 14 // that are counted apart, of all probes
	maxKeyValue = 128     // bytes of a value of a key
	maxKeyText  = 512     // bytes of a key
	keyFrames   = 3       // functions of a stack
	topKeys     = 20      // that are listed
	fewKeys     = 5       // of which each has a histogram of its own
)

// addCounts adds an event that stands for many.
func (p *probes) addCounts(of *probe, t *typeOf, e *format.Event) {
	c, fields := &of.counts, t.counts
	events := p.values[fields.Events].Number
	of.events = histogram.Sum(of.events, events)
	k := p.keyCount(c, p.key(t, e))
	k.events = histogram.Sum(k.events, events)
	if n := fields.Sum; n >= 0 && !p.values[n].IsUnknown() {
		c.hasSum, c.unit = true, cmp.Or(string(p.values[n].Field.Unit), c.unit)
		k.sum += sumOf(&p.values[n])
	}
	if n := fields.Buckets; n >= 0 && !p.values[n].IsUnknown() {
		var amounts histogram.Counts
		amounts.AddAll(p.values[n].Numbers())
		c.unit = cmp.Or(c.unit, string(p.values[n].Field.Unit))
		c.amounts.Merge(&amounts)
		k.amounts.Merge(&amounts)
		from := e.Happened()
		if i := fields.Interval; i >= 0 && !p.values[i].IsUnknown() {
			from -= max(0, p.values[i].Int())
		}
		of.heat.add(from, e.Happened(), &amounts)
	}
}

func (p *probes) keyCount(c *probeCounts, key string) *keyCount {
	if known := c.keys[key]; known != nil {
		return known
	}
	if p.keys == maxKeys {
		return &c.beyond
	}
	p.keys++
	if c.keys == nil {
		c.keys = make(map[string]*keyCount)
	}
	k := &keyCount{key: key}
	c.keys[key] = k
	return k
}

// sumOf returns a number as what can be added up.
func sumOf(v *format.Value) float64 {
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_FLOAT:
		return v.Float()
	case format.ValueType_VALUE_UINT, format.ValueType_VALUE_BOOL:
		return float64(v.Number)
	}
	return float64(v.Int())
}

// key returns the values by which an event was counted, then the innermost functions of stacks.
func (p *probes) key(t *typeOf, e *format.Event) string {
	var parts, places []string
	for i := range p.values[:t.counts.Events] {
		v := &p.values[i]
		switch {
		case !v.Field.IsShown():
		case v.Field.Is(format.ValueType_VALUE_STACK) && !v.Field.List:
			places = append(places, "at "+p.innermost(format.StackID(v.ID())))
		case v.IsUnknown():
			parts = append(parts, string(v.Field.Name)+"=?")
		default:
			parts = append(parts, string(v.Field.Name)+"="+string(label.AppendValue(nil, v, e, p.r, maxKeyValue)))
		}
	}
	key := strings.Join(append(parts, places...), " ")
	return key[:min(len(key), maxKeyText)]
}

// innermost returns the names of the functions in which a stack ends, the called one first.
func (p *probes) innermost(id format.StackID) string {
	s := p.r.Stack(id)
	if id == 0 {
		return "no stack"
	}
	if s == nil {
		return stacks.LostFrame
	}
	var names []string
	for _, frame := range slices.Backward(s.Frames) {
		f := p.r.Frame(frame)
		if f == nil {
			names = append(names, stacks.LostFrame)
		} else {
			names = append(names, p.functions(f)...)
		}
		if len(names) >= keyFrames {
			break
		}
	}
	return strings.Join(names[:min(len(names), keyFrames)], " < ")
}

func (p *probes) functions(f *format.Frame) (names []string) {
	module := p.r.Module(f.Module)
	if len(f.Lines) == 0 {
		return []string{stacks.FunctionName(nil, module)}
	}
	for _, l := range f.Lines[:min(len(f.Lines), keyFrames)] {
		names = append(names, stacks.FunctionName(l.GetFunction(), module))
	}
	return names
}

// print prints the keys with most events, and histograms.
func (c *probeCounts) print(w io.Writer, window int64) {
	var keys []*keyCount
	for _, k := range c.keys {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b *keyCount) int { return cmp.Or(cmp.Compare(b.events, a.events), cmp.Compare(a.key, b.key)) })
	rows := [][]string{c.heads()}
	for _, k := range keys[:min(len(keys), topKeys)] {
		rows = append(rows, c.row(k, window))
	}
	fmt.Fprintln(w)
	table(w, rows)
	printMore(w, len(keys)-topKeys)
	if n := c.beyond.events; n > 0 {
		fmt.Fprintf(w, "  and %s of keys beyond the first %s\n", cli.Counted(n, "event"), cli.Grouped(maxKeys))
	}
	if c.amounts.Total() == 0 {
		return
	}
	if len(keys) > fewKeys || c.beyond.events > 0 {
		keys = []*keyCount{{key: "all keys", amounts: c.amounts}}
	}
	for _, k := range keys {
		fmt.Fprintln(w)
		if k.key != "" {
			fmt.Fprintf(w, "  %s\n", name(k.key))
		}
		table(w, histogramRows(&k.amounts, c.unit))
	}
}

func (c *probeCounts) heads() []string {
	heads := []string{"events", "rate"}
	if c.hasSum {
		heads = append(heads, "sum", "average")
	}
	if c.amounts.Total() > 0 {
		heads = append(heads, "p50", "p90", "p99")
	}
	return append(heads, "key")
}

func (c *probeCounts) row(k *keyCount, window int64) []string {
	row := []string{cli.Grouped(k.events), perSecond(k.events, window)}
	if c.hasSum {
		row = append(row, amount(k.sum, c.unit), amount(k.sum/float64(max(1, k.events)), c.unit))
	}
	if c.amounts.Total() > 0 {
		cells := make([]string, len(quantiles()))
		copy(cells, percentiles(&k.amounts, c.unit))
		row = append(row, cells...)
	}
	key := "all events"
	if k.key != "" {
		key = name(k.key)
	}
	return append(row, key)
}

// fieldValues are the values of a field whose distribution is of interest.
type fieldValues struct {
	name, unit string
	amounts    histogram.Counts
}

func isHistogram(f *format.TypeField) bool {
	return f.Hint == uint32(format.ValueHint_HINT_HISTOGRAM)
}

// addFields adds the values of an event.
func (p *probe) addFields(values []format.Value) {
	for i := range values {
		v := &values[i]
		if !isHistogram(v.Field) || v.IsUnknown() {
			continue
		}
		n := slices.IndexFunc(p.fields, func(f *fieldValues) bool { return f.name == string(v.Field.Name) })
		if n < 0 {
			if n = len(p.fields); n == maxFields {
				continue
			}
			unit := string(v.Field.Unit)
			if v.Field.Is(format.ValueType_VALUE_DURATION) {
				unit = "ns"
			}
			p.fields = append(p.fields, &fieldValues{name: string(v.Field.Name), unit: unit})
		}
		p.fields[n].amounts.Add(bucketOf(v), 1)
	}
}

// maxFields bounds the fields of a probe that have a histogram.
const maxFields = 64

// bucketOf returns the bucket of a number; NaN counts as 0.
func bucketOf(v *format.Value) int {
	const limit = 1 << 62
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_UINT, format.ValueType_VALUE_BOOL:
		return histogram.Of(int64(min(v.Number, limit)))
	case format.ValueType_VALUE_FLOAT:
		if f := v.Float(); f >= 0 {
			return histogram.Of(int64(min(f, limit)))
		}
		return 0
	}
	return histogram.Of(v.Int())
}

func (f *fieldValues) print(w io.Writer) {
	cells := percentiles(&f.amounts, f.unit)
	if cells == nil {
		return
	}
	fmt.Fprintf(w, "\n  %s: p50 %s, p90 %s, p99 %s\n", f.name, cells[0], cells[1], cells[2])
	table(w, histogramRows(&f.amounts, f.unit))
}
