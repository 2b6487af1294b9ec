package usercode

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/symbol"
)

const (
	maxPlaces = 4096
	maxRows   = 256 << 20 // rows of line tables that are read for one line
)

// Place is code where a line of source begins.
type Place struct {
	Offset   uint64 // in the file
	Address  uint64
	File     string
	Line     int
	Function string // innermost, without parameters; "": not known
	Inlined  bool   // a copy in another function
}

// Line returns where a line of source begins a statement: one place for each function and for each copy that is inlined somewhere, the first
// in its code. A file is named by the end of its path, from a slash on.
func (f *File) Line(file string, line int) (_ []Place, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	d, err := f.data()
	if err != nil {
		return nil, err
	}
	s := &lineSearch{file: path.Clean(file), line: line}
	if err := s.search(d); err != nil {
		return nil, fmt.Errorf("find line %d of %s: %w", line, file, err)
	}
	if len(s.rows) == 0 {
		return nil, s.missing()
	}
	places := f.places(d, s.rows)
	if len(places) == 0 {
		return nil, fmt.Errorf("line %d of %s has code only in what the linker left out", line, file)
	}
	return places, nil
}

// row is a row of a line table that begins a statement of the line.
type row struct {
	address uint64
	file    string
	line    int
}

// lineSearch looks for a line in all units.
type lineSearch struct {
	file          string
	dir           string // in which the unit was compiled
	line          int
	rows          []row
	known         bool // there is such a file
	before, after int  // lines with code next to it
	last          int  // of the file
	files         map[string]bool
	read          int
}

func (s *lineSearch) search(d *dwarfData) error {
	s.files = map[string]bool{}
	return d.eachUnit(func(u *unit, _ *dwarf.Reader) (bool, error) {
		lines, err := d.LineReader(u.entry)
		if err == nil && lines != nil {
			s.dir, _ = u.entry.Val(dwarf.AttrCompDir).(string)
			err = s.unit(lines)
		}
		return true, err
	})
}

// matches reports whether a path ends with the file that is looked for.
func (s *lineSearch) matches(name string) bool {
	name = s.full(name)
	return name == s.file || strings.HasSuffix(name, "/"+strings.TrimPrefix(s.file, "/"))
}

// full returns a path in full, as far as it is known.
func (s *lineSearch) full(name string) string {
	if path.IsAbs(name) || s.dir == "" {
		return path.Clean(name)
	}
	return path.Join(s.dir, name)
}

// unit reads the line table of one unit if it has the file.
func (s *lineSearch) unit(lines *dwarf.LineReader) error {
	has := false
	for _, file := range lines.Files() {
		if file == nil {
			continue
		}
		has = has || s.matches(file.Name)
		if len(s.files) < maxNear {
			s.files[path.Base(file.Name)] = true
		}
	}
	if !has {
		return nil
	}
	s.known = true
	matched := map[*dwarf.LineFile]bool{}
	var e dwarf.LineEntry
	for {
		if err := lines.Next(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if s.read++; s.read > maxRows || len(s.rows) > maxPlaces*16 {
			return errWork
		}
		if !e.IsStmt || e.EndSequence || e.File == nil || e.Line == 0 {
			continue
		}
		isFile, seen := matched[e.File]
		if !seen {
			isFile = s.matches(e.File.Name)
			matched[e.File] = isFile
		}
		if isFile {
			s.row(&e)
		}
	}
}

func (s *lineSearch) row(e *dwarf.LineEntry) {
	s.last = max(s.last, e.Line)
	switch {
	case e.Line == s.line:
		s.rows = append(s.rows, row{e.Address, s.full(e.File.Name), e.Line})
	case e.Line < s.line:
		s.before = max(s.before, e.Line)
	case s.after == 0 || e.Line < s.after:
		s.after = e.Line
	}
}

// missing says what there is instead of the line.
func (s *lineSearch) missing() error {
	switch {
	case !s.known:
		files := make([]string, 0, len(s.files))
		for name := range s.files {
			files = append(files, name)
		}
		slices.Sort(files)
		return &NotFound{What: "source file", Name: s.file, Near: cli.Nearest(path.Base(s.file), files)}
	case s.before > 0 && s.after > 0:
		return fmt.Errorf("line %d has no code; lines %d and %d have", s.line, s.before, s.after)
	case s.after > 0:
		return fmt.Errorf("line %d has no code; line %d is the first that has", s.line, s.after)
	case s.before > 0:
		return fmt.Errorf("line %d has no code; line %d is the last that has", s.line, s.before)
	}
	return fmt.Errorf("%s has no code", s.file)
}

// places keeps the first row of each function and of each inlined copy.
func (f *File) places(d *dwarfData, rows []row) []Place {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.address, b.address) })
	var list []Place
	seen := map[dwarf.Offset]bool{}
	var fn *function
	for i, r := range rows {
		if i > 0 && rows[i-1].address == r.address || len(list) >= maxPlaces {
			continue
		}
		offset, ok := f.offset(r.address)
		if !ok || r.address == 0 {
			continue
		}
		p := Place{Offset: offset, Address: r.address, File: r.file, Line: r.line}
		if fn == nil || !d.contains(fn.node.Entry, r.address) {
			fn, _ = d.functionAt(r.address) // without one, each row counts
		}
		if fn != nil {
			instance := fn.instance(r.address)
			if seen[instance.Offset] {
				continue
			}
			seen[instance.Offset] = true
			p.Function, p.Inlined = fn.nameOf(instance), instance.Tag == dwarf.TagInlinedSubroutine
		}
		list = append(list, p)
	}
	return list
}

// nameOf returns the name of a function as [symbol.Demangle] writes it, or that in the source.
func (fn *function) nameOf(n *node) string {
	if linked, ok := fn.unit.d.attr(n.Entry, dwarf.AttrLinkageName).(string); ok {
		return symbol.Demangle(linked, symbol.DefaultForm)
	}
	return fn.unit.d.name(n.Entry)
}
