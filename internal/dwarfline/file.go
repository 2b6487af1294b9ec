package dwarfline

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
)

// Image is an ELF file that is open.
type Image struct {
	ELF     *elf.File
	R       io.ReaderAt
	Size    uint64
	Path    string // near which others are looked for; "": it has none
	BuildID []byte // nil: it has none
}

// Options are where the files are to which others refer.
type Options struct {
	// Open opens a .dwo file, a .dwp package or a supplementary file. nil: there are none.
	Open func(path string) (image *Image, close func(), err error)
	// Name writes the name of a symbol as Find returns it; nil: it stays as it is.
	Name func(string) string
	// DebugDirs are folders of debug files, in which supplementary files may be.
	DebugDirs []string
	// Fetch opens a supplementary file that is nowhere else by its build-id. nil: it cannot.
	Fetch func(buildID []byte) (image *Image, close func(), err error)
	// Program is the path of the program, if the DWARF is in another file. Its .dwp package may be beside either.
	Program string
}

// Line is a function at a place in the source. It does not change after it was visited, and others may be inlined into the same one.
type Line struct {
	Function string // the name of its symbol, else that in the source; "": not known
	File     string // "": not known
	Line     uint32 // 0: not known
	Outer    *Line  // into which it is inlined; nil: it is not
}

var errTexts = errors.New("the names in its DWARF are too long")

// ErrNone is the error of a file without DWARF.
var ErrNone = errors.New("no DWARF")

const (
	// A file may be read workPerByte times as a whole, and workBase bytes of it besides.
	workPerByte = 8
	workBase    = 64 << 20
	// maxRanges bounds the address ranges of a file's units, 24 bytes each. Chrome's have a million.
	maxRanges = 4 << 20
	// maxTexts bounds the names and paths that are kept to be shared by units.
	maxTexts = 256 << 10
	// maxTextsBytes bounds what the names and paths that Find returns take together.
	maxTextsBytes = 256 << 20
)

// File is the DWARF of one ELF file. It is not safe for concurrent use.
type File struct {
	main    *data
	options Options
	ranges  []unitRange // sorted, without overlaps; nil: not read yet
	scanned bool
	pack    *pack // of split units
	noPack  bool
	texts   map[string]string
	made    int64 // bytes of texts that were made for Find
	budget  int64
	work    int64

	// Buffers that are used again for the next unit.
	nodes  []node
	lines  []Line // not used yet
	owners []int32
	places []place
}

// unitRange is addresses of a unit.
type unitRange struct {
	low, high uint64
	unit      uint32
}

// Has reports whether a file has DWARF with code.
func Has(f *elf.File) bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s := f.Section(name); s != nil && s.Type != elf.SHT_NOBITS && s.Size > 0 {
			return f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN // others have not been linked
		}
	}
	return false
}

// Open opens the DWARF of a file, which stays open as long as the File.
func Open(image *Image, o Options) (_ *File, err error) {
	if !Has(image.ELF) {
		return nil, ErrNone
	}
	f := &File{options: o, texts: make(map[string]string)}
	defer recoverTo(&err)
	if f.main, err = openData(image, "", &f.budget); err != nil {
		return nil, err
	}
	f.work = f.budget + workBase
	f.budget = f.work
	if err := f.openAlt(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// recoverTo, deferred, turns a panic into an error: one in a decompressor of the standard library, or a mistake here.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w (%v)", errMalformed, r)
	}
}

// Close closes the files that were opened besides the file itself.
func (f *File) Close() {
	if f.pack != nil {
		f.pack.data.release()
	}
	if f.main.alt != nil {
		f.main.alt.release()
	}
	f.main.release()
}

// Find visits those of the addresses, which are sorted, whose lines are known: i is the index of the address, line the innermost function
// there. Where only the line is known, it is one Line without a function. An error in one unit does not keep the others from being visited; the first is
// returned.
func (f *File) Find(addresses []uint64, visit func(i int, line *Line)) (err error) {
	defer recoverTo(&err)
	f.budget, f.made = f.work, 0
	if !f.scanned {
		f.scanned = true
		err = f.index()
	}
	// The addresses of a unit together.
	type wanted struct {
		unit  uint32
		index int32
	}
	var list []wanted
	for i, a := range addresses {
		if u, ok := f.unitOf(a); ok {
			list = append(list, wanted{u, int32(i)})
		}
	}
	slices.SortStableFunc(list, func(a, b wanted) int { return cmp.Compare(a.unit, b.unit) })
	var group []uint64
	for from := 0; from < len(list); {
		to := from
		group = group[:0]
		for ; to < len(list) && list[to].unit == list[from].unit; to++ {
			group = append(group, addresses[list[to].index])
		}
		failed := f.findInUnit(&f.main.units[list[from].unit], group, func(i int, line *Line) {
			visit(int(list[from+i].index), line)
		})
		err = cmp.Or(err, failed)
		from = to
	}
	if f.made > maxTextsBytes {
		err = cmp.Or(err, errTexts)
	}
	return err
}

// index reads the address ranges of all units.
func (f *File) index() error {
	err := f.main.scan()
	for i := range f.main.units {
		if failed := f.addRanges(i); failed != nil {
			err = cmp.Or(err, failed)
		}
		if len(f.ranges) >= maxRanges {
			err = cmp.Or(err, fmt.Errorf("the units of its DWARF have more than %d address ranges", maxRanges))
			break
		}
	}
	slices.SortFunc(f.ranges, func(a, b unitRange) int { return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.unit, b.unit)) })
	end, kept := uint64(0), f.ranges[:0]
	for _, r := range f.ranges {
		if r.low = max(r.low, end); r.low < r.high {
			kept = append(kept, r)
			end = r.high
		}
	}
	f.ranges = slices.Clip(kept)
	return err
}

func (f *File) addRanges(i int) (err error) {
	defer recoverTo(&err)
	s, err := f.main.root(&f.main.units[i])
	if err != nil {
		return err
	}
	e := extent{high: s.high, ranges: s.rangesAt}
	if s.hasLow {
		e.low = value{form: formAddr, u: s.low}
	}
	return s.each(&e, func(low, high uint64) {
		if last := len(f.ranges) - 1; last >= 0 && f.ranges[last].unit == uint32(i) && f.ranges[last].high == low {
			f.ranges[last].high = high
		} else if len(f.ranges) < maxRanges {
			f.ranges = append(f.ranges, unitRange{low, high, uint32(i)})
		}
	})
}

func (f *File) unitOf(address uint64) (unit uint32, ok bool) {
	i := sort.Search(len(f.ranges), func(i int) bool { return f.ranges[i].low > address }) - 1
	if i < 0 || address >= f.ranges[i].high {
		return 0, false
	}
	return f.ranges[i].unit, true
}

// shared returns the shared copy of a text; "" if too much was made.
func (f *File) shared(text string) string {
	if known, found := f.texts[text]; found {
		return known
	}
	if f.made += int64(len(text)); f.made > maxTextsBytes {
		return ""
	}
	if len(f.texts) >= maxTexts {
		clear(f.texts)
	}
	f.texts[text] = text
	return text
}
