//go:build linux

package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// event is a line of wprof-json that a probe has made, with times in nanoseconds.
type event struct {
	T       string          `json:"t"`
	TS      int64           `json:"ts"`
	ID      string          `json:"utrace_id"`
	Name    string          `json:"name"`
	Start   int64           `json:"start_ts"`
	Dur     int64           `json:"dur"`
	Open    string          `json:"open"`
	StackID int             `json:"stack_id"`
	Args    json.RawMessage `json:"args"`
	Task    struct {
		TID, PID int
		Comm     string
	} `json:"task"`
}

// arg is the text of an argument in JSON, and of a string its content; "": there is none.
func (e *event) arg(t *testing.T, name string) string {
	t.Helper()
	var args map[string]json.RawMessage
	if err := json.Unmarshal(e.Args, &args); err != nil {
		t.Fatalf("arguments %s: %v", e.Args, err)
	}
	var text string
	if json.Unmarshal(args[name], &text) == nil && string(args[name]) != "null" {
		return text
	}
	return string(args[name])
}

func (e *event) number(t *testing.T, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(e.arg(t, name), 10, 64)
	if err != nil {
		t.Fatalf("argument %s of %s: %v", name, e.Args, err)
	}
	return n
}

// capture is what a recording has of probes, and what the program said.
type capture struct {
	file   string
	events []event
	stacks map[int][]string
	said   map[string][]string
	stderr string // of the recorder
}

// record records a command with these probes. Nothing may be lost.
func record(t *testing.T, probes []string, command ...string) *capture {
	t.Helper()
	return recordBy(t, []string{tools.Path("wprof-record")}, probes, command...)
}

// recordBy records with a command that runs the recorder with what follows.
func recordBy(t *testing.T, recorder, probes []string, command ...string) *capture {
	t.Helper()
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "probes.wprof")
	args := append(slices.Clone(recorder[1:]), "-o", file)
	for _, p := range probes {
		args = append(args, "-U", p)
	}
	cmd := exec.Command(recorder[0], append(append(args, "--"), command...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("record %s: %v: %s", strings.Join(command, " "), err, stderr.Bytes())
	}
	c := read(t, file)
	c.stderr = stderr.String()
	for line := range strings.Lines(stdout.String() + c.stderr) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			c.said[name] = append(c.said[name], value)
		}
	}
	return c
}

// read reads the events of probes in a capture, which has lost nothing.
func read(t *testing.T, file string) *capture {
	t.Helper()
	c := &capture{file: file, stacks: make(map[int][]string), said: make(map[string][]string)}
	lines := bufio.NewScanner(bytes.NewReader(tools.Run(t, "wprof-json", "--time", "ns", file)))
	lines.Buffer(nil, 1<<20)
	for number := 0; lines.Scan(); number++ {
		switch line := lines.Bytes(); {
		case number == 0:
			var header struct {
				Lost    int
				Utrace  bool `json:"capture_utrace"`
				Version string
			}
			if err := json.Unmarshal(line, &header); err != nil || header.Lost > 0 || !header.Utrace || header.Version == "" {
				t.Errorf("%v, header %s", err, line)
			}
		case bytes.HasPrefix(line, []byte(`{"id":`)):
			var stack struct {
				ID     int
				Frames []string
			}
			if err := json.Unmarshal(line, &stack); err != nil {
				t.Fatalf("stack %s: %v", line, err)
			}
			c.stacks[stack.ID] = stack.Frames
		case bytes.Contains(line, []byte(`"utrace_id":`)):
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("event %s: %v", line, err)
			}
			c.events = append(c.events, e)
		}
	}
	return c
}

// of returns the events of a probe in order of time, without the entries of spans.
func (c *capture) of(id string) (found []event) {
	for _, e := range c.events {
		if e.ID == id && e.T != "utrace_entry" {
			found = append(found, e)
		}
	}
	return found
}

func (c *capture) entries(id string) (found []event) {
	for _, e := range c.events {
		if e.ID == id && e.T == "utrace_entry" {
			found = append(found, e)
		}
	}
	return found
}

// args are the arguments of a probe's events, as they stand in JSON.
func (c *capture) args(id string) (all []string) {
	for _, e := range c.of(id) {
		all = append(all, string(e.Args))
	}
	return all
}

func (c *capture) number(t *testing.T, name string) int64 {
	t.Helper()
	if len(c.said[name]) != 1 {
		t.Fatalf("the program said %d times what %s is: %v", len(c.said[name]), name, c.said)
	}
	n, err := strconv.ParseInt(c.said[name][0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// check compares events with what they should be, one a line.
func check(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%d events, want %d; from number %d on:\n%s\nwant\n%s", len(got), len(want), i, some(got, i), some(want, i))
			return
		}
	}
}

func some(all []string, from int) string {
	return strings.Join(all[min(from, len(all)):min(from+3, len(all))], "\n")
}

// each makes the lines of n events.
func each(n int, line func(i int) string) (all []string) {
	for i := range n {
		if text := line(i); text != "" {
			all = append(all, text)
		}
	}
	return all
}
