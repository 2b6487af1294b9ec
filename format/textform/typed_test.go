package textform

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "wprof/format"
	"wprof/format/check"
)

const typedText = `
section id=0x1 open=1000
  text 4 text="interned"
  task 2 tid=20 pid=20 comm="server"
  eventtype 7 name="request" shape=span on=thread track="requests"
    field "size" type=uint unit="bytes"
    field "status" type=enum
      enum 0 name="fine"
      enum -1 name="failed"
    field "path" type=string hint=name
    field "ratio" type=float
    field "peers" type=task list
    field "text" type=text
  eventtype 8 name="tick"
  +0.000000010 cpu1 typed 2 type=7 start=+0.000000002 .size=4096 .status=-1 .path="/a b" .ratio=0.25 .peers=2,2 .text=4
  +0.000000011 cpu1 typed 0 type=8
  +0.000000012 cpu1 typed 2 type=7 start=+0.000000012 .size=0 .status=0 .path="" .ratio=0 .peers= .text=0
end
`

func TestTypedEventsAsText(t *testing.T) {
	var stream, text bytes.Buffer
	if err := Undump(&stream, strings.NewReader(typedText)); err != nil {
		t.Fatal(err)
	}
	if _, err := check.Stream(bytes.NewReader(stream.Bytes()), func(f check.Finding) { t.Error(f.Text) }); err != nil {
		t.Fatal(err)
	}
	if err := Dump(&text, bytes.NewReader(stream.Bytes())); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(typedText) {
		if line = strings.TrimSpace(line); strings.Contains(line, "typed") && !strings.Contains(text.String(), line) {
			t.Errorf("%s is missing in\n%s", line, text.String())
		}
	}
	r, err := NewReader(bytes.NewReader(stream.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	def := r.EventType(e.TypeID())
	values, ok := def.AppendValues(nil, e)
	if start, isSpan := e.Start(); !ok || len(values) != 6 || !isSpan || start != 1002 || string(values[2].Bytes) != "/a b" || string(values[1].Field.EnumName(values[1].Int())) != "failed" {
		t.Errorf("got %v of %v", values, def)
	}
	if e, err = r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, isSpan := e.Start(); isSpan {
		t.Error("an instant has a start")
	}
}

// An event that names no field has values for all, and one without values is written as such.
func TestTypedEventWithoutWordsHasZeros(t *testing.T) {
	const types = "section id=1 open=1000\neventtype 7 name=x\n  field a type=uint\n  field b type=string\n  field c type=float list\n"
	stream := undumped(t, types+"+1 cpu0 typed 0 type=7\nend\n")
	checked(t, stream)
	if text, err := dumped(t, stream); err != nil || !strings.Contains(text, ` typed 0 type=7 .a=0 .b="" .c=`) {
		t.Errorf("%v in\n%s", err, text)
	}
	empty := undumped(t, types+"+1 cpu0 typed 0 type=7 values=\"\"\nend\n")
	text, err := dumped(t, empty)
	if err != nil || !strings.Contains(text, ` typed 0 type=7 values=""`) {
		t.Errorf("%v in\n%s", err, text)
	}
	if again := undumped(t, text); !bytes.Equal(again, empty) {
		t.Errorf("the text\n%s\nbecomes another stream", text)
	}
}

func TestCheckFindsWrongTypedEvents(t *testing.T) {
	for want, events := range map[string]string{
		"is of event type 9":                    "+1 cpu0 typed 0 type=9",
		"do not match its type":                 `+1 cpu0 typed 0 type=7 start=+0 values="\x01"`,
		"names task 3":                          "+1 cpu0 typed 2 type=7 start=+0 .peers=2,3",
		"names text 5":                          "+1 cpu0 typed 2 type=7 start=+0 .text=5",
		"start must be set if and only if":      "+1 cpu0 typed 2 type=8 start=+0",
		"names eventtype 3, which":              "eventtype 10 ends=3",
		"eventtype 8 is defined twice":          "eventtype 8",
		"event type 11 has an unknown shape, 9": "eventtype 11 name=\"x\" shape=9",
		"type 11 is on an unknown track, 9":     "eventtype 11 name=\"x\" on=9",
		"type 11 has an unknown hint, 99":       "eventtype 11 name=\"x\"\nfield a type=uint hint=99",
		"type 11 has 2 fields with hint 2":      "eventtype 11 name=\"x\"\nfield a type=uint hint=name\nfield b type=uint hint=name",
		"type 11 has 2 fields with hint 11":     "eventtype 11 name=\"x\"\nfield a type=uint hint=events\nfield b type=uint hint=events",
		"type 11 has 2 fields with hint 12":     "eventtype 11 name=\"x\"\nfield a type=uint list hint=buckets\nfield b type=uint list hint=buckets",
		"type 11 has 2 fields with hint 15":     "eventtype 11 name=\"x\"\nfield a type=bytes hint=counts\nfield b type=bytes hint=counts",
		"is no bytes":                           "eventtype 11 name=\"x\"\nfield a type=uint hint=counts",
		"is no list of unsigned numbers":        "eventtype 11 name=\"x\"\nfield a type=uint hint=buckets",
		"type 11 has 2 fields with hint 3":      "eventtype 11 name=\"x\" shape=begin\nfield a type=uint hint=key\nfield b type=uint hint=key",
		"ends event type 8, which is not the":   "eventtype 11 name=\"x\" shape=end ends=8",
		"ends event type 12, which is not the":  "eventtype 11 name=\"b\" shape=begin\neventtype 12 name=\"e\" shape=end ends=11\neventtype 13 name=\"x\" shape=end ends=12",
		"type 11 has the shape of an end, but":  "eventtype 11 name=\"x\" shape=end",
	} {
		text := strings.Replace(typedText, "  +0.000000010 cpu1", events+"\n  +0.000000010 cpu1", 1)
		var stream bytes.Buffer
		if err := Undump(&stream, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		var found []string
		if _, err := check.Stream(bytes.NewReader(stream.Bytes()), func(f check.Finding) { found = append(found, f.Text) }); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: found %q, want %q", events, all, want)
		}
	}
}

// A type whose definition was lost may have been the begin of a span, and a newer version may know more tracks and hints.
func TestCheckAcceptsLostAndNewerTypes(t *testing.T) {
	checked(t, undumped(t, "section id=1\neventtype 7\neventtype 8 name=x shape=end ends=7\nend\n"))
	checked(t, undumped(t, fmt.Sprintf("section minor=%d id=1\neventtype 7 name=x on=9\n  field a type=uint hint=99\nend\n", Minor+1)))
}

// Ids mean nothing beyond their section, also where the header of the next one is missing, whatever its number.
func TestTypesEndWithTheirSection(t *testing.T) {
	for _, section := range []string{"9", "1"} {
		lost := "section id=1\neventtype 7 name=x\n  field a type=uint\nblock events\n+1 cpu0 typed 0 type=7 .a=1\nend\n" +
			"block definitions @section=" + section + " @seq=1\n  eventtype 7 name=y\n    field b type=uint\n" +
			"block events @section=" + section + " @seq=2\n  +2 cpu0 typed 0 type=7 .b=2\nend @section=" + section + " @seq=4\n"
		first := undumped(t, lost)
		text, err := dumped(t, first)
		if !strings.Contains(text, ".b=2") {
			t.Errorf("%v in\n%s", err, text)
		}
		if second := undumped(t, text); !bytes.Equal(first, second) {
			again, _ := dumped(t, second)
			t.Errorf("the text\n%s\nbecomes\n%s", text, again)
		}
	}
}

// The end block counts events by the names of their types, as the Writer does.
func TestEndCountsTypes(t *testing.T) {
	stream := undumped(t, typedText)
	checked(t, stream)
	sections, err := ReadSummary(bytes.NewReader(stream), int64(len(stream)))
	if err != nil {
		t.Fatal(err)
	}
	types := sections[0].End.Types
	if len(types) != 2 || string(types[0].Name) != "request" || types[0].Events != 2 || string(types[1].Name) != "tick" || types[1].Events != 1 {
		t.Errorf("got %v", types)
	}
	wrong := undumped(t, strings.Replace(typedText, "\nend\n", "\nend\n  type \"tick\" events=9\n", 1))
	found := false
	if _, err := check.Stream(bytes.NewReader(wrong), func(f check.Finding) { found = strings.Contains(f.Text, "events of each type") }); err != nil || !found {
		t.Errorf("wrong counts are not found, %v", err)
	}
	text, err := dumped(t, wrong)
	if err != nil || !strings.Contains(text, "\n  type \"tick\" events=9\n") || strings.Contains(text, "type \"request\"") {
		t.Errorf("%v in\n%s", err, text)
	}
}
