package capture

import (
	"slices"
	"strings"
	"testing"

	"wprof/bpf"
	"wprof/docs"
	"wprof/format"
	"wprof/internal/sources"
)

// Every word of -f and kind of -S is in the list, once.
func TestEverySourceIsListed(t *testing.T) {
	seen := map[string]int{}
	for _, l := range listSources() {
		seen[l.Name]++
		if l.Shows == "" || l.Flag == "" {
			t.Errorf("%s shows %q, with %q", l.Name, l.Shows, l.Flag)
		}
	}
	words := Features()
	for _, kind := range StackKinds() {
		if kind != nameTimer && kind != nameAll { // the first is samples
			words = append(words, kind)
		}
	}
	for _, word := range words {
		isGroup := true // of others
		for _, of := range sources.Table() {
			if of.Feature == word {
				isGroup = false
			}
		}
		want := 1
		if isGroup && sources.Of(word) != 0 {
			want = 0
		}
		if seen[word] != want {
			t.Errorf("%s is listed %d times, want %d", word, seen[word], want)
		}
	}
}

// Each figure in the list is one of docs/performance.json, and each of these is of a source that there is.
func TestPublishedCostsAreThoseOfSources(t *testing.T) {
	figures, err := docs.Figures()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, l := range listSources() {
		f, ok := figures[docs.CostOf(l.Name)]
		if l.lookUp(figures); ok != (l.Cost != nil) || ok && (l.Cost.Ns != f.Median() || l.Cost.Ns <= 0 || l.Cost.On == "") {
			t.Errorf("the cost of %s is %v, and the figure is %v", l.Name, l.Cost, f)
		}
		if ok {
			found++
		}
	}
	if found < 5 {
		t.Errorf("%d sources have a figure", found)
	}
}

func TestCostsAreThoseOfProgramsAndEvents(t *testing.T) {
	c := costs{
		programs: map[string]*format.ProgramCost{"a": {Runs: 10, Ns: 5000}, "b": {Runs: 90, Ns: 5000}},
		kinds:    map[format.Kind]*format.KindCount{format.KindTyped: {Events: 100, Bytes: 3000}, format.KindSwitch: {Events: 1000, Bytes: 9000}},
		types:    map[string]*typeCost{"t": {events: 40, bytes: 400}, "few": {events: 3, bytes: 9}}, values: 1000,
	}
	got := c.of(&listed{programs: []string{"a", "b", "absent"}, types: []string{"t"}})
	if got == nil || got.Ns != 250 || got.Bytes != 30 || got.Events != 40 { // 20 bytes of header, 10 of values
		t.Errorf("typed events cost %+v", got)
	}
	if got := c.of(&listed{programs: []string{"a"}, kinds: []format.Kind{format.KindSwitch}}); got == nil || got.Ns != 5 || got.Bytes != 9 {
		t.Errorf("switches cost %+v", got)
	}
	if got := c.of(&listed{programs: []string{"a"}, types: []string{"few"}}); got != nil {
		t.Errorf("three events cost %+v", got)
	}
}

// A kernel without a tracepoint has a source not at all, or in part.
func TestMissingTracepointsAreNamed(t *testing.T) {
	kernel, err := bpf.ReadTypes()
	if err != nil {
		t.Skip("recording needs root and BTF")
	}
	for _, l := range listSources() {
		l.find(kernel)
		if l.Here != "yes" && l.Why == "" {
			t.Errorf("%s is there %s, and why is not known", l.Name, l.Here)
		}
	}
}

// A program for the name that a tracepoint has in other kernels is not missing.
func TestProgramsStandForEachOther(t *testing.T) {
	wanted := []sources.Program{{Name: "old", Instead: "new"}, {Name: "new", Instead: "old"}, {Name: "more"}}
	for kernel, want := range map[string]string{"old more": "", "new more": "", "old new": "more", "more": "old,new"} {
		missing := missingOf(wanted, func(program string) bool { return slices.Contains(strings.Fields(kernel), program) })
		if got := strings.Join(missing, ","); got != want {
			t.Errorf("a kernel with %s lacks %q, want %q", kernel, got, want)
		}
	}
}
