package ndjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wprof/format"
)

func opener(stream []byte) func() (*format.Reader, error) {
	return func() (*format.Reader, error) { return format.NewReader(bytes.NewReader(stream)) }
}

// converted returns the output for a stream; false if the bytes are no stream.
func converted(stream []byte, o Options) (out []byte, result Result, is bool) {
	var b bytes.Buffer
	r, err := opener(stream)()
	if err != nil {
		return nil, Result{}, false
	}
	defer r.Close()
	if o.Stream {
		result, _ = Stream(r, &b, o, false, true)
	} else {
		result, _ = Write(opener(stream), &b, o)
	}
	return b.Bytes(), result, true
}

// checker checks what must hold for every output, for any input.
type checker struct{ schema *jsonschema.Schema }

func newChecker(t testing.TB) *checker {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:test", content); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	return &checker{s}
}

// line has the fields that are checked.
type line struct {
	Version    string
	StackCount *int   `json:"stack_cnt"`
	ID         *int64 `json:"id"`
	T          string
	StackID    *int64 `json:"stack_id"`
	OffCPUID   *int64 `json:"offcpu_stack_id"`
	WakerID    *int64 `json:"waker_stack_id"`
}

// lines checks an output of lines: each is valid, the first is the header, ids do not repeat, and a stack that an
// event refers to has a line before it.
func (c *checker) lines(out []byte, events int64) error {
	var head line
	stacks, lines := map[int64]bool{}, int64(0)
	n := 0
	for text := range bytes.Lines(out) {
		content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = c.schema.Validate(content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		switch n++; {
		case n == 1:
			if head = l; head.Version == "" {
				return fmt.Errorf("the first line is %s", text)
			}
		case l.ID != nil:
			if stacks[*l.ID] {
				return fmt.Errorf("stack %d is there twice", *l.ID)
			}
			stacks[*l.ID] = true
			if head.StackCount != nil && lines > 0 {
				return fmt.Errorf("a stack after an event: %s", text)
			}
		default:
			lines++
			for _, id := range []*int64{l.StackID, l.OffCPUID, l.WakerID} {
				if id != nil && !stacks[*id] {
					return fmt.Errorf("stack %d has no line yet: %s", *id, text)
				}
			}
		}
	}
	switch {
	case lines != events:
		return fmt.Errorf("%d lines of events, %d events reported", lines, events)
	case head.StackCount != nil && *head.StackCount != len(stacks):
		return fmt.Errorf("stack_cnt is %d, there are %d lines of stacks", *head.StackCount, len(stacks))
	}
	return nil
}

// all converts a stream to every form of output.
func (c *checker) all(t testing.TB, stream []byte) {
	t.Helper()
	for _, o := range []Options{{}, {Stream: true}, {Nanoseconds: true, NUMA: true, NoStacks: true}} {
		out, result, is := converted(stream, o)
		if !is {
			return
		}
		if err := c.lines(out, result.Events); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	out, result, _ := converted(stream, Options{Array: true})
	var elements []json.RawMessage
	if err := json.Unmarshal(out, &elements); err != nil || int64(len(elements)) < 1+result.Events {
		t.Errorf("--array: %d elements for %d events, %v", len(elements), result.Events, err)
	}
}
