package label

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/format"
	"wprof/test/fromtext"
)

func TestTemplates(t *testing.T) {
	values := map[string]string{"size": "4096", "path": "/x", "a.b": "7"}
	value := func(name string) ([]byte, bool) {
		v, ok := values[name]
		return []byte(v), ok
	}
	for text, want := range map[string]string{
		"":                          "",
		"malloc":                    "malloc",
		"malloc {size}":             "malloc 4096",
		"{size}{path}":              "4096/x",
		"{a.b}, then {none}.":       "7, then .",
		"{{{size}}}":                "{4096}",
		"struct {{ x }}":            "struct { x }",
		"{{size}}":                  "{size}",
		strings.Repeat("x", 256):    strings.Repeat("x", 256),
		"a\xff{size}\x00":           "a\xff4096\x00",
		strings.Repeat("{a.b}", 51): strings.Repeat("7", 51),
	} {
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got := parsed.Append([]byte("> "), value); string(got) != "> "+want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"{": "not closed", "a {size": "at byte 2", "}": "closes nothing", "{size}}": "closes nothing", "x {}": "names no field", "{a{b}}": "at byte 0",
		strings.Repeat("x", 257): "257 bytes",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestLongNamesAreCutBetweenCharacters(t *testing.T) {
	parsed, err := Parse([]byte(strings.Repeat("{a}", 80)))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"x", "é", "€", "x€", "\U0001f600", "ab\U0001f600"} {
		got := parsed.Append(nil, func(string) ([]byte, bool) { return []byte(strings.Repeat(of, 500)), true })
		if len(got) > MaxName || len(got) < MaxName-3 || !utf8.Valid(got) {
			t.Errorf("%q: %d bytes", of, len(got))
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add([]byte("malloc {size} {{}}"), []byte("4096"))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		parsed, err := Parse(text)
		if err != nil {
			return
		}
		got := parsed.Append(nil, func(string) ([]byte, bool) { return value, true })
		if len(got) > MaxName {
			t.Errorf("%d bytes", len(got))
		}
		// What has no fields is its own text, with single braces.
		if len(parsed.Fields()) == 0 {
			want := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("{{"), []byte("{")), []byte("}}"), []byte("}"))
			if !bytes.Equal(got, want) {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	})
}

// Names have the values as all tools write them; where there is none, nothing.
func TestNamesOfEvents(t *testing.T) {
	const fields = `
  field size type=uint
  field flags type=uint hint=hex
  field below type=int hint=hex
  field mode type=enum
    enum 2 name="rw"
  field path type=string
  field peer type=task
  field ratio type=float
  field all type=uint list
  field unread type=uint hint=unread
`
	for want, label := range map[string]string{
		"malloc 4096":       "malloc {size}",
		"0x1f -0x2":         "{flags} {below}",
		"rw /x ":            "{mode} {path} {unread}",
		"server 21 0.5":     "{peer} {ratio}",
		"1, 2, 3":           "{all}",
		"client 20 10":      "{comm} {tid} {pid}",
		"f":                 "{stranger}",
		"f ":                "f {gone}",
		"f is the name of ": "{broken",
	} {
		event := ".size=4096 .flags=31 .below=-2 .mode=2 .path=/x .peer=3 .ratio=0.5 .all=1,2,3 .unread=0"
		name := "f"
		if label == "{broken" {
			name = want
		}
		stream := fromtext.Stream(t, `section id=1 open=1
task 2 tid=20 pid=10 comm=client
task 3 tid=21 pid=10 comm=server
eventtype 1 name="`+name+`" label="`+label+`"`+fields+`+2 cpu0 typed 2 type=1 `+event+`
end close=+10
`)
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		def := r.EventType(e.TypeID())
		values, ok := def.AppendValues(nil, e)
		if !ok {
			t.Fatal("the values do not match the type")
		}
		if got := NewNames(r).Append(nil, def, e, values); string(got) != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
		values[0].Unread = true
		if got := NewNames(r).Append(nil, def, e, values); label == "malloc {size}" && string(got) != "malloc " {
			t.Errorf("unread: %q", got)
		}
		r.Close()
	}
}
