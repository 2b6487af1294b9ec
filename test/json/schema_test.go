//go:build linux

package json

import (
	"bytes"
	enc "encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wprof/test/tools"
)

// theSchema is what wprof-json --schema prints, compiled. Compiling also validates it by the schema of schemas.
func theSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(tools.Run(t, "wprof-json", "--schema")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:test", content); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Errorf("the schema is of draft %d", s.DraftVersion)
	}
	return s
}

// valid validates a line by the schema.
func valid(s *jsonschema.Schema, line []byte) error {
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(content)
}

// allValid validates every line of an output by the schema and returns how many there are.
func allValid(t *testing.T, s *jsonschema.Schema, what string, out []byte) (n int) {
	t.Helper()
	for line := range bytes.Lines(out) {
		n++
		if err := valid(s, line); err != nil {
			t.Fatalf("%s: line %d: %s%v", what, n, line, err)
		}
	}
	return n
}

// newValid does so where most lines are like others: of those that are equal but for digits it validates the first. The schema
// bounds numbers by their sign only, and digits only in the header's version.
func (k knownShapes) newValid(t *testing.T, s *jsonschema.Schema, what string, out []byte) (n int) {
	t.Helper()
	var key []byte
	for line := range bytes.Lines(out) {
		n++
		key = shape(key[:0], line)
		if k[string(key)] && enc.Valid(line) {
			continue
		}
		if err := valid(s, line); err != nil {
			t.Fatalf("%s: line %d: %s%v", what, n, line, err)
		}
		if !bytes.Contains(line, []byte(`"version":`)) {
			k[string(key)] = true
		}
	}
	return n
}

// knownShapes are the shapes of lines that the schema takes.
type knownShapes map[string]bool

// shape appends a line to buf, with each of its runs of digits as one 0.
func shape(buf, line []byte) []byte {
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	for i, c := range line {
		if !isDigit(c) {
			buf = append(buf, c)
		} else if i == 0 || !isDigit(line[i-1]) {
			buf = append(buf, '0')
		}
	}
	return buf
}

func TestEveryLineIsAsTheSchemaSays(t *testing.T) {
	c, s := theCapture(t), theSchema(t)
	if n := allValid(t, s, "plain", tools.Run(t, "wprof-json", c.path)); n != 1+len(c.lines.order) {
		t.Errorf("%d lines, then %d", 1+len(c.lines.order), n)
	}
	for _, args := range [][]string{{"--time", "ns", "-e", "numa", "--no-stacks"}, {"--stream", "--time", "ns"}} {
		knownShapes{}.newValid(t, s, strings.Join(args, " "), tools.Run(t, "wprof-json", append(args, c.path)...))
	}
	t.Run("array", func(t *testing.T) {
		var elements []enc.RawMessage
		if err := enc.Unmarshal(tools.Run(t, "wprof-json", "--array", "-k", "switch,timer", c.path), &elements); err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		for _, e := range elements {
			if err := enc.Compact(&lines, e); err != nil {
				t.Fatal(err)
			}
			lines.WriteByte('\n')
		}
		knownShapes{}.newValid(t, s, "array", lines.Bytes())
	})
}

func TestLinesOfPartsOfStreamsAreAsTheSchemaSays(t *testing.T) {
	c, s, known := theCapture(t), theSchema(t), knownShapes{}
	filtered := filepath.Join(t.TempDir(), "filtered.wprof")
	for _, args := range []string{"-n busy", "--idle", "--cpu 0", "-K switch", "-k switch -n busy", "--start 100ms --end 200ms", "-n busy -K waking"} {
		tools.Run(t, "wprof-filter", append(strings.Fields(args), "-o", filtered, c.path)...)
		for _, stream := range []string{"", "--stream"} {
			if n := known.newValid(t, s, "filtered by "+args, tools.Run(t, "wprof-json", append(strings.Fields(stream), filtered)...)); n < 2 {
				t.Errorf("%d lines of what %s leaves", n, args)
			}
		}
	}
	whole := read(t, c.path)
	for _, cut := range []int{len(whole) * 3 / 4, len(whole) / 2, len(whole) - 1} {
		hole := bytes.Clone(whole)
		hole[cut/2] ^= 0xff
		for _, stream := range [][]byte{whole[:cut], hole} {
			for _, flags := range [][]string{nil, {"--stream"}} {
				r := tools.Try(t, hang, stream, "wprof-json", flags...)
				if r.Status != 4 || !bytes.Contains(r.Stderr, []byte("damaged")) && !bytes.Contains(r.Stderr, []byte("cut")) {
					t.Errorf("status %d, want 4: %s", r.Status, r.Stderr)
				}
				known.newValid(t, s, fmt.Sprintf("cut or damaged at %d", cut), r.Stdout)
			}
		}
	}
}

