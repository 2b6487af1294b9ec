//go:build linux

package bpf

import (
	"math/rand/v2"
	"strings"
	"testing"

	"wprof/internal/glob"
	"wprof/internal/probe"
)

// matches runs a machine as probe_glob() of probe.h does.
func (m *globMachine) matches(text string) bool {
	states := uint64(1)
	for i := 0; i < len(text) && text[i] != 0; i++ {
		states = (states&m.Next[text[i]])<<1 | states&m.Stays
	}
	return states&m.Matched != 0
}

func randomText(r *rand.Rand, alphabet string, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func TestGlobMachinesMatchWhatGlobsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for range 200_000 {
		pattern, text := randomText(r, "ab*?\xff", 8), randomText(r, "ab\xff", 10)
		want := glob.Match(pattern, []byte(text))
		if got := compileGlob(pattern).matches(text); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, text, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d of the patterns match", matched)
	}
}

func TestGlobMachinesTakeCharactersAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`a\*b`, "a*b", true}, {`a\*b`, "axb", false}, {`\?`, "?", true}, {`\?`, "x", false}, {`a\\`, `a\`, true}, {`a\`, `a\`, true}, {`\*\**`, "**x", true},
		{"", "", true}, {"", "x", false}, {"*", "", true}, {"a*", "a\x00b", true}, {"a?", "a\x00", false}, {"a", "a\x00b", true},
	} {
		if got := compileGlob(c.pattern).matches(c.text); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

func TestLongestGlobMachine(t *testing.T) {
	long := strings.Repeat("x", probe.MaxGlob)
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{long, long, true}, {long, long[1:], false}, {long, long + "x", false}, {long + "*", long + "yz", true}, {"*" + long, "y" + long, true},
		{long[1:] + "*?", long[1:], false}, {long[1:] + "*?", long[1:] + "ab", true},
	} {
		if got := compileGlob(c.pattern).matches(c.text); got != c.want {
			t.Errorf("a pattern of %d characters matches a text of %d: %v, want %v", len(c.pattern), len(c.text), got, c.want)
		}
	}
}
