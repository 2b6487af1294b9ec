package tools

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"wprof/format"
)

// Walk visits the events of a stream. begin, if given, is called before the first one. The returned
// reader is closed, but its session, end and counts can still be read.
func Walk(t testing.TB, in io.Reader, visit func(*format.Reader, *format.Event), begin ...func(*format.Reader)) *format.Reader {
	t.Helper()
	r, err := format.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, f := range begin {
		f(r)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(r, e)
	}
}

// WalkFile visits the events of a capture, which must be whole.
func WalkFile(t testing.TB, path string, visit func(*format.Reader, *format.Event), begin ...func(*format.Reader)) *format.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := Walk(t, f, visit, begin...)
	if d := r.Damage(); d != nil {
		t.Fatalf("%s is damaged: %+v", path, d)
	}
	return r
}

// BlocksOf cuts a sound stream into its blocks.
func BlocksOf(t testing.TB, stream []byte) [][]byte {
	t.Helper()
	var all [][]byte
	r := format.NewBlockReader(bytes.NewReader(stream))
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stream[b.Offset:][:format.BlockHeaderSize+len(b.Stored)])
	}
}
