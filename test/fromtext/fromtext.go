// Package fromtext makes the streams that tests write as text (docs/text-form.md).
package fromtext

import (
	"bytes"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/textform"
)

// Stream returns the stream that a text describes.
func Stream(t testing.TB, text string) []byte {
	t.Helper()
	var stream bytes.Buffer
	if err := textform.Undump(&stream, strings.NewReader(text)); err != nil {
		t.Fatalf("undump: %v\n%s", err, text)
	}
	return stream.Bytes()
}

// Reader returns a reader of that stream, which does not seek, valid until the test ends.
func Reader(t testing.TB, text string) *format.Reader {
	t.Helper()
	r, err := format.NewReader(bytes.NewBuffer(Stream(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
