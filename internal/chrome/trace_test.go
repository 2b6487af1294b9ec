package chrome

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
)

// trace is a written trace as other programs read it. Numbers keep their text.
type trace struct {
	TraceEvents     []event          `json:"traceEvents"`
	DisplayTimeUnit string           `json:"displayTimeUnit"`
	OtherData       map[string]any   `json:"otherData"`
	StackFrames     map[string]frame `json:"stackFrames"`
}

type event struct {
	Phase    string         `json:"ph"`
	Category string         `json:"cat"`
	Name     string         `json:"name"`
	PID      int64          `json:"pid"`
	TID      int64          `json:"tid"`
	Time     json.Number    `json:"ts"`
	Duration json.Number    `json:"dur"`
	ID       int64          `json:"id"`
	Binds    string         `json:"bp"`
	Scope    string         `json:"s"`
	Stack    int            `json:"sf"`
	Colour   string         `json:"cname"`
	Args     map[string]any `json:"args"`
}

type frame struct{ Name, Category, Parent string }

// ns reads µs with three decimals exactly.
func ns(t testing.TB, n json.Number) int64 {
	t.Helper()
	whole, rest, _ := strings.Cut(n.String(), ".")
	if len(rest) != 3 {
		t.Fatalf("the time %q has not three decimals", n)
	}
	value, err := strconv.ParseInt(whole+rest, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// length reads how long a slice lasts, in ns.
func length(t testing.TB, n json.Number) int64 {
	t.Helper()
	if text := n.String(); text != "0.000" && !strings.HasSuffix(text, "6") {
		t.Fatalf("the length %s is not 0.4 ns short", n)
	}
	return int64(math.Round(micros(n) * 1000))
}

func micros(n json.Number) float64 {
	f, _ := n.Float64()
	return f
}

func written(t testing.TB, stream []byte, o Options) (*trace, Result, []byte) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	done, err := Write(r, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, out.Bytes()), done, out.Bytes()
}

func parsed(t testing.TB, text []byte) *trace {
	t.Helper()
	tr := new(trace)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(tr); err != nil {
		t.Fatalf("the trace is no JSON: %v: %.2000s", err, text)
	}
	return tr
}

// lines returns all events except metadata, as text.
func (tr *trace) lines() (all []string) {
	for _, e := range tr.TraceEvents {
		if e.Phase == "M" {
			continue
		}
		line := fmt.Sprintf("%s %s %d/%d @%s", e.Phase, strings.ReplaceAll(e.Name, " ", "_"), e.PID, e.TID, e.Time)
		if e.Duration != "" {
			line += fmt.Sprintf(" +%.3f", micros(e.Duration))
		}
		if e.ID != 0 {
			line += fmt.Sprintf(" id=%d%s", e.ID, e.Binds)
		}
		if stack := tr.stack(e.Stack); stack != "" {
			line += " " + stack
		}
		if len(e.Args) > 0 {
			args, _ := json.Marshal(e.Args)
			line += " " + string(args)
		}
		all = append(all, line)
	}
	return all
}

func (tr *trace) stack(leaf int) string {
	var names []string
	for id := strconv.Itoa(leaf); id != "" && id != "0"; id = tr.StackFrames[id].Parent {
		names = append([]string{tr.StackFrames[id].Name}, names...)
	}
	return strings.Join(names, ";")
}

// names returns the names of processes and threads by the metadata, the last one of each.
func (tr *trace) names() map[string]string {
	all := make(map[string]string)
	for _, e := range tr.TraceEvents {
		switch e.Name {
		case "process_name", "process_labels":
			all[fmt.Sprintf("%s %d", e.Name, e.PID)] = fmt.Sprint(e.Args["name"], e.Args["labels"])
		case "thread_name":
			all[fmt.Sprintf("%d/%d", e.PID, e.TID)] = fmt.Sprint(e.Args["name"])
		}
	}
	return all
}
