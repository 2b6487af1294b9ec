package perfetto

import (
	"os"
	"path/filepath"
	"testing"

	"wprof/test/engine"
)

// drawnSlice is a slice as written for the engine, in this order.
type drawnSlice struct {
	name     string
	from, to uint64 // equal: an instant
}

// drawnOn returns a trace of one track with slices, each written whole.
func drawnOn(t *testing.T, slices ...drawnSlice) string {
	t.Helper()
	var s sequence
	out := s.reset(nil, 0, 1000, 0)
	out = s.track(out, 7, 15e9, func(out []byte) []byte { return appendString(out, trackName, "stacks") })
	for _, one := range slices {
		var name uint64
		out, name = s.name(out, one.name)
		if one.from == one.to {
			s.start(instant, 7, name)
			out = s.put(out, 15e9+one.from)
			continue
		}
		s.start(sliceBegin, 7, name)
		out = s.put(out, 15e9+one.from)
		out = s.finish(out, 7, 15e9+one.to)
	}
	name := filepath.Join(t.TempDir(), "trace.pb")
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
	engine.CheckStats(t, name)
	return name
}

// The reason for two rules of the writer: if they are broken, the engine reports no error and gets the lengths wrong.
func TestEngineNestsByTimeAndOrder(t *testing.T) {
	for _, c := range []struct {
		what   string
		slices []drawnSlice
		want   string
	}{
		{"inner first, beginning together: the lengths are swapped", []drawnSlice{{"inner", 10, 20}, {"outer", 10, 50}}, `
			inner 10 40 0
			outer 10 10 1
		`},
		{"inner first, the outer one a nanosecond earlier", []drawnSlice{{"inner", 10, 20}, {"outer", 9, 50}}, `
			outer 9 41 0
			inner 10 10 1
		`},
		{"overlapping in part: the lengths are swapped", []drawnSlice{{"a", 10, 30}, {"b", 20, 50}}, `
			a 10 40 0
			b 20 10 1
		`},
		{"end to end", []drawnSlice{{"a", 10, 30}, {"b", 30, 50}}, `
			a 10 20 0
			b 30 20 0
		`},
		{"an instant before a slice that begins with it", []drawnSlice{{"at once", 10, 10}, {"a", 10, 30}, {"b", 30, 40}}, `
			at once 10 0 0
			a 10 20 0
			b 30 10 0
		`},
		{"instants at both ends", []drawnSlice{{"at the end", 30, 30}, {"a", 10, 30}, {"at the beginning", 10, 10}}, `
			a 10 20 0
			at the beginning 10 0 1
			at the end 30 0 1
		`},
	} {
		compare(t, c.what, engine.Query(t, drawnOn(t, c.slices...), embedSQL)[0], "name ts dur depth", c.want)
	}
}
