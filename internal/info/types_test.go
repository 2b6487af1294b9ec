package info

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// typedSection returns a section of typed events; head is added to its first line.
func typedSection(head, events string) string {
	return "section open=0 close=+2s id=7 boot_id=b " + head + "\ntask 1 tid=1\n" +
		"eventtype 3 name=\"a\\n\" group=lib\neventtype 4 name=b\neventtype 5 name=b\n" + events
}

// Types with the same name and group are one type, with any ids in each epoch.
func TestTypedEventsAreCountedByType(t *testing.T) {
	stream := fromtext.Stream(t, typedSection("", "+1 cpu0 typed 1 type=3\n+2 cpu0 typed 1 type=4\n+3 cpu0 typed 1 type=5\nend close=+3 last=false\n")+
		typedSection("continues epoch=1", "+4 cpu0 typed 1 type=4\nend close=+2s\n"))
	text, damage := printed(t, stream)
	if len(damage) > 0 {
		t.Error(damage)
	}
	want := "types       2 types of events\n            3  2/s  b\n            1  1/s  \"a\\n\" of lib\n"
	if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
		t.Errorf("got\n%swant in it\n%s", text, want)
	}
	s, err := Summarize(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	types := s.report("x").Recordings[0].Types
	if len(types) != 2 || types[0].Name != "b" || types[0].Events != 3 || *types[0].PerSecond != 1.5 || types[1].Group != "lib" {
		t.Errorf("got %+v", types)
	}
}

// An end block counts the events of some types only, and no definitions of types: the summary says so.
func TestCountsSayWhatTheyLeaveOut(t *testing.T) {
	for _, c := range []struct {
		types int
		want  string
	}{{1023, "types 1,023 types of events 1 "}, {1025, "types 1,024 types of events, the most frequent ones 1 "}} {
		var text strings.Builder
		text.WriteString("section open=0 close=+2s id=7 boot_id=b\ntask 1 tid=1\n")
		for i := range c.types {
			fmt.Fprintf(&text, "eventtype %d name=t%d\n", i+1, i)
		}
		for i := range c.types {
			fmt.Fprintf(&text, "+%d cpu0 typed 1 type=%d\n", i, i+1)
		}
		got, damage := printed(t, fromtext.Stream(t, text.String()+"end\n"))
		if got = strings.Join(strings.Fields(got), " "); len(damage) > 0 || !strings.Contains(got, c.want) || !strings.Contains(got, "defined 1 definition besides texts and event types") {
			t.Errorf("%d types: got %s, %q", c.types, got, damage)
		}
	}
}
