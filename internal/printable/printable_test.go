package printable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile has one character of each type that controls a terminal, and bytes that are no characters.
const hostile = "a\x1b[31m\a\n\r\t\u009b2J\x7f\u202e\u2066\u200f\u061c\u200b\u2028\U000e0001\xff\xc2é中\ufffdb"

func TestTextIsShownAsItIs(t *testing.T) {
	const want = `a\x1b[31m\a\n\r\t\u009b2J\x7f\u202e\u2066\u200f\u061c\u200b\u2028\U000e0001\xff\xc2é中` + "\ufffdb"
	if got := Text(hostile); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, plain := range []string{"", "plain text", `back\slash "quoted"`, "é中\ufffd"} {
		if got := Text(plain); got != plain || !Is(plain) {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, s string) {
		if got := Text(s); !Is(got) || Text(got) != got {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// FuzzJSON: what a reader gets stays, and nothing but what a terminal shows and lines' ends is left.
func FuzzJSON(f *testing.F) {
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		text, err := json.MarshalIndent(map[string]string{s: s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got := JSON(text)
		var back map[string]string
		if err := json.Unmarshal(got, &back); err != nil || back[s] != s {
			t.Errorf("%q became %q, %v", s, back, err)
		}
		if shown := strings.ReplaceAll(string(got), "\n", ""); !Is(shown) || !utf8.Valid(got) {
			t.Errorf("%q is left", shown)
		}
	})
}
