package dwarfline

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"

	"wprof/internal/newfile"
)

const (
	// maxInMemory is the largest section that is inflated to memory; a larger one goes to a temporary file.
	maxInMemory = 8 << 20
	// maxInflated bounds the inflated sections of one file together.
	maxInflated = 8 << 30
	// maxTextBytes is the longest name or path that is read.
	maxTextBytes = 64 << 10

	windowBytes = 16 << 10
	textStep    = 512 // strings lie anywhere
)

// section is the contents of a debug section, or of a part of one.
type section struct {
	r      io.ReaderAt
	size   uint64
	window []byte // a piece that was read
	from   uint64 // where it begins
	step   uint64 // bytes that are read at a time; 0: windowBytes
}

// part returns a range of a section.
func (s *section) part(at, size uint64) section {
	if s.r == nil || at > s.size || size > s.size-at {
		return section{}
	}
	return section{r: io.NewSectionReader(s.r, int64(at), int64(size)), size: size}
}

// near returns the bytes at a place, valid until the next call: at least n, or all up to the section's end.
func (s *section) near(at, n uint64) []byte {
	if at >= s.size {
		return nil
	}
	n = min(n, s.size-at)
	if at >= s.from && at-s.from < uint64(len(s.window)) && uint64(len(s.window))-(at-s.from) >= n {
		return s.window[at-s.from:]
	}
	want := min(max(n, cmp.Or(s.step, windowBytes)), s.size-at)
	if uint64(cap(s.window)) < want {
		s.window = make([]byte, want)
	}
	s.window = s.window[:want]
	got, _ := s.r.ReadAt(s.window, int64(at))
	s.window, s.from = s.window[:got], at
	return s.window
}

// read fills a buffer with the bytes at a place.
func (s *section) read(b []byte, at uint64) bool {
	if at > s.size || uint64(len(b)) > s.size-at {
		return false
	}
	n, _ := s.r.ReadAt(b, int64(at))
	return n == len(b)
}

// text returns the string at a place; "": there is none.
func (s *section) text(at uint64) string {
	for n := uint64(256); ; n *= 16 {
		b := s.near(at, n)
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(b[:min(end, maxTextBytes)])
		}
		if uint64(len(b)) < n || n >= maxTextBytes {
			return ""
		}
	}
}

// section opens a debug section by its name without ".debug_". One that does not exist is empty.
func (d *data) section(name string) (section, error) {
	for _, prefix := range []string{".debug_", ".zdebug_"} {
		s := d.image.ELF.Section(prefix + name)
		if s == nil || s.Type == elf.SHT_NOBITS || s.Offset > d.image.Size || s.FileSize > d.image.Size-s.Offset {
			continue
		}
		raw := io.NewSectionReader(d.image.R, int64(s.Offset), int64(s.FileSize))
		var out section
		var err error
		switch {
		case s.Flags&elf.SHF_COMPRESSED != 0:
			out, err = d.inflate(s.Open(), s.Size)
		case prefix == ".zdebug_":
			out, err = d.inflateOld(raw)
		default:
			return section{r: raw, size: s.FileSize}, nil
		}
		if err != nil {
			return section{}, fmt.Errorf("inflate %s: %w", s.Name, err)
		}
		return out, nil
	}
	return section{}, nil
}

// inflateOld inflates a section as it was compressed before ELF had a flag for it: "ZLIB", the size in 8 bytes, the stream.
func (d *data) inflateOld(raw *io.SectionReader) (section, error) {
	var head [12]byte
	if _, err := io.ReadFull(raw, head[:]); err != nil || !strings.HasPrefix(string(head[:]), "ZLIB") {
		return section{}, errors.New("it is not compressed as its name says")
	}
	size := uint64(0)
	for _, b := range head[4:] {
		size = size<<8 | uint64(b)
	}
	in, err := zlib.NewReader(bufio.NewReader(raw))
	if err != nil {
		return section{}, err
	}
	return d.inflate(in, size)
}

// inflate reads a section of a known size to memory or to a temporary file.
func (d *data) inflate(in io.Reader, size uint64) (section, error) {
	if d.inflated += size; size > maxInflated || d.inflated > maxInflated {
		return section{}, errors.New("it is larger than 8 GiB")
	}
	if size <= maxInMemory {
		var b bytes.Buffer // grows with what is there, not with what is claimed
		if n, err := io.CopyN(&b, in, int64(size)); err != nil {
			return section{}, fmt.Errorf("it ends after %d of %d bytes: %w", n, size, err)
		}
		return section{r: bytes.NewReader(b.Bytes()), size: size}, nil
	}
	f, err := newfile.Temporary("wprof-dwarf")
	if err != nil {
		return section{}, err
	}
	d.close = append(d.close, func() {
		f.Close()
		newfile.Discard(f)
	})
	if n, err := io.CopyN(f, in, int64(size)); err != nil {
		return section{}, fmt.Errorf("it ends after %d of %d bytes: %w", n, size, err)
	}
	return section{r: f, size: size}, nil
}
