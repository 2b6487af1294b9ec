package columns

import (
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"wprof/internal/records"
)

// event is a row of a kind of event.
type event struct {
	records.Record
	node int32 // of its CPU; -1: not known
}

// eventFields are the columns of a kind, in the order of the table.
func eventFields(k *records.KindInfo, o Options) []field[event] {
	fields := []field[event]{
		integer("ts", func(e *event) int64 { return e.Time }),
		optionalShort("cpu", func(e *event) (int64, bool) { return int64(e.CPU), e.CPU != records.AllCPUs }),
	}
	if o.NUMA {
		fields = append(fields, optionalShort("numa", func(e *event) (int64, bool) { return int64(e.node), e.node >= 0 }))
	}
	for i := range k.Fields {
		if f := &k.Fields[i]; f.Type != records.TypeStack || !o.NoStacks {
			fields = append(fields, eventField(f, i))
		}
	}
	return fields
}

// eventField returns the column of the field with that index.
func eventField(f *records.Field, index int) field[event] {
	switch f.Type {
	case records.TypeTask, records.TypeRenamed:
		slot, bit := f.Slot, uint32(0)
		if f.Opt {
			bit = 1 << index
		}
		return taskGroup(f.Name, f.Opt, f.Type == records.TypeRenamed, func(e *event) *records.Task {
			if e.Has&bit != bit {
				return nil
			}
			return e.Tasks[slot]
		})
	case records.TypeText:
		if f.Opt {
			return optionalText(f.Name, func(e *event) (string, bool) { return e.Text, !e.Lacks(index) })
		}
		return text(f.Name, func(e *event) string { return e.Text })
	case records.TypeLabel:
		if !f.Opt {
			return text(f.Name, func(e *event) string { return e.Labels[f.Slot] })
		}
		return optionalText(f.Name, func(e *event) (string, bool) {
			if e.Lacks(index) {
				return "", false
			}
			return e.Labels[f.Slot], true
		})
	case records.TypeArgs:
		return text(f.Name, func(e *event) string { return string(records.AppendArgs(nil, e.Args, appendNanoseconds)) })
	case records.TypeNumbers:
		return numbers(f.Name, func(e *event) []float64 {
			if e.Lacks(index) {
				return nil
			}
			return e.Numbers
		})
	}
	return slotField(f, index)
}

// slotField returns the column of a field in a slot of Record.Values. Nearly all columns are of this type, and calls through function
// values would double their time.
func slotField(f *records.Field, index int) field[event] {
	slot, bit, node := f.Slot, uint32(0), longNode()
	put := func(c *column, rows []event) { putLongs(c, rows, slot, bit) }
	switch {
	case f.Type == records.TypeWord:
		node = textNode()
		put = func(c *column, rows []event) { putShorts(c, rows, slot, bit, false) }
	case f.Short:
		node = parquet.Int(32)
		put = func(c *column, rows []event) { putShorts(c, rows, slot, bit, !c.isPlain) }
	}
	if f.Opt {
		node, bit = parquet.Optional(node), 1<<index
	}
	out := leafField(f.Name, node, put)
	out.leaves[0].words = f.Words
	return out
}

// putLongs adds the slot of each row; null if the bit is not set in Has.
func putLongs(c *column, rows []event, slot int, bit uint32) {
	longs, levels := c.longs, c.levels
	for i := range rows {
		e := &rows[i]
		if e.Has&bit != bit {
			levels = append(levels, 0)
			continue
		}
		longs = append(longs, e.Values[slot])
		if bit != 0 {
			levels = append(levels, 1)
		}
	}
	c.longs, c.levels = longs, levels
}

// putShorts does so for numbers of 32 bits, by their index in the dictionary if isIndexed, and for words.
func putShorts(c *column, rows []event, slot int, bit uint32, isIndexed bool) {
	shorts, levels := c.shorts, c.levels
	for i := range rows {
		e := &rows[i]
		if e.Has&bit != bit {
			levels = append(levels, 0)
			continue
		}
		n := int32(e.Values[slot])
		if isIndexed {
			n = c.ofNumbers.of(n)
		}
		shorts = append(shorts, n)
		if bit != 0 {
			levels = append(levels, 1)
		}
	}
	c.shorts, c.levels = shorts, levels
}

// keep copies a record into a row.
func (e *event) keep(r *records.Record, node int32) {
	numbers := e.Numbers[:0]
	e.Record, e.node = *r, node
	e.Numbers = append(numbers, r.Numbers...)
	e.Args = slices.Clone(r.Args)
	e.Type = nil // it has led to the file, and is much larger than a row
}

// textsOf returns the maximum size of a record's texts in bytes.
func textsOf(r *records.Record, tasks int) int {
	n := len(r.Text)
	n += textsOfArgs(r.Args)
	if r.Labels != nil {
		for _, s := range r.Labels {
			n += len(s)
		}
	}
	for _, t := range r.Tasks[:tasks] {
		if t != nil {
			n += len(t.Comm) + len(t.PComm)
		}
	}
	return n
}

func appendNanoseconds(b []byte, ns int64) []byte { return strconv.AppendInt(b, ns, 10) }

// textsOfArgs returns the maximum size of values in bytes, as JSON without escapes or in memory.
func textsOfArgs(args []records.Arg) int {
	n := 0
	for i := range args {
		a := &args[i]
		n += len(a.Name) + len(a.Text) + 96 + textsOfArgs(a.Elements)
		if a.Task != nil {
			n += len(a.Task.Comm) + len(a.Task.PComm)
		}
	}
	return n
}
