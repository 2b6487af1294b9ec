package probeplan

import (
	"strings"
	"testing"

	"wprof/internal/label"
)

func TestWithFunction(t *testing.T) {
	for _, x := range []struct{ template, function, want string }{
		{"{func}", "main", "main"},
		{"{func} {n} {func}", "f", "f {n} f"},
		{"{{func}} {{{func}}}", "f", "{{func}} {{f}}"},
		{"{func}", "a::{lambda()#1}", "a::{{lambda()#1}}"},
		{"", "main", ""},
	} {
		if got := withFunction(x.template, x.function); got != x.want {
			t.Errorf("%s of %s: %s, want %s", x.template, x.function, got, x.want)
		}
	}
	long := withFunction("{func}", strings.Repeat("{a}", 200))
	if _, err := label.Parse([]byte(long)); err != nil || len(long) < label.MaxTemplate-2 {
		t.Errorf("of a long name: %d bytes, %v", len(long), err)
	}
}
