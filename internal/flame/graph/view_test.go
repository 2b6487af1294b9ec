package graph

import (
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/profile"
)

func TestInlinedFunctionsAndLinesAreShownIfWanted(t *testing.T) {
	f := &profile.Frame{Functions: []profile.Function{{Name: "parse", File: "/src/parse.c", Line: 12}, {Name: "next", File: "/src/lex.h", Line: 3}, {Name: "peek"}}}
	for want, v := range map[string]View{
		"parse":                                  {},
		"parse|next|peek":                        {Inline: true},
		"parse (parse.c:12)":                     {Lines: true},
		"parse (parse.c:12)|next (lex.h:3)|peek": {Inline: true, Lines: true},
	} {
		if got := strings.Join(slices.Collect(v.Names(f)), "|"); got != want {
			t.Errorf("%+v: got %s, want %s", v, got, want)
		}
	}
}

// Waits of which nothing is known and time in which events are missing are apart, under the names that the report gives them.
func TestRootsOfUnknownTime(t *testing.T) {
	for _, c := range []struct {
		class profile.Class
		state format.State
		want  string
	}{
		{profile.ClassBlocked, format.StateInterruptible, "unknown"},
		{profile.ClassBlocked, format.StateUninterruptible, "unknown"},
		{profile.ClassUnknown, 0, "not recorded"},
	} {
		cell := profile.Cell{CellKey: profile.CellKey{Class: c.class, State: c.state}}
		if got := WaitRoot(&cell); got != c.want {
			t.Errorf("class %d, state %s: the root is %q, want %q", c.class, c.state, got, c.want)
		}
	}
}
