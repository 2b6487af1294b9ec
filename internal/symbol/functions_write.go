package symbol

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"

	"wprof/format"
)

// maxStoredSegments bounds the segments with code of which functions are written. Programs have one.
const maxStoredSegments = 256

// WriteFunctions writes the functions of a module: the pieces of its table in order, each as four numbers in LEB128 and its function's
// name, in a gzip stream. The same functions give the same bytes. why is the reason if there are none; err is of writing.
func (r *Resolver) WriteFunctions(w io.Writer, m *format.Module) (why, err error) {
	l := r.load(m)
	if l == nil {
		return errors.New(cmp.Or(r.Why(m), errNoSymbols.Error())), nil
	}
	return writeFunctions(w, l)
}

func writeFunctions(w io.Writer, l *loaded) (why, err error) {
	packed := gzip.NewWriter(w)
	out := bufio.NewWriter(packed)
	var last, count, text, names uint64
	why = l.eachPiece(func(start, size, into uint64, name string) error {
		var numbers []byte
		for _, n := range []uint64{start - last, size, into, uint64(len(name))} {
			numbers = binary.AppendUvarint(numbers, n)
		}
		last = start
		count++
		names += uint64(len(name)) + 1
		text += uint64(len(numbers) + len(name))
		if count > maxStoredPieces || names > maxStoredNames || text >= maxStoredBytes {
			return errTooLarge
		}
		_, err = out.Write(append(numbers, name...))
		return err
	})
	if why == nil && count == 0 {
		why = errNoSymbols
	}
	if err == nil {
		err = cmp.Or(out.Flush(), packed.Close())
	}
	if err != nil {
		return nil, err
	}
	return why, nil
}

// eachPiece visits the pieces of a module's table in the order of their offsets in the file, which is also the order of their starts in a stored table.
func (l *loaded) eachPiece(visit func(start, size, into uint64, name string) error) error {
	segments := []elf.ProgHeader{{Filesz: maxFileOffset}} // offsets are addresses already
	if l.file != nil {
		segments = l.file.codeSegments()
	}
	t := l.table
	for _, s := range segments {
		i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > s.Vaddr })
		for i = max(0, i-1); i < len(t.starts) && t.starts[i] < s.Vaddr+s.Filesz; i++ {
			start := max(t.starts[i], s.Vaddr)
			function, size := t.span(i)
			into := start - function
			if into >= size {
				continue // it ends before the segment begins
			}
			name, _ := t.name(i) // without one, the piece still ends the one before
			if err := visit(start-s.Vaddr+s.Off, size, into, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// codeSegments are the segments that [File.Address] finds, in the order of their offsets. Of those that overlap, the first counts.
func (f *File) codeSegments() []elf.ProgHeader {
	var list []elf.ProgHeader
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 || p.Filesz == 0 || p.Off+p.Filesz < p.Off || p.Off+p.Filesz > maxFileOffset ||
			p.Vaddr+p.Filesz < p.Vaddr || len(list) >= maxStoredSegments {
			continue
		}
		overlaps := slices.ContainsFunc(list, func(q elf.ProgHeader) bool { return p.Off < q.Off+q.Filesz && q.Off < p.Off+p.Filesz })
		if !overlaps {
			list = append(list, p.ProgHeader)
		}
	}
	slices.SortFunc(list, func(a, b elf.ProgHeader) int { return cmp.Compare(a.Off, b.Off) })
	return list
}