// The schema refuses wrong lines: each line with each possible mutation. None of them has the shape of a right one.
func TestTheSchemaRefusesBrokenLines(t *testing.T) {
	c, s := theCapture(t), theSchema(t)
	seen, refused := map[string]bool{}, 0
	for line := range bytes.Lines(tools.Run(t, "wprof-json", c.path)) {
		var o map[string]any
		if err := enc.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		kind := fmt.Sprint(o["t"], o["id"] != nil)
		if seen[kind] {
			continue
		}
		seen[kind] = true
		right := shape(nil, marshal(t, o))
		for name, broken := range mutations(o) {
			refused++
			text := marshal(t, broken)
			if s.Validate(broken) == nil {
				t.Errorf("%s: the schema takes %s", name, text)
			}
			if bytes.Equal(shape(nil, text), right) {
				t.Errorf("%s: it has the shape of the line that it was: %s", name, text)
			}
		}
	}
	if len(seen) < 11 || refused < 200 {
		t.Errorf("%d sorts of lines, with %d mutations", len(seen), refused)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := enc.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mutations are copies of a line, each with one thing wrong.
func mutations(o map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	with := func(name, key string, value any) {
		broken := map[string]any{}
		for k, v := range o {
			broken[k] = v
		}
		if broken[key] = value; value == nil {
			delete(broken, key)
		}
		all[name] = broken
	}
	with("another field", "surplus", 1.0)
	for key, value := range o {
		// Fields that a line of this kind may have or not, and those by which the schema distinguishes kinds.
		if !optional[key] && key != "t" && key != "id" && (key != "waker" || o["prev_state"] == nil) {
			with("without "+key, key, nil)
		}
		switch v := value.(type) {
		case float64:
			with(key+" as text", key, fmt.Sprint(v))
		case string:
			with(key+" as a number", key, 7.0)
		case bool:
			with(key+" as text", key, "true")
		case []any:
			with(key+" with a number in it", key, append([]any{7.0}, v...))
		case map[string]any:
			with(key+" as text", key, "busy")
			for part := range v {
				if part != "tid" {
					inner := map[string]any{}
					for k, one := range v {
						if k != part {
							inner[k] = one
						}
					}
					with(key+" without "+part, key, inner)
				}
			}
		}
	}
	if o["t"] != nil {
		with("an unknown kind", "t", "swich")
		with("half a CPU", "cpu", 0.5)
		with("a CPU below 0", "cpu", -1.0)
	}
	if o["prev_state"] != nil {
		with("an unknown state", "prev_state", "asleep")
		with("an unknown reason", "waking_reason", "because")
		with("an unknown context", "waking_context", "elsewhere")
		with("a duration below 0", "offcpu_dur", -0.1)
		with("half a stack", "offcpu_stack_id", 1.5)
	}
	return all
}

// optional are fields of the capture's lines that may be absent.
var optional = map[string]bool{
	"extras": true, "metadata": true, "srcs": true, "waking_ts": true, "waking_reason": true, "waking_cpu": true,
	"waking_context": true, "waking_interrupt": true, "interrupts_dur": true,
	"wait_class": true, "wait_call": true, "wait_fd": true, "wait_file": true, "wait_peer": true, "futex": true, "lock_owner": true,
	"offcpu_dur": true, "next_state": true, "offcpu_stack_id": true, "compound_delay": true, "compound_chain_len": true,
	"waker_stack_id": true, "stack_id": true, "old_tid": true, "exit_code": true, "exit_signal": true, "start_ts": true, "open": true,
}
