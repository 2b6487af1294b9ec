package capture

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/label"
	"wprof/internal/printable"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/syscalls"
	"wprof/internal/tracepoint"
)

// firing is a condition that holds. The thread's name is read, and the values of the record are, when the snapshot is taken, not by the
// goroutine that drains.
type firing struct {
	assemble.Mark        // without the reason
	what          string // what the record says; "": the thread and its time say it
	took          int64  // of a slow span
	of            *recordNames
	record        []byte // of an event with values; nil: it has none
}

// recordNames says what the records of an event type are about.
type recordNames struct {
	layout *tracepoint.Layout // of a probe's events; nil: the type is one of a source
	source *sources.Type      // of a source
	calls  [2][]string        // names of system calls by number: of 64-bit and of 32-bit programs
}

// markOf is the mark of a trigger at the time, CPU and thread of a record, without a reason.
func markOf(condition string, body []byte) assemble.Mark {
	le := binary.LittleEndian
	return assemble.Mark{
		At: recordTime(body), Condition: condition,
		CPU: uint32(le.Uint16(body[ringdata.HdrCPU:])), TID: le.Uint32(body[ringdata.HdrTID:]),
	}
}

// reason is what the snapshot says about it.
func (f firing) reason() string {
	var parts []string
	if f.what != "" {
		parts = append(parts, f.what)
	} else if f.TID != 0 {
		parts = append(parts, threadText(f.TID))
	}
	if f.took > 0 {
		parts = append(parts, limitText(f.took))
	}
	parts = append(parts, f.of.describe(f.record)...)
	if len(parts) == 0 {
		return f.Condition
	}
	return f.Condition + ": " + strings.Join(parts, ", ")
}

// threadText names a thread, by the name that it has now.
func threadText(tid uint32) string {
	text := fmt.Sprintf("thread %d", tid)
	if name, _, _ := threadNames(tid); len(name) > 0 {
		text += " (" + printable.Text(string(name)) + ")"
	}
	return text
}

// maxDescribed bounds what a message says of a record, in bytes.
const maxDescribed = 400

// describe returns what a record is about: the name of a source's span, and the values of a probe's event.
func (n *recordNames) describe(record []byte) []string {
	switch {
	case n == nil || len(record) == 0:
		return nil
	case n.layout != nil:
		return n.values(record)
	case n.source.Number == ringdata.TypeSyscall:
		return n.call(record)
	}
	all := []string{string(n.source.Def.Name)}
	at := ringdata.TypedValues
	for _, f := range n.source.Def.Fields {
		if f.Hint == uint32(format.ValueHint_HINT_NAME) && f.Is(format.ValueType_VALUE_ENUM) && len(record) >= at+8 {
			if name := f.EnumName(int64(binary.LittleEndian.Uint64(record[at:]))); name != nil {
				all = append(all, string(name))
			}
		}
		at += 8 * sources.Words(f)
	}
	return all
}

func (n *recordNames) call(record []byte) []string {
	if len(record) < ringdata.SyscallSize {
		return nil
	}
	abi := 0
	if record[ringdata.SyscallFlags]&ringdata.CallFlag32bit != 0 {
		abi = 1
	}
	number := int(binary.LittleEndian.Uint16(record[ringdata.SyscallNumber:]))
	if names := n.calls[abi]; number < len(names) && names[number] != "" {
		return []string{names[number]}
	}
	return []string{fmt.Sprintf("system call %d", number)}
}

// values returns the arguments of a probe's event, as name=value, without those that refer to something in the stream.
func (n *recordNames) values(record []byte) (all []string) {
	from := ringdata.InstantBytes
	if record[ringdata.HdrKind] == ringdata.KindTyped {
		from = ringdata.TracepointBytes
	}
	if len(record) < from {
		return nil
	}
	content := record[from:]
	if from == ringdata.TracepointBytes {
		content = content[:min(len(content), int(binary.LittleEndian.Uint32(record[ringdata.TracepointLength:])))]
	}
	e := &format.Event{Kind: format.KindTyped, Time: recordTime(record)}
	data, err := n.layout.Def.AppendTyped(nil, new(tracepoint.Decoder).Values(n.layout, content), e.TimeBase())
	if err != nil {
		return nil
	}
	e.Typed().SetValues(data)
	values, ok := n.layout.Def.AppendValues(nil, e) // as readers see them: it is known which could not be read
	if !ok {
		return nil
	}
	left := maxDescribed
	for i := range values {
		text := valueText(&values[i], e)
		if text == "" || left <= 0 {
			continue
		}
		text = printable.Text(cutText(string(values[i].Field.Name)+"="+text, left))
		left -= len(text)
		all = append(all, text)
	}
	return all
}

// valueText returns the text of a value; "": it is not shown.
func valueText(v *format.Value, e *format.Event) string {
	if v.IsUnknown() || !v.Field.IsShown() {
		return ""
	}
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_STACK, format.ValueType_VALUE_TASK, format.ValueType_VALUE_TEXT:
		return ""
	case format.ValueType_VALUE_DURATION:
		return limitText(v.Int())
	}
	return string(label.AppendValue(nil, v, e, noDefinitions{}, maxDescribed))
}

// cutText cuts a text to that many bytes, and marks it then.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.TrimRight(text[:most], " ") + "…"
}

// noDefinitions has none: values that refer to definitions are left out.
type noDefinitions struct{}

func (noDefinitions) Text(uint32) *format.Text        { return nil }
func (noDefinitions) Task(format.TaskID) *format.Task { return nil }

// namesOfSource says what the records of a source's type are about.
func namesOfSource(t *sources.Type, machine string) *recordNames {
	n := &recordNames{source: t}
	if t.Number == ringdata.TypeSyscall {
		n.calls = [2][]string{syscalls.Names(machine), syscalls.CompatNames(machine)}
	}
	return n
}
