//go:build linux

package json

import (
	"bytes"
	enc "encoding/json"
	"maps"
	"testing"

	"wprof/test/tools"
)

// kindsOf are the names of kinds in JSON lines, by their names in wprof-info. Other kinds have no lines.
func kindsOf() map[string]string {
	return map[string]string{
		"switch": "switch", "waking": "waking", "wakeup_new": "wakeup_new", "sample": "timer", "fork": "fork", "exec": "exec",
		"rename": "task_rename", "exit": "task_exit", "free": "task_free", "lost": "lost",
	}
}

// infoOf is how many events of each kind wprof-info counts, under the names that lines have.
func infoOf(t *testing.T, capture string) map[string]uint64 {
	t.Helper()
	var info struct {
		Recordings []struct {
			Kinds []struct {
				Kind   string
				Events uint64
			}
		}
	}
	if err := enc.Unmarshal(tools.Run(t, "wprof-info", "--json", capture), &info); err != nil {
		t.Fatal(err)
	}
	n, names := map[string]uint64{}, kindsOf()
	for _, r := range info.Recordings {
		for _, k := range r.Kinds {
			if name := names[k.Kind]; name != "" {
				n[name] += k.Events
			}
		}
	}
	return n
}

func TestEveryEventAndEveryStackIsALine(t *testing.T) {
	c := theCapture(t)
	got, want := c.lines.byKind(), infoOf(t, c.path)
	if !maps.Equal(got, want) {
		t.Errorf("lines by kind: %v, wprof-info counts %v", got, want)
	}
	for _, kind := range kindsOf() {
		if kind != "lost" && got[kind] == 0 {
			t.Errorf("nothing of kind %s happened: the test does not test", kind)
		}
	}
	if n := *c.lines.header.StackCount; n != len(c.lines.stacks) || n != c.dump.stacks || n < 100 {
		t.Errorf("stack_cnt is %d, there are %d lines of stacks, and the text form defines %d", n, len(c.lines.stacks), c.dump.stacks)
	}
	if last := c.lines.events[len(c.lines.events)-1].TS; last > *c.lines.header.Dur {
		t.Errorf("an event of %d, but the window lasts for %d", last, *c.lines.header.Dur)
	}
	inSections(t, &c.lines)
	consistent(t, &c.lines)
}

// inSections: stacks first, then events in order of time.
func inSections(t *testing.T, l *lines) {
	t.Helper()
	if bytes.Contains(l.order, []byte("es")) {
		t.Error("there is a stack behind an event")
	}
}

// consistent: times do not go back, ids never repeat, and every stack that an event names has a line.
func consistent(t *testing.T, l *lines) {
	t.Helper()
	ids, last := map[int64]bool{}, ns(0)
	for i := range l.stacks {
		s := &l.stacks[i]
		if ids[s.ID] {
			t.Errorf("stack %d has two lines", s.ID)
		}
		ids[s.ID] = true
		if len(s.Modules) != len(s.Frames) || s.Srcs != nil && len(s.Srcs) != len(s.Frames) {
			t.Errorf("stack %d has %d frames, %d modules, %d sources", s.ID, len(s.Frames), len(s.Modules), len(s.Srcs))
		}
	}
	for i := range l.events {
		e := &l.events[i]
		if e.TS < last {
			t.Errorf("event %d is of %d, the one before of %d", i, e.TS, last)
		}
		last = e.TS
		for _, id := range e.stackIDs() {
			if !ids[id] {
				t.Errorf("event %d names stack %d, which has no line", i, id)
			}
		}
	}
}
