package pprof

import (
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
)

func FuzzPprofNames(f *testing.F) {
	flametest.OddNames(f.Add)
	f.Fuzz(func(t *testing.T, name string) {
		file := parsePprof(t, flametest.Named(name).Profile, graph.View{})
		want := strings.ToValidUTF8(name, "\uFFFD")
		fn := file.Function[0]
		if fn.Name != want || fn.Filename != want {
			t.Errorf("function %q in %q, want %q", fn.Name, fn.Filename, want)
		}
		for _, s := range append(file.Comments, fn.SystemName) {
			if !utf8.ValidString(s) {
				t.Errorf("%q is no UTF-8", s)
			}
		}
		if len(file.Mapping) > 0 && (!utf8.ValidString(file.Mapping[0].File) || !utf8.ValidString(file.Mapping[0].BuildID)) {
			t.Errorf("%+v", file.Mapping[0])
		}
		got := sums(file, label("comm"))[want]
		if got[pprofWall] != 100 || got[pprofOnCPU] != 60 {
			t.Errorf("the thread has %v", got)
		}
	})
}
