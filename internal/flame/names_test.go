package flame

import (
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/format"
)

// named is a profile in which everything that others may name has this name.
func named(name string) *builder {
	b := newBuilder()
	b.About.Host, b.About.Kernel, b.About.OffCPU, b.About.Sources = name, name, name, []Source{{name, 1}}
	place := b.frame(Frame{
		Functions: []Function{{Name: name, File: name, Line: 1, Linkage: name}}, Module: name, BuildID: name, Offset: 1,
	})
	note := b.frame(Frame{Functions: []Function{{Name: name}}, Note: true})
	t := b.thread(1, 2, name,
		cell(ClassOnCPU, 0, b.stack(place, place), 60, 6),
		cell(ClassBlocked, format.StateInterruptible, b.stack(place, note), 40, 4),
	)
	t.Trail = trailOf(t,
		Piece{From: 5, To: 65, Class: ClassOnCPU, Stack: b.stack(place, place)},
		Piece{From: 65, To: 105, Class: ClassBlocked, State: format.StateInterruptible, Stack: b.stack(place, note)})
	return b
}

// pieces is a trail in memory.
type pieces []Piece

func trailOf(t *Thread, all ...Piece) Trail {
	for i := range all {
		all[i].Label = t.Label
	}
	return pieces(all)
}

func (p pieces) Each(visit func(*Piece) error) error {
	for i := range p {
		if err := visit(&p[i]); err != nil {
			return err
		}
	}
	return nil
}

func oddNames(add func(...any)) {
	for _, name := range []string{
		"", " ", "plain", "a\xffb", "\xed\xa0\x80", "a\x00b", "\n\r\t\"\\</script>", "\u2028\u2029", "a;b 12", "[idle]", "operator<<",
		strings.Repeat("x", 70000), "\x1b[31m", "☃", "\xf0\x9f\x98", "[kernel]",
	} {
		add(name)
	}
}

func FuzzPprofNames(f *testing.F) {
	oddNames(f.Add)
	f.Fuzz(func(t *testing.T, name string) {
		file := parsePprof(t, named(name).Profile, View{})
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
