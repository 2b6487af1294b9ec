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

// eventField returns the column of the field with that number.
func eventField(f *records.Field, number int) field[event] {
	switch f.Type {
	case records.TypeTask, records.TypeRenamed:
		return taskGroup(f, number)
	case records.TypeText:
		if f.Opt {
			return optionalText(f.Name, func(e *event) (string, bool) { return e.Text, !e.Lacks(number) })
		}
		return text(f.Name, func(e *event) string { return e.Text })
	case records.TypeArgs:
		return text(f.Name, func(e *event) string { return string(records.AppendArgs(nil, e.Args, appendNanoseconds)) })
	case records.TypeNumbers:
		return numbers(f.Name, func(e *event) []float64 {
			if e.Lacks(number) {
				return nil
			}
			return e.Numbers
		})
	}
	return slotField(f, number)
}

// slotField is the column of a field in a slot of Record.Values. Nearly all columns are of this type; one loop without calls through
// function values takes half the time of the general ones.
func slotField(f *records.Field, number int) field[event] {
	slot, bit, level := f.Slot, uint32(0), 0
	node, values := longNode(), []parquet.Value(nil)
	switch {
	case f.Type == records.TypeWord:
		node, values = textNode(), wordValues(f.Words)
	case f.Short:
		node = parquet.Int(32)
	}
	if f.Opt {
		node, bit, level = parquet.Optional(node), 1<<number, 1
	}
	isShort := f.Short
	return one(f.Name, node, leaf[event]{append: func(to []parquet.Value, rows []event) []parquet.Value {
		for i := range rows {
			e := &rows[i]
			if e.Has&bit != bit {
				to = append(to, parquet.Value{})
				continue
			}
			var v parquet.Value
			switch n := e.Values[slot]; {
			case values != nil:
				v = values[n]
			case isShort:
				v = short(n)
			default:
				v = long(n)
			}
			v.SetDefinitionLevel(level)
			to = append(to, v)
		}
		return to
	}})
}

// taskGroup is the group of columns of a task.
func taskGroup(f *records.Field, number int) field[event] {
	slot, bit := f.Slot, uint32(0)
	if f.Opt {
		bit = 1 << number
	}
	fields := taskColumns(f.Opt, func(e *event) *records.Task {
		if e.Has&bit != bit {
			return nil
		}
		return e.Tasks[slot]
	})
	if f.Type == records.TypeRenamed {
		fields = append(fields, text("old_comm", func(e *event) string { return e.Text }))
	}
	return group(f.Name, fields...)
}

// taskColumn is a column of a task.
type taskColumn int

const (
	taskTID taskColumn = iota
	taskPID
	taskComm
	taskPComm
)

// taskColumns are the columns of a task, which may be nil if it is optional.
func taskColumns(isOptional bool, get func(*event) *records.Task) (fields []field[event]) {
	for c, name := range []string{"tid", "pid", "comm", "pcomm"} {
		c, node, level := taskColumn(c), parquet.Int(32), 0
		if c.isText() {
			node = textNode()
		}
		if isOptional || c == taskTID {
			node, level = parquet.Optional(node), 1
		}
		fields = append(fields, one(name, node, leaf[event]{isText: c.isText(), append: func(to []parquet.Value, rows []event) []parquet.Value {
			for i := range rows {
				to = append(to, c.value(get(&rows[i]), level))
			}
			return to
		}}))
	}
	return fields
}

func (c taskColumn) isText() bool { return c >= taskComm }

// value returns the value of a task's column; null if there is no task, and for the thread id of idle threads.
func (c taskColumn) value(t *records.Task, level int) (v parquet.Value) {
	if t == nil || c == taskTID && t.Idle {
		return v
	}
	switch c {
	case taskTID:
		v = parquet.Int32Value(t.TID)
	case taskPID:
		v = parquet.Int32Value(t.PID)
	case taskComm:
		v = textValue(t.Comm)
	default:
		v = textValue(t.PComm)
	}
	v.SetDefinitionLevel(level)
	return v
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
