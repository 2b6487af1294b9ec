package firefox

import (
	"wprof/internal/records"
)

// schemas defines how the user interface shows the data of markers, by their type.
type schemas struct {
	byName map[string]*schema
	order  []*schema
}

// schema is one type of markers.
type schema struct {
	name, tooltip, chart, table string
	overview                    bool // its markers are also drawn in the row of the thread
	fields                      []field
	byName                      map[string]int
}

// field is a field of a type. The key is the name in the data.
type field struct{ key, label, format string }

// Bounds of the types that a stream defines, and of their fields. More are not shown.
const (
	maxSchemas = 4096
	maxFields  = 256
)

func newSchemas() schemas {
	s := schemas{byName: make(map[string]*schema)}
	cpu, open := field{"cpu", "CPU", "integer"}, field{"open", "not ended", "unique-string"}
	delay, length := field{"delay", "waited for a CPU", "duration"}, field{"length", "whole length", "duration"}
	compound, chain := field{"compound", "with the delays of its wakers", "duration"}, field{"chain", "wakeups in a row", "integer"}
	waker, thread := field{"waker", "woken by", "unique-string"}, field{"thread", "thread", "unique-string"}
	context := field{"context", "woken in", "unique-string"}
	for _, one := range []schema{
		{name: "Running", chart: "CPU {marker.data.cpu}", table: "on CPU {marker.data.cpu}", fields: []field{cpu, {"prio", "priority", "integer"}, {"left", "left it in state", "unique-string"}, open}},
		{name: "Off CPU", chart: "{marker.data.in}", table: "{marker.data.state} {marker.data.in}", fields: []field{{"in", "in", "unique-string"}, {"state", "state", "unique-string"}, waker, context, delay, compound, chain, length, open}},
		{name: "Preempted", fields: []field{{"in", "in", "unique-string"}, waker, context, delay, compound, chain, length, open}},
		{name: "Throttled", fields: []field{{"in", "in", "unique-string"}, waker, context, delay, compound, chain, length, open}},
		{name: "New", fields: []field{waker, context, delay, compound, chain, length, open}},
		{name: "Wakes", table: "{marker.data.thread}", fields: []field{thread, {"target", "to run on CPU", "integer"}, context, cpu}},
		{name: "Preempts", table: "{marker.data.thread}", fields: []field{thread, cpu}},
		{name: "Forks", table: "{marker.data.thread}", overview: true, fields: []field{thread, cpu}},
		{name: "Execs", table: "{marker.data.path}", overview: true, fields: []field{{"path", "program", "string"}, cpu}},
		{name: "Renames", table: "{marker.data.before}", overview: true, fields: []field{{"before", "name before", "unique-string"}, cpu}},
		{name: "Exits", table: "{marker.data.code}", overview: true, fields: []field{{"code", "status", "integer"}, {"signal", "killed by signal", "integer"}, cpu}},
		{name: "Recording", overview: true, fields: []field{cpu, {"what", "kind of event", "unique-string"}, {"reason", "cause", "unique-string"}, {"count", "events", "integer"}, length}},
	} {
		s.put(&one)
	}
	return s
}

func (s *schemas) put(one *schema) {
	s.byName[one.name] = one
	s.order = append(s.order, one)
}

// of returns the type of an item, which is the same for all items beyond maxSchemas types.
func (s *schemas) of(name string) *schema {
	if s.byName[name] == nil && len(s.order) >= maxSchemas {
		name = itemPrefix + "other"
	}
	one := s.byName[name]
	if one == nil {
		one = &schema{name: name, overview: true, byName: make(map[string]int)}
		s.put(one)
	}
	return one
}

// append appends all of them as meta.markerSchema.
func (s *schemas) append(b []byte) []byte {
	for i, one := range s.order {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = one.append(b)
	}
	return b
}

func (s *schema) append(b []byte) []byte {
	b = records.AppendString(append(b, `{"name":`...), s.name)
	for _, label := range [...]struct{ key, text string }{{"tooltipLabel", s.tooltip}, {"chartLabel", s.chart}, {"tableLabel", s.table}} {
		if label.text == "" {
			label.text = "{marker.name}"
		}
		b = append(append(append(b, `,"`...), label.key...), `":`...)
		b = records.AppendString(b, label.text)
	}
	b = append(b, `,"display":["marker-chart","marker-table"`...)
	if s.overview {
		b = append(b, `,"timeline-overview"`...)
	}
	b = append(b, `],"fields":[`...)
	for i, f := range s.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = records.AppendString(append(b, `{"key":`...), f.key)
		b = records.AppendString(append(b, `,"label":`...), f.label)
		b = append(records.AppendString(append(b, `,"format":`...), f.format), '}')
	}
	return append(b, "]}"...)
}
