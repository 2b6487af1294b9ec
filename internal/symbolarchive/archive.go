package symbolarchive

import (
	"archive/tar"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"wprof/internal/symbol"
)

const (
	mark          = "wprof-symbols"
	version       = "1\n"
	folder        = "buildid/"
	functionsFile = "/functions.gz"
	linesFile     = "/lines.gz"

	tarTrailer = 1024 // zeros

	maxEntries = 64 << 10
	maxBuildID = 64 // bytes
)

var (
	errNoArchive  = errors.New("it is not an archive of symbols")
	errNewArchive = errors.New("it was written by a newer version")
	errManyTables = fmt.Errorf("it has more than %d entries", maxEntries)
	errCutArchive = errors.New("it is damaged: its end is missing")
)

// Archive is the functions and lines of some build-ids. Its file must stay open as long as it is used.
type Archive struct {
	Name    string // for messages
	file    io.ReaderAt
	tables  map[string]symbol.Extent // by build-id
	lines   map[string]symbol.Extent
	problem error // of the first table that could not be read
}

// Open reads the list of an archive's build-ids.
func Open(name string, file io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{Name: name, file: file, tables: make(map[string]symbol.Extent), lines: make(map[string]symbol.Extent)}
	section := io.NewSectionReader(file, 0, size)
	entries := tar.NewReader(section)
	end := int64(0) // of the last entry
	for n := 0; ; n++ {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) && n > 0 {
			if size-end < tarTrailer {
				return nil, errCutArchive
			}
			return a, nil
		}
		if n == 0 {
			if err := checkMark(h, err, entries); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		if n > maxEntries {
			return nil, errManyTables
		}
		at, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		if h.Size > size-at {
			return nil, errCutArchive
		}
		end = at + h.Size
		for file, entries := range map[string]map[string]symbol.Extent{functionsFile: a.tables, linesFile: a.lines} {
			if id, ok := archivedID(h.Name, file); ok && h.Typeflag == tar.TypeReg {
				entries[id] = symbol.Extent{Offset: at, Length: h.Size}
			}
		}
	}
}

func checkMark(h *tar.Header, err error, content io.Reader) error {
	if err != nil || h.Name != mark {
		return errNoArchive
	}
	var text [16]byte
	n, err := io.ReadFull(content, text[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoArchive
	}
	if string(text[:n]) != version {
		return errNewArchive
	}
	return nil
}

// archivedID returns the build-id of an entry with a file.
func archivedID(name, file string) (id string, ok bool) {
	text, ok := strings.CutPrefix(name, folder)
	if !ok {
		return "", false
	}
	if text, ok = strings.CutSuffix(text, file); !ok {
		return "", false
	}
	b, err := hex.DecodeString(text)
	return string(b), err == nil && len(b) > 0 && len(b) <= maxBuildID
}

// Lines returns the lines of a build-id, as [symbol.Resolver.WriteLines] wrote them.
func (a *Archive) Lines(buildID []byte) (io.Reader, error) {
	at, ok := a.lines[string(buildID)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NewSectionReader(a.file, at.Offset, at.Length), nil
}

// Len is the number of build-ids.
func (a *Archive) Len() int { return len(a.tables) }

// Problem is why a table could not be read, nil if all that were needed could.
func (a *Archive) Problem() error { return a.problem }

// Functions returns the functions of a build-id.
func (a *Archive) Functions(buildID []byte) (*symbol.Table, error) {
	at, ok := a.tables[string(buildID)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	t, err := symbol.ReadFunctions(io.NewSectionReader(a.file, at.Offset, at.Length))
	if err != nil && a.problem == nil {
		a.problem = fmt.Errorf("it is damaged: %w", err)
	}
	return t, err
}
