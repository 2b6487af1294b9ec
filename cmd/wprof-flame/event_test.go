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

func TestPicturesOfEvents(t *testing.T) {
	file := withEvents(t)
	for name, want := range map[string]string{"alloc": "Number of alloc · busy-100 · box", "request": "Time of request · busy-100 · box"} {
		got := run(t, nil, "--event", name, "--svg", file)
		if got.Status != 0 || !bytes.Contains(got.Stdout, []byte(want)) || bytes.Contains(got.Stdout, []byte(">on CPU<")) {
			t.Errorf("%s: status %d, want %q and no time on CPU", name, got.Status, want)
		}
	}
}
