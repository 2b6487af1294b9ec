package ndjson

import (
	"slices"

	"wprof/internal/records"
	"wprof/internal/stacks"
)

// Options select what is written, and in which form.
type Options struct {
	Nanoseconds bool           // times are integers in ns instead of seconds with nine decimals
	Kinds       []records.Kind // nil: all
	Fields      []string       // of events, besides ts and t; nil: all
	NoStacks    bool           // no stack lines, and no field that refers to one
	NUMA        bool           // the NUMA node beside the CPU
	Cgroups     bool           // of each task its cgroup, container, pod, unit, and ids in its PID namespace
	PrevStack   bool           // the off-CPU stack of a switch is that of the thread that leaves the CPU
	Array       bool           // one array instead of lines
	Python      stacks.PythonView
	Stream      bool // events are written as they arrive, and each stack before the first event that refers to it
}

// Features are the names that -e takes.
func Features() []string {
	return append([]string{"numa", "cgroup", "prev-stack"}, stacks.PythonWords()...)
}

// always returns the fields of an event that cannot be left out.
func always() []string { return []string{"ts", "t"} }

// FieldNames are the names that --fields takes.
func FieldNames() []string {
	names := append(always(), "cpu", "numa")
	for _, k := range records.Kinds() {
		for _, f := range k.Fields {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// KindNames are the names that -k takes: those of all tools, and in schema those that differ from them in the lines.
func KindNames() (names, schema []string) {
	for _, k := range records.Kinds() {
		names = append(names, k.EventName())
		if k.Name != k.EventName() {
			schema = append(schema, k.Name)
		}
	}
	return names, schema
}

// kindsOf returns the kinds with these names; nil for none.
func kindsOf(names []string) []records.Kind {
	var kinds []records.Kind
	for _, k := range records.Kinds() {
		if slices.Contains(names, k.EventName()) || slices.Contains(names, k.Name) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

// has reports whether a field is written.
func (o *Options) has(f *records.Field) bool {
	if o.NoStacks && f.Type == records.TypeStack {
		return false
	}
	return o.hasName(f.Name)
}

func (o *Options) hasName(name string) bool {
	return o.Fields == nil || slices.Contains(o.Fields, name)
}
