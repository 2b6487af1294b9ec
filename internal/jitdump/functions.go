package jitdump

import (
	"io"
	"sort"

	"wprof/internal/printable"
)

const (
	// maxFunctions and maxNames bound the functions of one dump, and the bytes of their names.
	maxFunctions = 1 << 20
	maxNames     = 64 << 20
	// maxRecords bounds what is read of it.
	maxRecords = 8 << 20
	// biasProbe is how many functions with lines show whether addresses of lines have an ELF header added.
	biasProbe = 1000
)

// Function is a function by the offset of its code in the dump.
type Function struct {
	Offset, Size uint64
	Name         string
	address      uint64
	lines        int64
}

// Functions are those of a dump, in the order of their offsets.
type Functions struct {
	List  []Function
	End   uint64 // how far the dump was read
	Began uint64 // see [Reader]
	r     io.ReaderAt
	size  int64
	bias  uint64
}

// ReadFunctions reads the functions of a dump; those after a damaged record are missing.
func ReadFunctions(r io.ReaderAt, size int64) (*Functions, error) {
	d, err := NewReader(r, size)
	if err != nil {
		return nil, err
	}
	f := &Functions{r: r, size: size, Began: d.Began}
	var c Code
	bytes := 0
	for range maxRecords {
		found, err := d.Next(&c)
		if err != nil || len(f.List) >= maxFunctions || bytes >= maxNames {
			break
		}
		if found && !c.Moved {
			bytes += len(c.Name)
			f.List = append(f.List, Function{c.Offset, c.Size, string(c.Name), c.LoadedAt, c.Lines})
		}
	}
	f.End = uint64(d.Position())
	f.bias = f.findBias()
	return f, nil
}

// findBias returns what is to be subtracted from the addresses of lines: an ELF header if no function has a line within its first bytes.
func (f *Functions) findBias() uint64 {
	left := biasProbe
	found := false
	for i := range f.List {
		one := &f.List[i]
		if one.lines == 0 {
			continue
		}
		if left--; left < 0 {
			break
		}
		lines := Lines(f.r, f.size, one.lines)
		if !one.areSane(lines) {
			continue
		}
		for _, l := range lines {
			if l.Address >= one.address && l.Address-one.address < elfHeader {
				return 0
			}
			found = true
		}
	}
	if found {
		return elfHeader
	}
	return 0
}

// Find visits the lines of offsets in the dump, which are in order.
func (f *Functions) Find(offsets []uint64, visit func(i int, function *Function, line Line)) {
	var of *Function
	var lines []Line
	for i, offset := range offsets {
		at := sort.Search(len(f.List), func(i int) bool { return f.List[i].Offset > offset }) - 1
		if at < 0 || offset-f.List[at].Offset >= f.List[at].Size || f.List[at].lines == 0 {
			continue
		}
		if of != &f.List[at] {
			of = &f.List[at]
			if lines = Lines(f.r, f.size, of.lines); !of.areSane(lines) {
				lines = nil
			}
		}
		address := of.address + (offset - of.Offset) + f.bias
		if line, ok := lineAt(lines, address); ok {
			visit(i, of, line)
		}
	}
}

// areSane reports whether lines can be a function's: V8 may write the names of files from memory that it has freed.
func (f *Function) areSane(lines []Line) bool {
	for _, l := range lines {
		if l.Address < f.address || l.Address-f.address > f.Size+elfHeader || !printable.Is(l.File) {
			return false
		}
	}
	return true
}

// lineAt returns the line with the highest address up to some address.
func lineAt(lines []Line, address uint64) (best Line, ok bool) {
	for _, l := range lines {
		if l.Address <= address && (!ok || l.Address >= best.Address) {
			best, ok = l, true
		}
	}
	return best, ok && best.Line > 0 && best.File != ""
}
