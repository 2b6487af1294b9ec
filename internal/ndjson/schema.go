package ndjson

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-json"

	"wprof/internal/records"
)

// object is a JSON object with ordered members.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(records.AppendString(b, m.name), ':')
		value, err := json.MarshalWithOption(m.value, json.DisableHTMLEscape())
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// Schema returns the JSON Schema (draft 2020-12) of a line.
func Schema() ([]byte, error) {
	text, err := json.MarshalIndentWithOption(schema(), "", "  ", json.DisableHTMLEscape())
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(text, '\n'), nil
}

func schema() object {
	defs := object{
		{"header", describeStruct(reflect.TypeFor[header](), "The first line: what the capture is.")},
		{"stack", describeStruct(reflect.TypeFor[stackLine](), "A stack of a thread.")},
		{"task", taskSchema(false)},
		{"renamed_task", taskSchema(true)},
		{"state", object{{"description", "the state of a thread"}, {"enum", records.StateNames()}}},
	}
	var cases []any
	var names []string
	for _, k := range records.Kinds() {
		defs = append(defs, member{k.Name, kindSchema(&k)})
		names = append(names, k.Name)
		cases = append(cases, object{{"if", object{{"properties", object{{"t", object{{"const", k.Name}}}}}}}, {"then", ref(k.Name)}})
	}
	event := object{
		{"description", "An event; t is its kind."},
		{"properties", object{{"t", object{{"enum", names}}}}}, {"allOf", cases},
	}
	defs = append(defs, member{"event", event})
	return object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:wprof:json:" + records.Version},
		{"title", "A line of wprof-json"},
		{"description", "Exactly version " + records.Version + ", with all fields: newer minor versions may have more, --fields leaves some out. A header line, stack lines, then events in order of time. " +
			"Times and durations are numbers in the header's time_unit, times from the opening of the first window."},
		{"type", "object"},
		{"if", object{{"required", []string{"t"}}}},
		{"then", ref("event")},
		{"else", object{{"if", object{{"required", []string{"id"}}}}, {"then", ref("stack")}, {"else", ref("header")}}},
		{"$defs", defs},
	}
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// closed returns an object schema with these members and no others.
func closed(doc string, properties object, required []string) object {
	return object{
		{"description", doc}, {"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false},
	}
}

func taskSchema(renamed bool) object {
	properties, required, doc := object{}, []string{}, "a thread under one name"
	for _, f := range taskFields() {
		properties = append(properties, member{f.name, object{{"description", f.doc}, {"type", f.typ}}})
		if f.name != "tid" && !f.opt {
			required = append(required, f.name)
		}
	}
	if renamed {
		doc += ", and the one before"
		properties = append(properties, member{"old_comm", object{{"description", "its name before"}, {"type", "string"}}})
		required = append(required, "old_comm")
	}
	return closed(doc, properties, required)
}

// taskField is a field of a task. Package records writes them.
type taskField struct {
	name, typ, doc string
	opt            bool // with -e cgroup, if it is known
}

func taskFields() []taskField {
	return []taskField{
		{"tid", "integer", "thread id; absent for idle threads; -1: hidden by a filter, or its definition is lost", false},
		{"pid", "integer", "process id; 0 for idle threads, and if not known", false},
		{"comm", "string", "the thread's name; swapper/N for the idle thread of CPU N, TID N if only the thread id is known, <filtered>, <lost>", false},
		{"pcomm", "string", "the name of the process, which is the name of its first thread; <unknown> if not known", false},
		{"cgroup", "string", "with -e cgroup: the path of its cgroup", true},
		{"runtime", "string", "with -e cgroup: what runs its container: docker, containerd, cri-o, podman, nspawn, machine, lxc; kubepods or container if only the id is known", true},
		{"container", "string", "with -e cgroup: the id of its container, or the name; of nested ones the innermost", true},
		{"pod", "string", "with -e cgroup: the UID of its pod", true},
		{"unit", "string", "with -e cgroup: its unit of systemd", true},
		{"ns_tid", "integer", "with -e cgroup: thread id in its own PID namespace, if that is not the first one", true},
		{"ns_pid", "integer", "with -e cgroup: process id there", true},
	}
}

func kindSchema(k *records.KindInfo) object {
	properties := object{
		{"ts", object{{"description", commonDoc("ts")}, {"type", "number"}}},
		{"t", object{{"const", k.Name}}},
		{"cpu", object{{"description", commonDoc("cpu")}, {"type", "integer"}, {"minimum", 0}}},
		{"numa", object{{"description", commonDoc("numa")}, {"type", "integer"}}},
	}
	required := []string{"ts", "t"}
	if hasCPU(k) {
		required = append(required, "cpu")
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		properties = append(properties, member{f.Name, append(object{{"description", f.Doc}}, typeSchema(f)...)})
		if !f.Opt {
			required = append(required, f.Name)
		}
	}
	return closed(k.Doc, properties, required)
}

// hasCPU reports whether all records of a kind are about one CPU.
func hasCPU(k *records.KindInfo) bool {
	return k.Kind != records.Lost && k.Kind != records.Gap && !k.HasTypes()
}

// commonDoc returns the description of a field that every event has.
func commonDoc(name string) string {
	switch name {
	case "ts":
		return "time from the opening of the first window; for a span, its end"
	case "t":
		return "the kind"
	case "cpu":
		return "the CPU"
	}
	return "its NUMA node; only with -e numa"
}

func typeSchema(f *records.Field) object {
	switch f.Type {
	case records.TypeInstant:
		return object{{"type", "number"}}
	case records.TypeDuration:
		return object{{"type", "number"}, {"minimum", 0}}
	case records.TypeWord:
		if isState(f) {
			return ref("state")
		}
		return object{{"enum", f.Words}}
	case records.TypeText, records.TypeLabel:
		return object{{"type", "string"}}
	case records.TypeTask:
		return ref("task")
	case records.TypeRenamed:
		return ref("renamed_task")
	case records.TypeArgs:
		return object{{"type", "object"}}
	case records.TypeNumbers:
		return object{{"type", "array"}, {"items", object{{"type", []string{"number", "null"}}}}}
	}
	return object{{"type", "integer"}}
}

func isState(f *records.Field) bool { return strings.HasSuffix(f.Name, "_state") }

// structField is a field of a line that is a struct.
type structField struct {
	name, doc string
	typ       reflect.Type
	optional  bool
}

func structFields(t reflect.Type) []structField {
	var all []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, structField{name, f.Tag.Get("doc"), f.Type, rest == "omitempty"})
	}
	return all
}

func describeStruct(t reflect.Type, doc string) object {
	properties, required := object{}, []string{}
	for _, f := range structFields(t) {
		of := goSchema(f.typ)
		if f.name == "version" {
			of = object{{"const", records.Version}}
		}
		properties = append(properties, member{f.name, append(object{{"description", f.doc}}, of...)})
		if !f.optional {
			required = append(required, f.name)
		}
	}
	return closed(doc, properties, required)
}

// goSchema returns the schema of a Go type.
func goSchema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem() == reflect.TypeFor[instant]() {
			return object{{"type", []string{"number", "null"}}, {"minimum", 0}}
		}
		return object{{"type", []string{"integer", "null"}}, {"minimum", 0}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", object{{"type", "string"}}}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}
	}
	return object{{"type", "integer"}, {"minimum", 0}}
}
