package ndjson

import (
	"reflect"
	"strings"

	"wprof/internal/records"
)

// Markdown returns the schema as a page for people.
func Markdown() ([]byte, error) {
	p := &page{}
	p.text(introduction)
	p.text("## The header\n\nOne line. All fields that are not optional are always there:\n")
	p.example(exampleHeader())
	p.fields(reflect.TypeFor[header]())
	p.text("## Stacks\n\n" + aboutStacks)
	p.example(exampleStack())
	p.fields(reflect.TypeFor[stackLine]())
	p.text("## Events\n\n" + aboutEvents)
	p.common()
	p.kindNames()
	p.text("### Tasks\n\n" + aboutTasks)
	p.tasks()
	for _, k := range records.Kinds() {
		p.kind(&k)
	}
	p.text("## Task states\n\n" + aboutStates)
	p.states()
	p.text(recipes())
	return []byte(p.b.String()), p.err
}

// page is the Markdown written so far.
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

// row writes a row of a table, where <unknown> must not be read as HTML.
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
		p.row("`"+f.name+"`", goType(f.typ), optionalMark(f.optional)+f.doc)
	}
	p.text("")
}

func optionalMark(is bool) string {
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
		p.row("`"+f.name+"`", f.typ, optionalMark(f.name == "numa")+commonDoc(f.name))
	}
	p.text("")
}

func (p *page) kindNames() {
	p.text(aboutNames)
	p.head("Kind", "`t`, and Parquet file")
	for _, k := range records.Kinds() {
		if k.Name != k.EventName() {
			p.row("`"+k.EventName()+"`", "`"+k.Name+"`")
		}
	}
	p.text("")
}

func (p *page) tasks() {
	p.head("Field", "Type", "What it is")
	for _, f := range taskFields() {
		p.row("`"+f.name+"`", f.typ, optionalMark(f.name == "tid" || f.opt)+f.doc)
	}
	p.text("")
}

func (p *page) kind(k *records.KindInfo) {
	p.text("### `" + k.Name + "`\n\n" + k.Doc)
	if !k.IsAvailable() {
		p.text("The recorder does not record these yet.")
	}
	if k.Extension {
		p.text("This kind is an extension of wprof-json.")
	}
	p.text("")
	p.head("Field", "Type", "What it is")
	for i := range k.Fields {
		f := &k.Fields[i]
		p.row("`"+f.Name+"`", fieldType(f), optionalMark(f.Opt)+f.Doc+wordsOf(f))
	}
	p.text("")
	p.example(exampleEvent(k), nil)
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
	case records.TypeText, records.TypeLabel:
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

writes one compact JSON object per line, in three parts: one header line, ` + "`stack_cnt`" + ` stack lines, then the events
in order of time. This page is the output of ` + "`wprof-json --schema=md`" + `;
` + "`wprof-json --schema`" + ` prints the same as JSON Schema (draft 2020-12), for validators and code generators. Both are
generated from the table that the encoder uses.

- **Times and durations** are seconds with nine decimals; with ` + "`--time ns`" + ` they are integer nanoseconds. The header's
  ` + "`time_unit`" + ` says which. Times are relative to the opening of the first window, also with ` + "`--start`" + `. Seconds with nine decimals fit a double to the nanosecond up to 97 days.
- **Optional** fields are absent where they have no value. A new minor version may add fields and kinds:
  ignore those that you do not know.
- **Sections of a capture**: there is one header for all epochs of a session, and for several captures in a row, with a
  ` + "`gap`" + ` between two of them. Stack ids never repeat under one header, and need not be consecutive.
- **Names** may have any bytes. What is not UTF-8 is replaced by U+FFFD, and one warning reports it.
- **Losses** are events of kind ` + "`lost`" + `; ` + "`lost`" + ` in the header is the total of the whole recording.
- ` + "`--stream`" + ` writes each event as it arrives: ` + "`stack_cnt`" + ` and ` + "`lost`" + ` are null then, for live input ` + "`dur`" + ` too, and each stack
  line comes just before the first event that uses it.
- ` + "`--array`" + ` writes the same objects as one array. ` + "`--parquet`" + ` writes the same names as columns: [sql.md](sql.md).
- **States**, which a capture has every 10 s and at its end, have no lines. So threads without a switch in the window, which run or are
  blocked all the time, are missing. ` + "`wprof-flame`" + ` and ` + "`wprof-perfetto`" + ` show them.
- An event that was read too late for its place has the earliest time that is still possible; of a span, ` + "`dur`" + ` and ` + "`start_ts`" + ` are its own.
- ` + "`--fields`" + ` writes lines that lack fields which the schema requires.
`

const aboutStacks = `Every stack that the capture defines has a line, whether an event uses it or not. User frames come before kernel frames,
with the outermost caller first. ` + "`--no-stacks`" + ` leaves out these lines, and the fields with stack ids.
`

const aboutEvents = `These fields are in every event; ` + "`-k`" + ` selects kinds, ` + "`--fields`" + ` fields. For a span, ` + "`ts`" + ` is its end,
` + "`dur`" + ` its duration, and ` + "`start_ts`" + ` its start, absent if before the window.
`

const aboutNames = "A kind has the same name in `-k`, in wprof-filter, in wprof-info and in the text form. In `t`, and as a Parquet file, some have\n" +
	"another one, which scripts for the C program wprof expect; `-k` takes both. (Events of\n" +
	"user-defined probes, of three kinds here, are of kind `typed` in the other tools.)\n"

const aboutTasks = "A thread is an object, with its names at the time of the event.\n"

const aboutStates = "The values of `prev_state` and `next_state`. If the kernel sets several at once, the most specific one is written.\n"
