package symbol

import (
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"slices"
)

// Extent is a range of a file, in bytes.
type Extent struct{ Offset, Length int64 }

const (
	// extentGap is the largest gap between two extents that are merged.
	extentGap = 4 << 10
	// maxExtents bounds the extents of one file. Programs have fewer than 20.
	maxExtents = 1024
	// maxStubNeeds bounds each part of a file that is needed for stubs alone.
	maxStubNeeds = 256 << 10
)

var (
	errScattered = errors.New("its symbols are scattered over the file")
	errTooLarge  = errors.New("its symbols are too large")
)

// Needs lists the parts of an ELF file that [Open] and [File.Table] read, so a copy of these parts is enough to name its
// functions. They are in order, do not overlap, and have at most limit bytes together. To find them it reads at most limit bytes.
// With the listed parts of a damaged file, reading fails in the same way as with the whole file.
func Needs(r io.ReaderAt, size, limit int64) (list []Extent, err error) {
	log := &readLog{r: r, size: size, limit: limit}
	defer func() {
		if list = log.merged(); length(list) > limit {
			log.fail(errTooLarge)
		}
		if err = cmp.Or(log.err, err); err != nil {
			list = nil
		}
	}()
	defer RecoverTo(&err, "read an ELF file")
	f, openErr := Open(log, size)
	if openErr != nil {
		return nil, nil // a copy of the parts read so far cannot be opened either
	}
	f.debugLink()
	log.addTable(f, elf.SHT_SYMTAB)
	log.addStubs(f)
	if length(log.extents) > limit || f.hasFunctions(elf.SHT_SYMTAB) {
		return nil, nil
	}
	log.addTable(f, elf.SHT_DYNSYM)
	if s := f.elf.Section(".gnu_debugdata"); s != nil && f.holds(s) && s.FileSize <= maxDebugDataBytes {
		log.add(int64(s.Offset), int64(s.FileSize))
	}
	if t := f.goTable(); t != nil {
		log.add(int64(t.offset), int64(t.size))
		f.goText(t)
	}
	return nil, nil
}

// hasFunctions reports whether a symbol table has a function.
func (f *File) hasFunctions(t elf.SectionType) bool {
	l := &functions{first: true}
	return f.addSymbols(l, t) == nil && len(l.list) > 0
}

// readLog records which parts of a file are read.
type readLog struct {
	r       io.ReaderAt
	size    int64
	limit   int64 // of read
	read    int64 // bytes
	extents []Extent
	err     error // why there is no list
}

func (l *readLog) fail(err error) error {
	l.err = cmp.Or(l.err, err)
	return err
}

func length(list []Extent) (n int64) {
	for _, e := range list {
		n += e.Length
	}
	return n
}

// ReadAt implements io.ReaderAt.
func (l *readLog) ReadAt(b []byte, at int64) (int, error) {
	if l.read += int64(len(b)); l.read > l.limit {
		return 0, l.fail(errTooLarge)
	}
	n, err := l.r.ReadAt(b, at)
	l.add(at, int64(n))
	return n, err
}

// addTable adds the extents of a symbol table and its names.
func (l *readLog) addTable(f *File, t elf.SectionType) {
	table := f.sectionOf(t)
	if table == nil || int(table.Link) >= len(f.elf.Sections) || !f.holds(f.elf.Sections[table.Link]) {
		return
	}
	text := f.elf.Sections[table.Link]
	l.add(int64(table.Offset), int64(table.FileSize))
	l.add(int64(text.Offset), int64(text.FileSize))
}

// addStubs adds the extents from which stubs are named, unless they are large: the other functions count more.
func (l *readLog) addStubs(f *File) {
	relocations := f.stubRelocations()
	if !f.hasStubs() || relocations == nil || relocations.FileSize > maxStubNeeds {
		return
	}
	l.add(int64(relocations.Offset), int64(relocations.FileSize))
	for _, name := range stubSections() {
		if s := f.elf.Section(name); s != nil && f.holds(s) && s.FileSize <= maxStubNeeds {
			l.add(int64(s.Offset), int64(s.FileSize))
		}
	}
	if s := f.sectionOf(elf.SHT_DYNSYM); s != nil && s.FileSize <= maxStubNeeds {
		l.addTable(f, elf.SHT_DYNSYM)
	}
}

func (l *readLog) add(at, length int64) {
	if at < 0 || length <= 0 || at >= l.size {
		return
	}
	length = min(length, l.size-at)
	if last := len(l.extents) - 1; last >= 0 {
		e := &l.extents[last]
		if at >= e.Offset && at-e.Offset <= e.Length+extentGap {
			e.Length = max(e.Length, at-e.Offset+length)
			return
		}
	}
	if len(l.extents) == maxExtents {
		l.extents = l.merged()
	}
	if len(l.extents) == maxExtents {
		l.fail(errScattered)
		return
	}
	l.extents = append(l.extents, Extent{at, length})
}

// merged returns the extents in order, merging those that are less than extentGap apart.
func (l *readLog) merged() []Extent {
	slices.SortFunc(l.extents, func(a, b Extent) int { return cmp.Compare(a.Offset, b.Offset) })
	var out []Extent
	for _, e := range l.extents {
		if last := len(out) - 1; last >= 0 && e.Offset <= out[last].Offset+out[last].Length+extentGap {
			out[last].Length = max(out[last].Length, e.Offset+e.Length-out[last].Offset)
			continue
		}
		out = append(out, e)
	}
	return out
}
