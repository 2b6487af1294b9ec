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
