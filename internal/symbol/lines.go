package symbol

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/dwarfline"
)

// Line is a function at a place in the source. Its name has the form of the Resolver's.
type Line = dwarfline.Line

// Lines visits those of the addresses of a module whose lines are known: line is the innermost function at at[i].
// [Resolver.Names] may have another name for the last one that it is inlined into, which is preferred: it is of the code,
// and that in the source may be of what the code was cloned from. Lines are those of DWARF, or else of a Go program's own table, or
// else those that are stored, or of a jitdump. The DWARF is opened each time, so that one is in memory
// at a time. The error is why lines are missing, if the module has some.
func (r *Resolver) Lines(m *format.Module, at []Address, visit func(i int, line *Line)) error {
	return r.linesIn(r.options.Form, m, at, visit)
}

// CanHaveLines reports whether frames of a module can have lines. DWARF of the kernel's modules has not been linked.
func CanHaveLines(m *format.Module) bool {
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_FILE:
		return true
	case format.ModuleKind_MODULE_KERNEL:
		return len(m.BuildId) > 0
	}
	return false
}

// linesIn are lines with names in a form.
func (r *Resolver) linesIn(form Form, m *format.Module, at []Address, visit func(i int, line *Line)) error {
	if format.ModuleKind(m.Kind) == format.ModuleKind_MODULE_KERNEL {
		return r.kernelLines(form, m, at, visit)
	}
	l := r.load(m)
	if l == nil {
		return nil
	}
	if l.dump != nil {
		l.dumpLines(at, visit)
		return nil
	}
	if l.file == nil {
		return r.storedLines(form, m, at, visit)
	}
	d, done, err := r.openLines(l, form)
	if err != nil {
		return r.orStored(err, form, m, at, visit)
	}
	places, addresses := sorted(at, l.address)
	visitPlace := func(i int, line *Line) { visit(int(places[i]), line) }
	if d != nil {
		defer done()
		if err := d.Find(addresses, visitPlace); err != nil {
			return r.orStored(err, form, m, at, visit)
		}
		return nil
	}
	if g := l.file.goLines(); g != nil {
		return g.find(addresses, visitPlace)
	}
	return r.storedLines(form, m, at, visit)
}

// orStored visits lines from where they are without the file, because those of the file are missing or incomplete; err is why, and is
// returned if there are none either.
func (r *Resolver) orStored(err error, form Form, m *format.Module, at []Address, visit func(i int, line *Line)) error {
	found := false
	stored := r.storedLines(form, m, at, func(i int, line *Line) {
		found = true
		visit(i, line)
	})
	if stored != nil || !found {
		return err
	}
	return nil
}

// storedLines visits lines from where they are without the file.
func (r *Resolver) storedLines(form Form, m *format.Module, at []Address, visit func(i int, line *Line)) error {
	if r.options.Lines == nil || len(m.BuildId) == 0 {
		return nil
	}
	in, err := r.options.Lines(m.BuildId)
	if err != nil {
		return nil
	}
	places, offsets := sorted(at, (&loaded{}).address)
	return readLines(in, form, offsets, func(i int, line *Line) { visit(int(places[i]), line) })
}

// sorted returns the addresses of places, in order, and the indices of the places. Places without an address are left out.
func sorted(at []Address, addressOf func(Address) (uint64, bool)) (places []int32, addresses []uint64) {
	type one struct {
		address uint64
		place   int32
	}
	list := make([]one, 0, len(at))
	for i, a := range at {
		if address, ok := addressOf(a); ok {
			list = append(list, one{address, int32(i)})
		}
	}
	slices.SortFunc(list, func(a, b one) int { return cmp.Compare(a.address, b.address) })
	places, addresses = make([]int32, len(list)), make([]uint64, len(list))
	for i, o := range list {
		places[i], addresses[i] = o.place, o.address
	}
	return places, addresses
}

// openLines opens a file's own lines, else those of its debug file. Without one here, it is fetched, but not for Go programs, which have
// lines of their own. nil: there are none.
func (r *Resolver) openLines(l *loaded, form Form) (*dwarfline.File, func(), error) {
	from, path, done := l.file, l.from, func() {}
	if !dwarfline.Has(from.elf) {
		from, path, done = r.findDWARF(l)
	}
	if from == nil {
		return nil, nil, nil
	}
	d, err := r.openDWARF(from.image(path), l.from, form)
	if err != nil {
		done()
		return nil, nil, err
	}
	return d, func() {
		d.Close()
		done()
	}, nil
}

func (r *Resolver) openDWARF(image *dwarfline.Image, program string, form Form) (*dwarfline.File, error) {
	return dwarfline.Open(image, dwarfline.Options{
		Open: openImage, DebugDirs: r.debugDirs(), Program: program, Fetch: r.fetchImage,
		Name: func(name string) string { return Demangle(name, form) },
	})
}

func (f *File) image(path string) *dwarfline.Image {
	return &dwarfline.Image{ELF: f.elf, R: f.r, Size: f.size, Path: path, BuildID: f.buildID}
}

// openImage opens a file that DWARF refers to.
func openImage(path string) (*dwarfline.Image, func(), error) {
	in, size, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := Open(in, size)
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return f.image(path), func() { in.Close() }, nil
}

// findDWARF opens the debug file of a file, and returns its path and what closes it; nil: there is none that has lines.
func (r *Resolver) findDWARF(l *loaded) (debug *File, path string, done func()) {
	usable := func(debug *File) bool { return dwarfline.Has(debug.elf) && l.file.checkDebug(debug) == nil }
	for _, name := range l.file.debugFiles(l.from, l.beside, r.debugDirs()) {
		in, size, err := OpenRegular(name)
		if err != nil {
			continue
		}
		if debug, err := Open(in, size); err == nil && usable(debug) {
			return debug, name, func() { in.Close() }
		}
		in.Close()
	}
	if debug := l.file.debug; debug != nil && dwarfline.Has(debug.elf) { // fetched for its symbols
		return debug, "", func() {}
	}
	if l.file.goLines() == nil {
		debug, done = r.fetchDebugFile(l.file.buildID, usable)
	}
	return debug, "", done
}
