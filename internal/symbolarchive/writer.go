package symbolarchive

import (
	"archive/tar"
	"bufio"
	"encoding/hex"
	"fmt"
	"io"

	"wprof/format"
	"wprof/internal/symbol"
)

// Scratch is a temporary file.
type Scratch interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// Writer writes an archive that [Open] reads. The same functions in the same order give the same bytes.
type Writer struct {
	out     *tar.Writer
	scratch Scratch
}

// NewWriter begins an archive. The scratch file holds one table at a time, because its size comes before it.
func NewWriter(w io.Writer, scratch Scratch) (*Writer, error) {
	a := &Writer{out: tar.NewWriter(w), scratch: scratch}
	if err := a.header(mark, int64(len(version))); err != nil {
		return nil, err
	}
	_, err := io.WriteString(a.out, version)
	return a, err
}

func (a *Writer) header(name string, size int64) error {
	return a.out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatUSTAR})
}

// Close completes the archive.
func (a *Writer) Close() error { return a.out.Close() }

// Add adds the functions of a module with a build-id. why is the reason if it has none; err is of writing.
func (a *Writer) Add(r *symbol.Resolver, m *format.Module) (why, err error) {
	err = a.entry(m.BuildId, functionsFile, func(w io.Writer) (some bool, err error) {
		why, err = r.WriteFunctions(w, m)
		return why == nil, err
	})
	return why, err
}

// AddLines adds the lines at some offsets of a module's file, which are sorted, if it has some. why is the reason if some are
// missing that it has; err is of writing.
func (a *Writer) AddLines(r *symbol.Resolver, m *format.Module, offsets []uint64) (why, err error) {
	err = a.entry(m.BuildId, linesFile, func(w io.Writer) (some bool, err error) {
		some, why, err = r.WriteLines(w, m, offsets)
		return some, err
	})
	return why, err
}

// entry adds what is written, if there is some.
func (a *Writer) entry(buildID []byte, file string, write func(io.Writer) (some bool, err error)) error {
	if err := a.rewind(); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(a.scratch, 64<<10)
	some, err := write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("write to the temporary file: %w", err)
	}
	if !some {
		return nil
	}
	size, err := a.scratch.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = a.scratch.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	if err := a.header(folder+hex.EncodeToString(buildID)+file, size); err != nil {
		return err
	}
	_, err = io.CopyN(a.out, a.scratch, size)
	return err
}

func (a *Writer) rewind() error {
	if _, err := a.scratch.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return a.scratch.Truncate(0)
}
