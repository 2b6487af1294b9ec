//go:build linux

package json

import (
	"bytes"
	enc "encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/test/tools"
)

// oddNames are the names that the workload gives itself, as lines have them.
func oddNames() []string {
	return []string{
		"\uFFFD", "a\"b\\c", "two\nlines\r", "tab\tbell\a", "\x01\x02\x1b[31m", "\x7f", "<b>&amp;'", "\uFFFD(", "\uFFFD", "\U0001F600 ok",
		"cut \U0001F600\U0001F600\uFFFD", " ", "null", `{"ts":0}`,
	}
}

func TestNamesOfAnyBytesAreText(t *testing.T) {
	c := theCapture(t)
	renames, children := map[string]bool{}, map[string]bool{}
	for i := range c.lines.events {
		switch e := &c.lines.events[i]; e.T {
		case "task_rename":
			renames[e.Task.Comm] = true
		case "fork":
			children[e.Child.Comm] = true
		}
	}
	for _, name := range oddNames() {
		if !renames[name] || !children[name] {
			t.Errorf("the name %q: of a rename %v, of a child %v", name, renames[name], children[name])
		}
	}
	r := tools.Try(t, hang, nil, "wprof-json", c.path)
	if n := bytes.Count(r.Stderr, []byte("U+FFFD")); n != 1 || bytes.Count(r.Stderr, []byte("\n")) != 1 || !utf8.Valid(r.Stderr) {
		t.Errorf("the warning comes %d times: %s", n, r.Stderr)
	}
	if !utf8.Valid(r.Stdout) {
		t.Error("the output is not UTF-8")
	}
	for line := range bytes.Lines(r.Stdout) {
		if bytes.ContainsFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("a control character in %q", line)
		}
	}
}

func TestEveryReaderTakesEveryLine(t *testing.T) {
	c := theCapture(t)
	for _, args := range [][]string{nil, {"--stream", "--time", "ns"}} {
		out := c.write(t, args...)
		n := bytes.Count(out, []byte("\n"))
		for _, reader := range [][]string{
			{"python3", "-c", `import json, sys
for line in sys.stdin.buffer:
    text = json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False)
    sys.stdout.buffer.write(text.encode() + b"\n")`},
			{"jq", "-c", "."},
		} {
			cmd := exec.Command(reader[0], reader[1:]...)
			cmd.Stdin = bytes.NewReader(out)
			var said bytes.Buffer
			cmd.Stderr = &said
			got, err := cmd.Output()
			if err != nil || said.Len() > 0 || bytes.Count(got, []byte("\n")) != n {
				t.Errorf("%s of wprof-json %v: %v, %d lines of %d: %s", reader[0], args, err, bytes.Count(got, []byte("\n")), n, said.String())
				continue
			}
			sameValues(t, reader[0], got, out)
		}
	}
}

// sameValues: what a reader has read is what stands there.
func sameValues(t *testing.T, reader string, got, want []byte) {
	t.Helper()
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range b[:len(b)-1] {
		if bytes.Equal(a[i], b[i]) {
			continue
		}
		if x, y := canonical(t, a[i]), canonical(t, b[i]); x != y {
			t.Fatalf("%s has read %s of %s", reader, x, y)
		}
	}
}

func canonical(t *testing.T, line []byte) string {
	t.Helper()
	var v any
	if err := enc.Unmarshal(line, &v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	text, err := enc.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
