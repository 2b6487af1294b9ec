package symbol

import (
	"io"
	"os"
	"slices"

	"wprof/format"
	"wprof/internal/jitdump"
)

// readDump reads the functions of a jitdump: from the file that was kept open, else from its path.
func (r *Resolver) readDump(m *format.Module) (*loaded, error) {
	in, size, done, err := r.openDump(m)
	if err != nil {
		return nil, err
	}
	l := &loaded{}
	if done != nil {
		l.close = append(l.close, done)
	}
	l.dump, err = jitdump.ReadFunctions(in, size)
	switch {
	case err != nil:
	case m.Mtime != 0 && l.dump.Began != m.Mtime:
		err = errOther
	default:
		l.table, err = dumpTable(l.dump)
	}
	if err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

func (r *Resolver) openDump(m *format.Module) (in io.ReaderAt, size int64, done func(), err error) {
	if r.options.Open != nil {
		if in, size, done, err = r.options.Open(m); err == nil {
			return in, size, done, nil
		}
	}
	if r.options.NoPaths {
		return nil, 0, nil, errNoFile
	}
	return openPath(string(m.Path), func(file *os.File) error { return checkInode(file, m) })()
}

func dumpTable(f *jitdump.Functions) (*Table, error) {
	if len(f.List) == 0 {
		return nil, errNoSymbols
	}
	var spans []span
	var text []byte
	for i := range f.List {
		one := &f.List[i]
		if len(one.Name) == 0 {
			continue
		}
		spans = append(spans, span{start: one.Offset, end: one.Offset + one.Size, rank: uint32(i), name: uint32(len(text))})
		text = append(append(text, one.Name...), 0)
	}
	var n names
	n.addBytes(text)
	return newTable(spans, latest, n), nil
}

// isBeyond reports whether one of some places is in what was added to a dump since it was read.
func isBeyond(at []Address, end uint64) bool {
	return slices.ContainsFunc(at, func(a Address) bool { return a.Offset > end })
}

// dumpLines visits the lines of places in a jitdump.
func (l *loaded) dumpLines(at []Address, visit func(i int, line *Line)) {
	places, offsets := sorted(at, l.address)
	l.dump.Find(offsets, func(i int, function *jitdump.Function, line jitdump.Line) {
		visit(int(places[i]), &Line{Function: function.Name, File: line.File, Line: line.Line})
	})
}
