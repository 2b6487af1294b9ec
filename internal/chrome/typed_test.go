package chrome

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// Types with the same colour group have the same colour, others the viewer's default.
func TestColoursFollowTheWord(t *testing.T) {
	drawn, _, _ := written(t, fromtext.Stream(t, `section open=0 close=+10
task 1 tid=7 pid=7 comm=x
eventtype 1 name="first" colour="slow"
eventtype 2 name="second" colour="slow"
eventtype 3 name="third"
+1 cpu0 typed 1 type=1
+2 cpu0 typed 1 type=2
+3 cpu0 typed 1 type=3
end
`), Options{})
	colours := map[string]string{}
	for _, e := range drawn.TraceEvents {
		colours[e.Name] = e.Colour
	}
	if colours["first"] == "" || colours["first"] != colours["second"] || colours["third"] != "" {
		t.Errorf("got %v", colours)
	}
}

// repeated returns a key that an object of a JSON text has twice; "": there is none.
func repeated(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	var keys []map[string]bool // of the open objects; nil: of an array
	isKey := false
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				keys = append(keys, make(map[string]bool))
			case '[':
				keys = append(keys, nil)
			default:
				keys = keys[:len(keys)-1]
			}
		case string:
			if isKey {
				if keys[len(keys)-1][token] {
					return token
				}
				keys[len(keys)-1][token] = true
				isKey = false
				continue
			}
		}
		isKey = len(keys) > 0 && keys[len(keys)-1] != nil && d.More()
	}
}

// Values of both ends of a span are shown, each under a different name; stacks by their functions; events without a thread on
// their CPU.
func TestSpansOfTwoEvents(t *testing.T) {
	drawn, _, text := written(t, fromtext.Stream(t, machine+frames()+`
eventtype 1 name="call" shape=begin
  field "fd" type=uint
  field "rc" type=int
eventtype 2 name="return" shape=end ends=1
  field "fd" type=uint
  field "rc" type=int
  field "on" type=string
  field "left" type=stack
  field "right" type=stack
eventtype 3 name="mark"
eventtype 4 name="heap" group="a"
  field "bytes" type=uint hint=counter
eventtype 5 name="heap" group="b"
  field "bytes" type=uint hint=counter
eventtype 6 name="heap" group="b"
  field "bytes" type=uint hint=counter unit="MB"
+1000 cpu0 typed 2 type=1 .fd=3 .rc=0
+2000 cpu0 typed 2 type=2 .fd=3 .rc=-5 .on="x" .left=1 .right=1
+3000 cpu1 typed 1 type=3
+4000 cpu1 typed 2 type=4 .bytes=1
+5000 cpu1 typed 2 type=5 .bytes=2
+5500 cpu1 typed 2 type=6 .bytes=3
+6000 cpu1 typed 4 type=1 .fd=4 .rc=0
section continues open=1000000000 close=+1000000 boot_id=b
end close=+1000000
`), Options{})
	if key := repeated(t, text); key != "" {
		t.Errorf("an object has two members %q", key)
	}
	var got []string
	for _, e := range drawn.TraceEvents {
		if strings.Contains("bieC", e.Phase) {
			args, err := json.Marshal(e.Args)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %d/%d @%s %s", e.Phase, strings.ReplaceAll(e.Name, " ", "_"), e.PID, e.TID, e.Time, args))
		}
	}
	const call = `{"fd":3,"on":"x","on CPU":0,"rc":0,"rc (end)":-5,"right":["schedule","futex_wait","main"]}`
	compare(t, got, `
		C a:heap_bytes_100 100/100 @4.000 {"value":1}
		C b:heap_bytes_100 100/100 @5.000 {"value":2}
		C b:heap_bytes_100_(MB) 100/100 @5.500 {"value":3}
		b call 100/100 @1.000 `+call+`
		b call_(open) 200/200 @6.000 {"fd":4,"on CPU":1,"rc":0}
		e call 100/100 @2.000 `+call+`
		e call_(open) 200/200 @1000.000 {"fd":4,"on CPU":1,"rc":0}
		i mark 4194305/4194322 @3.000 {"on CPU":1}
	`)
}

// An arrow leads from the thread in which a span began to the one in which it ended.
func TestSpansThatCrossThreadsHaveAnArrow(t *testing.T) {
	drawn, _, _ := written(t, fromtext.Stream(t, `section open=0 close=+10000
task 1 tid=7 pid=7 comm=x start=1
task 2 tid=8 pid=7 comm=y start=2
eventtype 1 name="request" group="probe" shape=span label="request {id}" probe="r"
  field "id" type=uint
  field "from" type=task hint=began_by
+3000 cpu0 typed 2 type=1 start=+1000 .id=1 .from=1
+4000 cpu0 typed 2 type=1 start=+2000 .id=2 .from=2
end
`), Options{})
	var got []string
	for _, e := range drawn.TraceEvents {
		if e.Phase != "" && strings.Contains("sfb", e.Phase) {
			got = append(got, fmt.Sprintf("%s %s %d/%d @%s", e.Phase, strings.ReplaceAll(e.Name, " ", "_"), e.PID, e.TID, e.Time))
		}
	}
	compare(t, got, `
		b request_1 7/8 @1.000
		b request_2 7/8 @2.000
		f span 7/8 @3.000
		s span 7/7 @1.000
	`)
}
