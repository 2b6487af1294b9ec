package ndjson

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

// rereadable is an input that can be read again and again.
type rereadable struct {
	file *os.File
	temp bool
}

// reread makes an input readable again and again: a pipe is copied to a temporary file.
func reread(in io.Reader) (*rereadable, error) {
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return &rereadable{file: file}, nil
		}
	}
	file, err := newfile.Temporary("wprof-json")
	if err != nil {
		return nil, err
	}
	t := &rereadable{file, true}
	if err := t.fill(in); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// fill copies the input. Endless input that is no stream is detected before it fills the disk.
func (t *rereadable) fill(in io.Reader) error {
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

func (t *rereadable) copy(in io.Reader) (int64, error) {
	n, err := io.Copy(t.file, in)
	var at *os.PathError
	if errors.As(err, &at) && at.Path == t.file.Name() {
		return n, fmt.Errorf("write the %s: %w; $TMPDIR names another folder for it, and --stream does without", t.file.Name(), at.Err)
	}
	return n, err
}

func (t *rereadable) open() (*format.Reader, error) { return format.NewReader(t.file) }

func (t *rereadable) close() {
	if t.temp {
		_ = t.file.Close()
		newfile.Discard(t.file)
	}
}
