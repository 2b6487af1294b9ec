package ndjson

import (
	"math"
	"strconv"

	"wprof/internal/records"
)

// layout holds the parts that many lines have in common, formatted once.
type layout struct {
	nanoseconds bool
	before, end string // text before and after a line
	start       []byte // up to the time
	cpu         bool
	nodes       map[uint32]int32 // of CPUs; nil: not written
	kinds       []kindLayout     // by kind
	argStacks   bool             // stacks that values of typed events refer to are written
}

type kindLayout struct {
	name   []byte // after the time
	noCPU  bool   // an event may be about all CPUs
	fields []fieldLayout
	stacks []stackField
}

type fieldLayout struct {
	bit   uint32
	typ   records.FieldType
	slot  int
	key   []byte   // with the punctuation around it
	words [][]byte // key and value, for each word
}

// stackField is a field that refers to a stack.
type stackField struct {
	bit  uint32
	slot int
}

func newLayout(o *Options, nodes map[uint32]int32) *layout {
	l := &layout{nanoseconds: o.Nanoseconds, end: "\n", cpu: o.hasName("cpu")}
	if o.Array {
		l.before, l.end = ",\n", ""
	}
	l.start = []byte(l.before + `{"ts":`)
	if o.NUMA && o.hasName("numa") {
		l.nodes = nodes
	}
	kinds := records.Kinds()
	l.kinds = make([]kindLayout, len(kinds)+1)
	for _, k := range kinds {
		l.kinds[k.Kind] = newKindLayout(&k, o)
		if k.Kind == records.Typed {
			l.argStacks = !o.NoStacks && o.has(&k.Fields[records.TypedArgs])
		}
	}
	return l
}

func newKindLayout(k *records.KindInfo, o *Options) kindLayout {
	out := kindLayout{name: []byte(`,"t":"` + k.Name + `"`), noCPU: !hasCPU(k)}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !o.has(f) {
			continue
		}
		at := fieldLayout{bit: 1 << i, typ: f.Type, slot: f.Slot, key: []byte(`,"` + f.Name + `":`)}
		for _, word := range f.Words {
			at.words = append(at.words, []byte(`,"`+f.Name+`":"`+word+`"`))
		}
		out.fields = append(out.fields, at)
		if f.Type == records.TypeStack {
			out.stacks = append(out.stacks, stackField{at.bit, at.slot})
		}
	}
	return out
}

// append appends the line of a record.
func (l *layout) append(b []byte, r *records.Record) []byte {
	k := &l.kinds[r.Kind]
	b = l.appendTime(append(b, l.start...), r.Time)
	b = append(b, k.name...)
	if r.CPU != records.AllCPUs || !k.noCPU {
		b = l.appendCPU(b, r.CPU)
	}
	for i := range k.fields {
		if f := &k.fields[i]; r.Has&f.bit != 0 {
			b = l.appendField(b, f, r)
		}
	}
	return append(append(b, '}'), l.end...)
}

func (l *layout) appendCPU(b []byte, cpu uint32) []byte {
	if l.cpu {
		b = strconv.AppendUint(append(b, `,"cpu":`...), uint64(cpu), 10)
	}
	if node, known := l.nodes[cpu]; known {
		b = strconv.AppendInt(append(b, `,"numa":`...), int64(node), 10)
	}
	return b
}

func (l *layout) appendField(b []byte, f *fieldLayout, r *records.Record) []byte {
	if f.typ == records.TypeWord {
		return append(b, f.words[r.Values[f.slot]]...)
	}
	b = append(b, f.key...)
	switch f.typ {
	case records.TypeTask:
		return append(b, r.Tasks[f.slot].JSON...)
	case records.TypeInstant, records.TypeDuration:
		return l.appendTime(b, r.Values[f.slot])
	case records.TypeText:
		return records.AppendString(b, r.Text)
	case records.TypeLabel:
		return records.AppendString(b, r.Labels[f.slot])
	case records.TypeRenamed:
		whole := r.Tasks[f.slot].JSON
		b = append(append(b, whole[:len(whole)-1]...), `,"old_comm":`...)
		return append(records.AppendString(b, r.Text), '}')
	case records.TypeNumbers:
		return appendNumbers(b, r.Numbers)
	case records.TypeArgs:
		return records.AppendArgs(b, r.Args, l.appendTime)
	default:
		return strconv.AppendInt(b, r.Values[f.slot], 10)
	}
}

// appendNumbers appends an array. JSON has no infinity and no NaN.
func appendNumbers(b []byte, numbers []float64) []byte {
	b = append(b, '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, n, 'f', -1, 64)
	}
	return append(b, ']')
}
