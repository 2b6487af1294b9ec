package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// fileInput is an input that can be read at any offset.
type fileInput struct {
	r     io.ReaderAt
	start int64
	size  int64 // from start
}

// asFile returns nil for inputs that can only be read once, in order.
func asFile(r io.Reader) (*fileInput, error) {
	at, isAt := r.(io.ReaderAt)
	seeker, isSeeker := r.(io.Seeker)
	if !isAt || !isSeeker {
		return nil, nil
	}
	if s, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		info, err := s.Stat()
		if err != nil {
			return nil, fmt.Errorf("get the status of the input: %w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, nil
		}
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, nil
	}
	end, err := seeker.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = seeker.Seek(start, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("find the size of the input: %w", err)
	}
	return &fileInput{at, start, end - start}, nil
}

// from returns a reader from an offset on, which goes beyond size if the file has grown.
func (f *fileInput) from(offset int64) io.Reader {
	return io.NewSectionReader(f.r, f.start+offset, 1<<62)
}

func (f *fileInput) ReadAt(b []byte, offset int64) (int, error) { return f.r.ReadAt(b, f.start+offset) }

// checkSections rejects a file whose sections do not share a timeline. Damage is reported when it is read.
func (f *fileInput) checkSections() error {
	sections, err := readSummary(f, f.size, false)
	if errors.Is(err, ErrNewer) {
		return err
	}
	return CheckTimeline(sections)
}
