// Package reread makes captures that come through a pipe readable again and again, for tools that need more than one pass.
package reread

import (
	"errors"
	"fmt"
	"io"
	"os"

	"wprof/format"
	"wprof/internal/newfile"
)

// probeBytes is how much of a pipe is read to find out whether it is a stream.
const probeBytes = 17 << 20

// Input is an input that can be read again and again.
type Input struct {
	file *os.File
	temp bool
	hint string
}

// From makes an input readable again and again: a pipe is copied to a temporary file, whose name begins with prefix. The hint follows in
// messages about that file.
func From(in io.Reader, prefix, hint string) (*Input, error) {
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return &Input{file: file}, nil
		}
	}
	file, err := newfile.Temporary(prefix)
	if err != nil {
		return nil, err
	}
	t := &Input{file, true, hint}
	if err := t.fill(in); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// fill copies the input. Endless input that is no stream is detected before it fills the disk.
func (t *Input) fill(in io.Reader) error {
	n, err := t.copy(io.LimitReader(in, probeBytes))
	if err != nil {
		return err
	}
	if !format.IsFinite(in) {
		r, err := format.NewReader(struct{ io.Reader }{io.NewSectionReader(t.file, 0, n)})
		if errors.Is(err, format.ErrNotStream) {
			return err
		}
		if err == nil {
			r.Close()
		}
	}
	if n == probeBytes {
		if _, err := t.copy(in); err != nil {
			return err
		}
	}
	_, err = t.file.Seek(0, io.SeekStart)
	return err
}

func (t *Input) copy(in io.Reader) (int64, error) {
	n, err := io.Copy(t.file, in)
	var at *os.PathError
	if errors.As(err, &at) && at.Path == t.file.Name() {
		return n, fmt.Errorf("write the %s: %w; $TMPDIR names another folder for it%s", t.file.Name(), at.Err, t.hint)
	}
	return n, err
}

// Open opens a reader at the first byte.
func (t *Input) Open() (*format.Reader, error) { return format.NewReader(t.file) }

// File is the file that is read.
func (t *Input) File() *os.File { return t.file }

// Close removes the temporary file.
func (t *Input) Close() {
	if t.temp {
		_ = t.file.Close()
		newfile.Discard(t.file)
	}
}
