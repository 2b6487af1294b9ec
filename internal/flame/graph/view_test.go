package graph

import (
	"slices"
	"strings"
	"testing"

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
