package main

import (
	"bytes"
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// events are allocations in two functions, and requests that take 1 and 3 ms.
const events = `
eventtype 1 name="request" shape=span
  field "where" type=stack
eventtype 2 name="alloc"
  field "where" type=stack
+1000000 cpu0 typed 2 type=2 .where=1
+2000000 cpu0 typed 2 type=2 .where=1
+3000000 cpu0 typed 3 type=2 .where=2
+5000000 cpu0 typed 2 type=1 start=+4000000 .where=1
+8000000 cpu0 typed 3 type=1 start=+5000000 .where=2
end close=+10000000
`

func withEvents(t *testing.T) string {
	t.Helper()
	before, _, _ := strings.Cut(capture, "+0 cpu0")
	return written(t, fromtext.Stream(t, before+events))
}

func TestEventsByStack(t *testing.T) {
	file := withEvents(t)
	for args, want := range map[string]string{
		"--event alloc":   "busy-100;main;one 2\nbusy-100;main;two 1\n",
		"--event request": "busy-100;main;one 1000\nbusy-100;main;two 3000\n",
		"--event request --unit samples --by thread":        "busy-100/100;main;one 1\nlazy-100/101;main;two 1\n",
		"--event request --start 6ms --unit ns":             "busy-100;main;two 2000000\n",
		"--event request --tid 100":                         "busy-100;main;one 1000\n",
		"--event alloc --event request --unit ns --by comm": "busy;main;one 1000000\nlazy;main;two 3000000\n",
		"--event alloc --by none --reverse":                 "one;main 2\ntwo;main 1\n",
	} {
		if got := run(t, nil, append(strings.Fields(args), file)...); got.Status != 0 || string(got.Stdout) != want {
			t.Errorf("%s: status %d, got\n%swant\n%s%s", args, got.Status, got.Stdout, want, got.Stderr)
		}
	}
	got := run(t, nil, "--event", "no\x1bne", file)
	if want := "the capture has no event type no\\x1bne; it has alloc, request"; got.Status != 0 || !strings.Contains(string(got.Stderr), want) {
		t.Errorf("status %d, stderr %q, want %q in it", got.Status, got.Stderr, want)
	}
}

const probes = `
eventtype 1 name="malloc" group="probe" probe="m" entry
  field "size" type=uint
  field "stack" type=stack
eventtype 2 name="malloc" group="probe" probe="m" shape=span
  field "size" type=uint
  field "stack" type=stack
  field "ratio" type=float
  field "path" type=string
  field "unread" type=uint hint=unread
eventtype 3 name="main" group="probe" probe="x"
  field "n" type=int
  field "stack" type=stack
eventtype 4 name="m"
+1000000 cpu0 typed 2 type=1 .size=10 .stack=1
+2000000 cpu0 typed 2 type=2 start=+1000000 .size=10 .stack=1 .ratio=1.5 .path="" .unread=0
+3000000 cpu0 typed 2 type=2 start=+2500000 .size=4 .stack=1 .ratio=-1 .path="" .unread=0
+4000000 cpu0 typed 3 type=2 start=+3900000 .size=0 .stack=2 .ratio=2.5 .path="" .unread=1
+4000000 cpu0 typed 3 type=3 .n=7 .stack=2
+5000000 cpu0 typed 3 type=3 .n=-7 .stack=1
+5000000 cpu0 typed 3 type=4
end close=+10000000
`

// Events of a probe are chosen by its id or the name of its function, and weighted by their time, their number, or one of their values.
func TestProbesByStack(t *testing.T) {
	before, _, _ := strings.Cut(capture, "+0 cpu0")
	file := written(t, fromtext.Stream(t, before+probes))
	for args, want := range map[string]string{
		"--probe m": "busy-100;main;one 1500\nbusy-100;main;two 100\n",
		"--probe malloc --weight duration --unit ns":   "busy-100;main;one 1500000\nbusy-100;main;two 100000\n",
		"--event malloc --weight count":                "busy-100;main;one 2\nbusy-100;main;two 1\n",
		"--probe m --weight count":                     "busy-100;main;one 2\nbusy-100;main;two 1\n",
		"--probe x":                                    "busy-100;main;one 1\nbusy-100;main;two 1\n",
		"--probe m --weight arg:size":                  "busy-100;main;one 14\n",
		"--probe m --weight arg:ratio":                 "busy-100;main;one 1\nbusy-100;main;two 2\n",
		"--probe x --weight arg:n --by thread":         "lazy-100/101;main;two 7\n",
		"--probe m --probe x --weight count --by none": "main;one 3\nmain;two 2\n",
	} {
		if got := run(t, nil, append(strings.Fields(args), file)...); got.Status != 0 || string(got.Stdout) != want {
			t.Errorf("%s: status %d, got\n%swant\n%s%s", args, got.Status, got.Stdout, want, got.Stderr)
		}
	}
	for args, want := range map[string]string{
		"--probe none":                          "the capture has no events of a probe none; it has m, x",
		"--probe m --weight arg:size":           "1 event left out, without a number in size",
		"--probe m --weight arg:path":           "3 events left out",
		"--probe m --weight size":               "the weight must be count, duration or arg:NAME",
		"--on-cpu --weight count":               "--weight is for --event and --probe",
		"--probe m --weight arg:size --svg":     "--weight arg:size does not go with --svg",
		"--probe m --weight arg:size --unit ns": "--unit is for times",
		"--probe m --event x":                   "exclude each other",
		"--probe m --pprof":                     "--probe does not go with --pprof",
	} {
		if got := run(t, nil, append(strings.Fields(args), file)...); !strings.Contains(string(got.Stderr), want) {
			t.Errorf("%s: status %d, stderr %q, want %q in it", args, got.Status, got.Stderr, want)
		}
	}
}

func TestPicturesOfEvents(t *testing.T) {
	file := withEvents(t)
	for name, want := range map[string]string{"alloc": "Number of alloc · busy-100 · box", "request": "Time of request · busy-100 · box"} {
		got := run(t, nil, "--event", name, "--svg", file)
		if got.Status != 0 || !bytes.Contains(got.Stdout, []byte(want)) || bytes.Contains(got.Stdout, []byte(">on CPU<")) {
			t.Errorf("%s: status %d, want %q and no time on CPU", name, got.Status, want)
		}
	}
}

// spans are calls of busy's, of which one is within another, and one of lazy that lasts to the end.
const spans = `
eventtype 1 name="malloc" group="probe" probe="m" shape=span
+0 cpu0 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120 since=-1000
+2000000 cpu0 sample 2 stack=1 source=1
+2500000 cpu0 typed 2 type=1 start=+2000000
+3000000 cpu0 typed 2 type=1 start=+1000000
+5000000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-1000 next_state=S stack=1
+6000000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120 since=+5000000 next_state=R+
+7000000 cpu0 typed 2 type=1 start=+4000000
+8000000 cpu0 sample 2 stack=2 source=1
+9500000 cpu0 typed 2 type=1 start=+9000000
+10000000 cpu0 typed 3 type=1 start=+5500000 open
+10000000 cpu0 state_cpu 2 prio=120 since=+6000000 open
+10000000 cpu0 state_thread 3 state=S prio=120 since=+6000000 stack=2 open
end close=+10000000
`

// Only the time within spans counts: nested ones once, and samples only where they are inside.
func TestTimeInsideAProbe(t *testing.T) {
	before, _, _ := strings.Cut(capture, "+0 cpu0")
	stream := fromtext.Stream(t, before+spans)
	file := written(t, stream)
	for args, want := range map[string]string{
		"--inside m --on-cpu --by thread --spread span":        "busy-100/100;[not sampled] 1500\nbusy-100/100;main;one 3000\nlazy-100/101;[not sampled] 500\n",
		"--inside malloc --on-cpu --tid 100":                   "busy-100;main;one 4500\n",
		"--inside m --off-cpu --by thread":                     "busy-100/100;[no stack];[runnable] 1000\nlazy-100/101;main;two 4000\n",
		"--inside m --off-cpu --by thread --start 5500us":      "busy-100/100;[no stack];[runnable] 500\nlazy-100/101;main;two 4000\n",
		"--inside m --off-cpu --by thread --end 8ms --tid 101": "lazy-100/101;main;two 2000\n",
	} {
		for _, stdin := range [][]byte{nil, stream} {
			all := strings.Fields(args)
			if stdin == nil {
				all = append(all, file)
			}
			if got := run(t, stdin, all...); got.Status != 0 || string(got.Stdout) != want {
				t.Errorf("%s: status %d, got\n%swant\n%s%s", args, got.Status, got.Stdout, want, got.Stderr)
			}
		}
	}
	for args, want := range map[string]string{
		"--inside none":             "the capture has no span of a probe none, so that the output is empty; it has spans of m",
		"--inside m --probe m":      "--inside is for time",
		"--inside m --html":         "--inside does not go with --html",
		"--inside m --per-thread x": "--inside does not go with --per-thread",
	} {
		if got := run(t, nil, append(strings.Fields(args), file)...); !strings.Contains(string(got.Stderr), want) {
			t.Errorf("%s: status %d, stderr %q, want %q in it", args, got.Status, got.Stderr, want)
		}
	}
	if got := run(t, nil, "--inside", "m", "--svg", file); got.Status != 0 || !bytes.Contains(got.Stdout, []byte("Wall-clock time inside m")) {
		t.Errorf("status %d: no title: %s", got.Status, got.Stderr)
	}
}
