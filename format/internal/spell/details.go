package spell

import "google.golang.org/protobuf/reflect/protoreflect"

// Detail is one word that begins a line with a part of a message.
type Detail struct {
	Parent protoreflect.Name // the message that it is part of
	Word   string
	Field  protoreflect.Name
	Lead   protoreflect.Name // the field that stands first, without its name
}

// Details are in the order in which dump writes them.
func Details() []Detail {
	return []Detail{
		{"Session", "command", "command", ""},
		{"Session", "history", "history", ""},
		{"Session", "config", "config", ""},
		{"Session", "metadata", "metadata", ""},
		{"Session", "cpu", "cpus", "id"},
		{"Session", "source", "sources", "id"},
		{"Session", "cache", "caches", ""},
		{"Session", "counter", "counters", ""},
		{"Session", "clock", "clocks", ""},
		{"Definitions", "clock", "clocks", ""},
		{"Definitions", "cmdline", "commands", "id"},
		{"Definitions", "task", "tasks", "id"},
		{"Definitions", "module", "modules", "id"},
		{"Definitions", "frame", "frames", "id"},
		{"Frame", "line", "lines", ""},
		{"Definitions", "stack", "stacks", "id"},
		{"Definitions", "text", "texts", "id"},
		{"Definitions", "wait", "waits", "id"},
		{"Definitions", "eventtype", "event_types", "id"},
		{"EventType", "field", "fields", "name"},
		{"TypeField", "enum", "names", "number"},
		{"Definitions", "probe", "probes", "id"},
		{"Index", "entry", "blocks", "type"},
		{"End", "kind", "kinds", "kind"},
		{"End", "type", "types", "name"},
		{"End", "process", "processes", "pid"},
		{"End", "loss", "losses", ""},
		{"End", "clock", "clocks", ""},
		{"End", "cost", "cost", ""},
		{"RecorderCost", "program", "programs", "name"},
	}
}
