package ndjson

import (
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// An event that is about no single CPU, such as a counter of the machine, has none in its line.
func TestEventsOfAllCPUsHaveNoCPU(t *testing.T) {
	stream := fromtext.Stream(t, `
		section host=h boot_id=b open=1
		eventtype 1 name="load" on=global
		  field "load" type=uint hint=counter
		+1 all typed 0 type=1 .load=3
		+2 cpu5 typed 0 type=1 .load=4
		end close=+10
	`)
	out, _, ok := converted(stream, Options{})
	if !ok {
		t.Fatal("the stream cannot be read")
	}
	const want = `{"ts":0.000000001,"t":"typed","name":"load","args":{"load":3}}
{"ts":0.000000002,"t":"typed","cpu":5,"name":"load","args":{"load":4}}
`
	if _, lines, _ := strings.Cut(string(out), "\n"); lines != want {
		t.Errorf("got\n%s\nwant\n%s", lines, want)
	}
}

const probesText = `
	section host=h boot_id=b open=1
	  config key="probes" value="uspan:malloc (arg:0/name(size), stack)"
	task 2 tid=20 pid=20 comm=app process_comm=app
	frame 1
	  line function="main"
	stack 1 frames=1
	eventtype 1 name="malloc" group="probe" label="malloc {size}" probe="m" entry
	  field "size" type=uint
	  field "at" type=uint hint=hex
	  field "path" type=string
	  field "stack" type=stack
	  field "unread" type=uint hint=unread
	eventtype 2 name="malloc" group="probe" shape=span label="malloc {size} in {comm}" probe="m"
	  field "size" type=uint
	  field "stack" type=stack
	  field "ret" type=enum
	    enum 0 name="null"
	  field "unread" type=uint hint=unread
	eventtype 3 name="x" group="probe" probe="x" label="{path}"
	  field "path" type=string
	  field "unread" type=uint hint=unread
	+2 cpu0 typed 2 type=1 .size=7 .at=255 .path="/a" .stack=1 .unread=4
	+5 cpu0 typed 2 type=2 start=+2 .size=7 .stack=1 .ret=0 .unread=0
	+6 cpu0 typed 2 type=2 start=+1 open .size=0 .stack=0 .ret=3 .unread=1
	+7 cpu1 typed 0 type=3 .path="/b" .unread=0
	+8 cpu1 typed 0 type=3 .path="" .unread=1
	end close=+10
`

func TestCountsOfProbes(t *testing.T) {
	out, _, ok := converted(fromtext.Stream(t, `section open=1
	eventtype 1 name="f" on=global probe="k:f"
	  field "arg0" type=uint hint=track
	  field "events" type=uint hint=events
	  field "sum" type=int hint=counter
	  field "buckets" type=uint list hint=buckets
	  field "interval" type=duration
	+9 cpu0 typed 0 type=1 .arg0=5 .events=3 .sum=-1 .buckets=1,2,0 .interval=8
	end close=+10
`), Options{})
	_, lines, _ := strings.Cut(string(out), "\n")
	const want = `{"ts":0.000000009,"t":"utrace_instant","cpu":0,"utrace_id":"k:f","name":"f","args":{"arg0":5,"events":3,"sum":-1,"buckets":[1,2,0],"interval":0.000000008}}
`
	if !ok || !strings.HasSuffix(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", lines, want)
	}
}

// Events of user-defined probes have kinds of their own. A stack is no argument, what could not be read is null.
func TestEventsOfProbes(t *testing.T) {
	stream := fromtext.Stream(t, probesText)
	const task = `"task":{"tid":20,"pid":20,"comm":"app","pcomm":"app"}`
	const want = `{"ts":0.000000002,"t":"utrace_entry","cpu":0,"utrace_id":"m","name":"malloc 7",` + task + `,"stack_id":1,"args":{"size":7,"at":"0xff","path":null}}
{"ts":0.000000005,"t":"utrace_exit","cpu":0,"utrace_id":"m","name":"malloc 7 in app",` + task + `,"stack_id":1,"dur":0.000000003,"start_ts":0.000000002,"args":{"size":7,"ret":"null"}}
{"ts":0.000000006,"t":"utrace_exit","cpu":0,"utrace_id":"m","name":"malloc  in app",` + task + `,"dur":0.000000005,"start_ts":0.000000001,"open":"yes","args":{"size":null,"ret":3}}
{"ts":0.000000007,"t":"utrace_instant","cpu":1,"utrace_id":"x","name":"/b","args":{"path":"/b"}}
{"ts":0.000000008,"t":"utrace_instant","cpu":1,"utrace_id":"x","name":"x","args":{"path":null}}
`
	out, _, ok := converted(stream, Options{})
	if !ok {
		t.Fatal("the stream cannot be read")
	}
	header, lines, _ := strings.Cut(string(out), "\n")
	if _, events, _ := strings.Cut(lines, "\n"); events != want {
		t.Errorf("got\n%s\nwant\n%s", events, want)
	}
	if !strings.Contains(header, `"capture_utrace":true`) {
		t.Error(header)
	}
	for _, kind := range []string{"typed", "utrace_entry"} {
		out, _, _ := converted(stream, Options{Kinds: kindsOf([]string{kind}), NoStacks: true})
		_, lines, _ := strings.Cut(string(out), "\n")
		if got, want := strings.Count(lines, "\n"), map[string]int{"utrace_entry": 1}[kind]; got != want {
			t.Errorf("%s: %d lines, want %d:\n%s", kind, got, want, lines)
		}
	}
}
