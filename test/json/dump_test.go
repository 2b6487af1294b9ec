//go:build linux

package json

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// dump is the text form of a capture, which wprof-json does not write: docs/text-form.md says what it looks like.
type dump struct {
	open   int64
	stacks int // definitions in all sections
	tasks  map[int]taskLine
	events []eventLine // without the state of threads
	states []eventLine // that at the beginning of the window
}

type taskLine struct {
	tid, pid int
	start    int64
	comm     string
	idle     bool
}

type eventLine struct {
	at     ns
	cpu    int
	kind   string
	task   int
	fields map[string]string
	flags  map[string]bool
}

func readDump(t *testing.T, text []byte) *dump {
	t.Helper()
	d := &dump{tasks: map[int]taskLine{}}
	for line := range strings.Lines(string(text)) {
		if err := d.take(strings.TrimSpace(line)); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return d
}

func (d *dump) take(line string) error {
	words, err := wordsOf(line)
	if err != nil || len(words) == 0 {
		return err
	}
	_, fields, _ := sorted(words)
	switch {
	case words[0] == "section":
		d.open, err = strconv.ParseInt(fields["open"], 10, 64)
	case words[0] == "stack":
		d.stacks++
	case words[0] == "task":
		return d.takeTask(words[1], fields)
	case strings.HasPrefix(words[0], "+") || strings.HasPrefix(words[0], "-"):
		return d.takeEvent(words)
	}
	return err
}

func (d *dump) takeTask(id string, fields map[string]string) error {
	n, err := strconv.Atoi(id)
	k := taskLine{comm: fields["comm"], idle: strings.Contains(fields["flags"], "idle")}
	k.tid, _ = strconv.Atoi(fields["tid"])
	k.pid, _ = strconv.Atoi(fields["pid"])
	k.start, _ = strconv.ParseInt(fields["start"], 10, 64)
	d.tasks[n] = k
	return err
}

func (d *dump) takeEvent(words []string) error {
	e := eventLine{cpu: -1}
	var err error
	if e.at, err = timeOf(words[0]); err != nil {
		return err
	}
	words = words[1:]
	if cpu, is := strings.CutPrefix(words[0], "cpu"); is {
		if e.cpu, err = strconv.Atoi(cpu); err != nil {
			return err
		}
		words = words[1:]
	} else if words[0] == "all" {
		words = words[1:]
	}
	e.kind = words[0]
	var bare []string
	bare, e.fields, e.flags = sorted(words[1:])
	if len(bare) > 0 {
		if e.task, err = strconv.Atoi(bare[0]); err != nil {
			return err
		}
	}
	switch {
	case e.kind != "state_cpu" && e.kind != "state_thread":
		if e.kind != "cpu_left" {
			d.events = append(d.events, e)
		}
	case len(d.events) == 0 && !e.flags["open"]:
		d.states = append(d.states, e)
	}
	return nil
}

// sorted returns values by name, names alone, and all other words.
func sorted(words []string) (bare []string, fields map[string]string, flags map[string]bool) {
	fields, flags = map[string]string{}, map[string]bool{}
	for _, w := range words {
		name, value, has := strings.Cut(w, "=")
		switch {
		case has:
			fields[name] = value
		case w != "" && (w[0] >= '0' && w[0] <= '9'):
			bare = append(bare, w)
		default:
			flags[w] = true
		}
	}
	return bare, fields, flags
}

// wordsOf splits a line into words, without quotes.
func wordsOf(line string) (words []string, err error) {
	for line = strings.TrimLeft(line, " "); line != "" && line[0] != '#'; line = strings.TrimLeft(line, " ") {
		end := strings.IndexAny(line, " \"")
		if end < 0 {
			end = len(line)
		}
		word := line[:end]
		if line = line[end:]; strings.HasPrefix(line, `"`) {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			word, line = word+value, line[len(quoted):]
		}
		words = append(words, word)
	}
	return words, nil
}

// timeOf reads seconds from the opening, which have a sign and nine decimals.
func timeOf(text string) (ns, error) {
	whole, rest, _ := strings.Cut(text, ".")
	if len(rest) != 9 {
		return 0, fmt.Errorf("%q is no time", text)
	}
	n, err := strconv.ParseInt(whole+rest, 10, 64)
	return ns(n), err
}

// time is a field that is one; false if it is not there.
func (e *eventLine) time(field string) (ns, bool) {
	text, has := e.fields[field]
	if !has {
		return 0, false
	}
	n, err := timeOf(text)
	return n, err == nil
}

func (e *eventLine) number(field string) int {
	n, _ := strconv.Atoi(e.fields[field])
	return n
}
