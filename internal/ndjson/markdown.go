package ndjson

import (
	"reflect"
	"strings"

	"wprof/internal/records"
)

// Markdown is the description of the lines for people.
func Markdown() ([]byte, error) {
	m := &page{}
	m.text(introduction)
	m.text("## The header\n\nOne line, all fields always there but for `metadata` and `extras`:\n")
	m.example(sampleHeader())
	m.fields(reflect.TypeFor[header]())
	m.text("## Stacks\n\n" + aboutStacks)
	m.example(sampleStack())
	m.fields(reflect.TypeFor[stackLine]())
	m.text("## Events\n\n" + aboutEvents)
	m.common()
	m.text("### Tasks\n\n" + aboutTasks)
	m.tasks()
	for _, k := range records.Kinds() {
		m.kind(&k)
	}
	m.text("## Task states\n\n" + aboutStates)
	m.states()
	m.text(recipes())
	return []byte(m.b.String()), m.err
}

// page is Markdown in the making.
type page struct {
	b   strings.Builder
	err error
}

func (p *page) text(s string) { p.b.WriteString(s + "\n") }

// example writes a line as the encoder does.
func (p *page) example(line []byte, err error) {
	if err != nil {
		p.err = err
	}
	p.text("```json\n" + strings.TrimSuffix(string(line), "\n") + "\n```\n")
}

// row writes a row of a table. <unknown> is text there, and no element of HTML.
func (p *page) row(cells ...string) {
	p.text("| " + strings.ReplaceAll(strings.Join(cells, " | "), "<", `\<`) + " |")
}

func (p *page) head(cells ...string) {
	p.row(cells...)
	p.row(strings.Split(strings.Repeat("---,", len(cells)-1)+"---", ",")...)
}

func (p *page) fields(t reflect.Type) {
	p.head("Field", "Type", "What it is")
	for _, f := range structFields(t) {
		p.row("`"+f.name+"`", goType(f.typ), optionally(f.optional)+f.doc)
	}
	p.text("")
}

func optionally(is bool) string {
	if is {
		return "*(optional)* "
	}
	return ""
}

func goType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem() == reflect.TypeFor[instant]() {
			return "time or null"
		}
		return "integer or null"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array of strings"
	case reflect.Map:
		return "object"
	}
	return "integer"
}

func (p *page) common() {
	p.head("Field", "Type", "What it is")
	for _, f := range []struct{ name, typ string }{{"ts", "time"}, {"t", "string"}, {"cpu", "integer"}, {"numa", "integer"}} {
		p.row("`"+f.name+"`", f.typ, optionally(f.name == "numa")+commonDoc(f.name))
	}
	p.text("")
}

func (p *page) tasks() {
	p.head("Field", "Type", "What it is")
	for _, f := range taskFields() {
		p.row("`"+f.name+"`", f.typ, optionally(f.name == "tid")+f.doc)
	}
	p.text("")
}

func (p *page) kind(k *records.KindInfo) {
	p.text("### `" + k.Name + "`\n\n" + k.Doc)
	if !k.IsAvailable() {
		p.text("The recorder has no source of these yet: no capture has any.")
	}
	if k.Ours {
		p.text("This kind is wprof-json's own.")
	}
	p.text("")
	p.head("Field", "Type", "What it is")
	for i := range k.Fields {
		f := &k.Fields[i]
		p.row("`"+f.Name+"`", fieldType(f), optionally(f.Opt)+f.Doc+wordsOf(f))
	}
	p.text("")
	p.example(sampleEvent(k), nil)
}

func wordsOf(f *records.Field) string {
	if f.Type != records.TypeWord || isState(f) {
		return ""
	}
	return ": `" + strings.Join(f.Words, "`, `") + "`"
}

func fieldType(f *records.Field) string {
	switch f.Type {
	case records.TypeInstant, records.TypeDuration:
		return "time"
	case records.TypeText:
		return "string"
	case records.TypeWord:
		if isState(f) {
			return "state"
		}
		return "string"
	case records.TypeTask, records.TypeRenamed:
		return "task"
	case records.TypeArgs:
		return "object"
	case records.TypeNumbers:
		return "array of numbers"
	}
	return "integer"
}

func (p *page) states() {
	p.head("State", "In ps(1)", "What it is")
	for i, name := range records.StateNames() {
		about := records.StateDocs()[i]
		p.row("`"+name+"`", about.Letter, about.Doc)
	}
	p.text("")
}

const introduction = `# The JSON of wprof-json, version ` + records.Version + `

    wprof-json host.wprof > host.json

writes one compact JSON object a line, in three sections: one header line, as many stack lines as the header's
` + "`stack_cnt`" + ` says, then the events in order of time. This page is the output of ` + "`wprof-json --schema=md`" + `;
` + "`wprof-json --schema`" + ` prints the same as JSON Schema (draft 2020-12), for validators and code generators. Both are made
from the table that the encoder uses.

- **Times and durations** are seconds with nine decimals, which is to the nanosecond; with ` + "`--time ns`" + ` whole
  nanoseconds, and the header's ` + "`time_unit`" + ` says so. Times count from the opening of the first window, also with
  ` + "`--start`" + `. Seconds with nine decimals fit a double to the nanosecond up to 97 days.
- **Optional** fields are absent where there is nothing to tell. New fields and kinds may come with a new minor version:
  pass over what you do not know.
- **Sections of a capture**: one header for all epochs of a session, and for several captures one after the other, with a
  ` + "`gap`" + ` between two. The ids of stacks count on and never repeat under one header; they need not be without gaps.
- **Names** may be any bytes. What is not UTF-8 is shown as U+FFFD, and a message says so once.
- **What is missing** is an event, ` + "`lost`" + `, and a number in the header.
- ` + "`--stream`" + ` writes events while they come: ` + "`stack_cnt`" + ` and ` + "`lost`" + ` are null then, of live input ` + "`dur`" + ` too, and each stack
  line stands just before the first event that names it.
- ` + "`--array`" + ` writes the same objects as one array. ` + "`--parquet`" + ` writes the same names as columns: [sql.md](sql.md).
- **No line** tells what the states tell that a capture repeats every 10 s and at its end: who runs on a CPU that switches to
  nobody, and where threads are that sleep through all of it. ` + "`wprof-flame`" + ` and ` + "`wprof-perfetto`" + ` show them.
- An event that came too late for its place stands at the earliest time that was still possible.
- ` + "`--fields`" + ` makes lines that lack what the schema asks for.
`

const aboutStacks = `Every stack that the capture defines is a line, whether an event names it or not. User frames stand before kernel frames,
outermost caller first. ` + "`--no-stacks`" + ` leaves them out, and the fields that name them.
`

const aboutEvents = `These fields are in every event; ` + "`-k`" + ` chooses kinds, ` + "`--fields`" + ` fields. Of what takes time, ` + "`ts`" + ` is the end,
` + "`dur`" + ` how long it took, and ` + "`start_ts`" + ` the beginning, absent when that was before the window.
`

const aboutTasks = "A thread is an object. Events name it as it was called at that moment.\n"

const aboutStates = "What `prev_state` and `next_state` say. Of several that are set at once the one is told that says most.\n"
