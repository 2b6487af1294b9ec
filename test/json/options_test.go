//go:build linux

package json

import (
	"bytes"
	enc "encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wprof/test/tools"
)

// write runs wprof-json on the capture.
func (c *capture) write(t *testing.T, args ...string) []byte {
	t.Helper()
	return tools.Run(t, "wprof-json", append(args, c.path)...)
}

func (c *capture) read(t *testing.T, args ...string) *lines {
	t.Helper()
	l := readLines(t, c.write(t, args...))
	return &l
}

// same returns the first event that differs in two outputs.
func same(t *testing.T, what string, got, want []event) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			a, _ := enc.Marshal(got[i])
			b, _ := enc.Marshal(want[i])
			t.Fatalf("%s: event %d is\n%s, want\n%s", what, i, a, b)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
}

func TestNanosecondsAreTheSecondsExactly(t *testing.T) {
	c := theCapture(t)
	l := c.read(t, "--time", "ns")
	same(t, "--time ns", l.events, c.lines.events)
	if *l.header.Dur != *c.lines.header.Dur || l.header.TimeUnit != "ns" || c.lines.header.TimeUnit != "s" {
		t.Errorf("the header is %+v, with --time ns %+v", c.lines.header, l.header)
	}
}

func TestAnArrayHasTheLinesAsElements(t *testing.T) {
	c := theCapture(t)
	want := bytes.Split(bytes.TrimSuffix(c.write(t), []byte("\n")), []byte("\n"))
	for _, args := range [][]string{{"--array"}, {"--array", "--time", "s"}} {
		var got []enc.RawMessage
		if err := enc.Unmarshal(c.write(t, args...), &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d elements, %d lines", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(bytes.TrimSpace(got[i]), want[i]) {
				t.Fatalf("element %d is %s, the line %s", i, got[i], want[i])
			}
		}
	}
}

func TestStacksAreLeftOut(t *testing.T) {
	c := theCapture(t)
	l := c.read(t, "--no-stacks")
	if *l.header.StackCount != 0 || len(l.stacks) > 0 || len(l.header.Stacks) > 0 {
		t.Errorf("%d stacks, the header %+v", len(l.stacks), l.header)
	}
	without := slices.Clone(c.lines.events)
	for i := range without {
		e := &without[i]
		e.StackID, e.WakerStackID, e.OffCPUStackID = nil, nil, nil
	}
	same(t, "--no-stacks", l.events, without)
}

func TestKindsAreChosen(t *testing.T) {
	c := theCapture(t)
	for _, kinds := range []string{"switch", "timer,exec", "waking,wakeup_new,task_rename", "task_exit"} {
		l := c.read(t, "-k", kinds)
		var want []event
		for _, e := range c.lines.events {
			if slices.Contains(strings.Split(kinds, ","), e.T) {
				want = append(want, e)
			}
		}
		same(t, "-k "+kinds, l.events, want)
		if *l.header.StackCount != len(l.stacks) || len(l.stacks) != len(c.lines.stacks) {
			t.Errorf("-k %s: stack_cnt %d, %d lines, all in all %d", kinds, *l.header.StackCount, len(l.stacks), len(c.lines.stacks))
		}
	}
}

func TestFieldsAreChosen(t *testing.T) {
	c := theCapture(t)
	plain := bytes.Split(c.write(t, "--no-stacks"), []byte("\n"))[1:]
	for _, fields := range []string{"next,offcpu_dur", "task,filename", "cpu", "ts"} {
		got := bytes.Split(c.write(t, "--no-stacks", "--fields", fields), []byte("\n"))[1:]
		if len(got) != len(plain) {
			t.Fatalf("--fields %s: %d lines, want %d", fields, len(got), len(plain))
		}
		keep := append(strings.Split(fields, ","), "ts", "t")
		for i := range got[:len(got)-1] {
			var a, b map[string]enc.RawMessage
			if err := enc.Unmarshal(plain[i], &a); err != nil {
				t.Fatal(err)
			}
			if err := enc.Unmarshal(got[i], &b); err != nil {
				t.Fatal(err)
			}
			for name := range a {
				if !slices.Contains(keep, name) {
					delete(a, name)
				}
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("--fields %s: %s of %s", fields, got[i], plain[i])
			}
		}
	}
}

// A range does not start its own clock: times still count from the opening of the window, and what began before is cut.
func TestARangeCutsWhatItCrosses(t *testing.T) {
	c := theCapture(t)
	all := c.lines.events
	from, to := all[len(all)/4].TS, all[len(all)/4*3].TS
	l := c.read(t, "--start", fmt.Sprintf("%dns", from), "--end", fmt.Sprintf("%dns", to))
	if *l.header.Dur != to-from || l.header.Start != c.lines.header.Start {
		t.Errorf("the header is %+v, want a dur of %d", l.header, to-from)
	}
	first, _ := slices.BinarySearchFunc(all, from, func(e event, at ns) int { return int(e.TS - at) })
	last, _ := slices.BinarySearchFunc(all, to, func(e event, at ns) int { return int(e.TS - at) })
	if len(l.events) != last-first || len(l.events) < 500 {
		t.Fatalf("%d events, want %d", len(l.events), last-first)
	}
	cut := 0
	for i := range l.events {
		got, want := l.events[i], all[first+i]
		if want.OffCPU != nil && want.TS-*want.OffCPU < from {
			off := want.TS - from
			want.OffCPU = &off
			cut++
		}
		if want.WakingTS != nil && *want.WakingTS < from {
			want.WakingTS = nil
			cut++
		}
		// Who preempted it, and what its waker had waited, may be known from before the range only; and ids are others.
		got, want = narrowed(got, from), narrowed(want, from)
		if !reflect.DeepEqual(got, want) {
			a, _ := enc.Marshal(got)
			b, _ := enc.Marshal(want)
			t.Fatalf("event %d is\n%s, want\n%s", i, a, b)
		}
	}
	if cut == 0 {
		t.Error("nothing crosses the start")
	}
	consistent(t, l)
}

// narrowed is an event without what a range changes.
func narrowed(e event, from ns) event {
	e.StackID, e.WakerStackID, e.OffCPUStackID = nil, nil, nil
	e.Delay, e.Chain = nil, nil
	if e.WakingReason == "preempted" && e.WakingTS == nil {
		e.Waker, e.WakingCPU = nil, nil
	}
	return e
}
