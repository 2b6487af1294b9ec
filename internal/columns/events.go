package columns

import (
	"slices"
	"strconv"

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

// eventField is the column of a field, which is the one of that number.
func eventField(f *records.Field, number int) field[event] {
	slot := f.Slot
	get := func(e *event) int64 { return e.Values[slot] }
	getOptional := func(e *event) (int64, bool) { return e.Values[slot], !e.Lacks(number) }
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
	case records.TypeWord:
		if f.Opt {
			return optionalWord(f.Name, f.Words, getOptional)
		}
		return word(f.Name, f.Words, get)
	}
	switch {
	case f.Opt && f.Short:
		return optionalShort(f.Name, getOptional)
	case f.Opt:
		return optionalInteger(f.Name, getOptional)
	case f.Short:
		return requiredShort(f.Name, get)
	}
	return integer(f.Name, get)
}

// taskGroup is the group of columns of a task. Idle threads have no thread id.
func taskGroup(f *records.Field, number int) field[event] {
	slot := f.Slot
	if f.Opt {
		return optionalTask(f.Name, func(e *event) *records.Task {
			if e.Lacks(number) {
				return nil
			}
			return e.Tasks[slot]
		})
	}
	get := func(e *event) *records.Task { return e.Tasks[slot] }
	fields := []field[event]{
		optionalShort("tid", func(e *event) (int64, bool) { t := get(e); return int64(t.TID), !t.Idle }),
		requiredShort("pid", func(e *event) int64 { return int64(get(e).PID) }),
		text("comm", func(e *event) string { return get(e).Comm }),
		text("pcomm", func(e *event) string { return get(e).PComm }),
	}
	if f.Type == records.TypeRenamed {
		fields = append(fields, text("old_comm", func(e *event) string { return e.Text }))
	}
	return group(f.Name, fields...)
}

// optionalTask is the group of columns of a task that may be nil.
func optionalTask(name string, get func(*event) *records.Task) field[event] {
	textOf := func(of func(*records.Task) string) func(*event) (string, bool) {
		return func(e *event) (string, bool) {
			if t := get(e); t != nil {
				return of(t), true
			}
			return "", false
		}
	}
	return group(name,
		optionalShort("tid", func(e *event) (int64, bool) {
			if t := get(e); t != nil {
				return int64(t.TID), !t.Idle
			}
			return 0, false
		}),
		optionalShort("pid", func(e *event) (int64, bool) {
			if t := get(e); t != nil {
				return int64(t.PID), true
			}
			return 0, false
		}),
		optionalText("comm", textOf(func(t *records.Task) string { return t.Comm })),
		optionalText("pcomm", textOf(func(t *records.Task) string { return t.PComm })),
	)
}

// keep copies a record into a row.
func (e *event) keep(r *records.Record, node int32) {
	numbers := e.Numbers[:0]
	e.Record, e.node = *r, node
	e.Numbers = append(numbers, r.Numbers...)
	e.Args = slices.Clone(r.Args)
}

// textsOf is how many bytes the texts of a record have at most.
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

// textsOfArgs is how many bytes values take at most, as JSON without escapes or in memory.
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
