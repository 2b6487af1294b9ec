package info

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"wprof/internal/report"
	"wprof/test/fromtext"
)

// fields are the paths and types of all fields of a report, in order: what the manuals have to list.
func fields(t reflect.Type, path string) (all [][2]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" {
			continue
		}
		at := path + f.Tag.Get("json")
		kind, inner := typeName(f.Type)
		all = append(all, [2]string{at, kind})
		if inner != nil {
			if strings.HasPrefix(kind, "list") {
				at += "[]"
			}
			all = append(all, fields(inner, at+".")...)
		}
	}
	return all
}

// typeName returns a type's name in the manual, and the type of an object's fields.
func typeName(t reflect.Type) (string, reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		name, inner := typeName(t.Elem())
		return name + " or null", inner
	case reflect.Slice:
		name, inner := typeName(t.Elem())
		return "list of " + name + "s", inner
	case reflect.Struct:
		return "object", t
	case reflect.Bool:
		return "boolean", nil
	case reflect.Float64:
		return "number", nil
	case reflect.String:
		return "string", nil
	}
	return "integer", nil
}

func TestTheManualsListEveryFieldOfJSON(t *testing.T) {
	checkFields(t, "../../docs/wprof-info.md", reflect.TypeFor[Report]())
	checkFields(t, "../../docs/report.md", reflect.TypeFor[report.Report]())
}

// checkFields compares the table of a page's section on JSON with the fields of a type.
func checkFields(t *testing.T, path string, of reflect.Type) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var listed [][2]string
	_, section, _ := strings.Cut(string(page), "\n## --json\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		listed = append(listed, [2]string{strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2])})
		if len(strings.TrimSpace(cells[4])) < 4 {
			t.Errorf("%s: %s has no meaning", path, cells[1])
		}
		for _, suffix := range []struct{ name, unit string }{{"_ns", "ns"}, {"bytes", "bytes"}} {
			if strings.HasSuffix(listed[len(listed)-1][0], suffix.name) && strings.TrimSpace(cells[3]) != suffix.unit {
				t.Errorf("%s: the unit of %s is %s, want %s", path, cells[1], cells[3], suffix.unit)
			}
		}
	}
	want := fields(of, "")
	for i := range max(len(want), len(listed)) {
		if i >= len(want) || i >= len(listed) || want[i] != listed[i] {
			t.Fatalf("%s: row %d: the table goes on with %q, the type with %q", path, i+1, listed[min(i, len(listed)):], want[min(i, len(want)):])
		}
	}
}

func TestReport(t *testing.T) {
	stream := fromtext.Stream(t, recording+"  loss cpu=cpu3 kind=switch cause=ring count=7\n  loss cpu=all kind=any cause=recursion count=1\n  cost user_ns=15 peak_rss=7\n")
	s, err := Summarize(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.WriteJSON(&out, "x.wprof"); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	one := got["recordings"].([]any)[0].(map[string]any)
	for key, want := range map[string]any{
		"host": "box", "start": "2023-11-14T22:13:21Z", "duration_ns": 5e9, "events": 1234566.0, "cpus": 2.0, "offline_cpus": 1.0,
		"numa_nodes": 2.0, "complete": true, "lost": 8.0, "samples": nil, "stacks": nil, "kept_from_ns": nil,
	} {
		if one[key] != want {
			t.Errorf("%s is %v, want %v", key, one[key], want)
		}
	}
	losses := one["losses"].([]any)
	if first, last := losses[0].(map[string]any), losses[1].(map[string]any); first["cpu"] != 3.0 || first["kind"] != "switch" || last["cpu"] != nil {
		t.Errorf("losses are %v", losses)
	}
	if kinds := one["kinds"].([]any)[0].(map[string]any); kinds["per_second"] != 246913.0 || kinds["kind"] != "free" {
		t.Errorf("kinds are %v", kinds)
	}
}
