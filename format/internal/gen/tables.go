package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	wprof "wprof/format"
)

// replaceTables puts current tables between the markers <!-- begin NAME --> and <!-- end NAME --> of the
// specification. There must be markers for every table.
func replaceTables(doc []byte) ([]byte, error) {
	tables := []struct {
		name string
		text string
	}{{"kinds", kindTable()}, {"fields", fieldTables()}, {"states", stateTable()}, {"causes", causeTable()}, {"modules", moduleTable()}, {"stack ends", stackEndTable()}, {"file kinds", fileKindTable()}}
	for _, t := range tables {
		begin := []byte("<!-- begin " + t.name + " -->\n")
		end := []byte("<!-- end " + t.name + " -->\n")
		from, to := bytes.Index(doc, begin), bytes.Index(doc, end)
		if from < 0 || to < from {
			return nil, fmt.Errorf("FORMAT.md has no markers for the table of %s", t.name)
		}
		doc = slices.Concat(doc[:from+len(begin)], []byte(t.text), doc[to:])
	}
	return doc, nil
}

func kindTable() string {
	var b strings.Builder
	b.WriteString("| Number | Kind | Group | Subject (the event's own task) | Object | Meaning | Start of span |\n|---|---|---|---|---|---|---|\n")
	for _, k := range wprof.Kinds() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s |\n", k.Kind, k.Name, dash(k.Group.Name()), cell(k.Task), cell(dash(k.Object)), cell(k.Doc), dash(k.Start))
	}
	return b.String()
}

func fieldTables() string {
	var b strings.Builder
	for _, k := range wprof.Kinds() {
		fmt.Fprintf(&b, "#### %s (%d)\n\n", k.Name, k.Kind)
		if len(k.Fields) == 0 {
			b.WriteString("No fields.\n\n")
		} else {
			b.WriteString("| Field | Type | Present | Side | Meaning |\n|---|---|---|---|---|\n")
			for _, f := range k.Fields {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.Name, typeName(f), present(f.Opt), sideName(f.Side), cell(f.Doc))
			}
			b.WriteString("\n")
		}
		for _, f := range k.Flags {
			fmt.Fprintf(&b, "Flag 0x%x, %s: %s.\n\n", f.Bit, f.Name, f.Doc)
		}
	}
	return b.String()
}

func stateTable() string {
	var b strings.Builder
	b.WriteString("| Value | Written as |\n|---|---|\n| 0x0 | R |\n")
	for bit := wprof.StateInterruptible; bit <= wprof.KnownStates(); bit <<= 1 {
		name := bit.String()
		switch bit {
		case wprof.StateKillable:
			name = "K, after the letter of another bit (DK)"
		case wprof.StateIOWait:
			name = "i, after the others: the kernel counts the wait as one for I/O (Di)"
		case wprof.StateThrottled:
			name = "q, after those and before the +: the thread could run, but the CPU quota of its cgroup was used up (Rq+)"
		}
		fmt.Fprintf(&b, "| 0x%x | %s |\n", uint32(bit), name)
	}
	return b.String()
}

func fileKindTable() string {
	var b strings.Builder
	b.WriteString("| Value | Name | Meaning |\n|---|---|---|\n")
	for _, k := range wprof.FileKinds() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", k.Kind, k.Name, cell(k.Doc))
	}
	return b.String()
}

func stackEndTable() string {
	var b strings.Builder
	b.WriteString("| Value | Name | Meaning |\n|---|---|---|\n")
	for _, e := range wprof.AllStackEnds() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.End, e.Name, e.Doc)
	}
	return b.String()
}

func causeTable() string {
	var b strings.Builder
	b.WriteString("| Value | Cause | Meaning |\n|---|---|---|\n")
	for _, c := range wprof.Causes() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", c.Cause, c.Name, c.Doc)
	}
	return b.String()
}

func moduleTable() string {
	var b strings.Builder
	b.WriteString("| Value | Kind | Meaning | path | Frame.offset | Part of a stack |\n|---|---|---|---|---|---|\n")
	for _, m := range wprof.ModuleKinds() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", m.Kind, m.Name, cell(m.Doc), cell(m.Path), cell(m.Offset), partOf(m))
	}
	return b.String()
}

func partOf(m wprof.ModuleKindInfo) string {
	switch {
	case m.Kernel:
		return "kernel"
	case m.User:
		return "user"
	default:
		return "either"
	}
}

func typeName(f wprof.Field) string {
	switch f.Type {
	case wprof.FieldUint:
		return "uint"
	case wprof.FieldSint:
		return "sint"
	case wprof.FieldTime:
		if f.Base == wprof.BaseLeft {
			return "time, from leaving"
		}
		return "time"
	case wprof.FieldTask:
		return "task"
	case wprof.FieldStack:
		return "stack"
	case wprof.FieldState:
		return "state"
	case wprof.FieldCause:
		return "cause"
	case wprof.FieldKind:
		return "kind"
	case wprof.FieldEventType:
		return "event type"
	case wprof.FieldWait:
		return "wait"
	case wprof.FieldBytes:
		return "bytes"
	default:
		return "?"
	}
}

func present(opt wprof.Flags) string {
	if opt == 0 {
		return "always"
	}
	return fmt.Sprintf("with flag 0x%x", uint32(opt))
}

func sideName(s wprof.Side) string {
	switch s {
	case wprof.SideSubject:
		return "subject"
	case wprof.SideObject:
		return "object"
	default:
		return "–"
	}
}

// cell escapes text for a table: a bar would end the cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
