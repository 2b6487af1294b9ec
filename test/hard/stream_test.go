//go:build linux

package hard

import (
	"errors"
	"io"
	"os"
	"testing"

	"wprof/format"
)

// walk visits the events of a capture, which must be whole.
func walk(t *testing.T, path string, visit func(*format.Reader, *format.Event)) *format.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := format.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(r, e)
	}
	if d := r.Damage(); d != nil {
		t.Fatalf("%s is damaged: %+v", path, d)
	}
	return r
}

// lostOf is how many events of a kind a capture tells as lost.
func lostOf(t *testing.T, path string) map[format.Kind]uint64 {
	t.Helper()
	lost := map[format.Kind]uint64{}
	walk(t, path, func(_ *format.Reader, e *format.Event) {
		if e.Kind == format.KindLost {
			lost[e.Lost().What()] += e.Lost().Count()
		}
	})
	return lost
}
