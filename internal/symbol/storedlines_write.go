package symbol

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"io"
	"slices"

	"wprof/format"
)

// WriteLines writes the lines at some offsets of a module's file, which are sorted, with names as in its symbols. Without any it writes
// nothing, and returns false. why is the reason if some are missing; err is of writing.
func (r *Resolver) WriteLines(w io.Writer, m *format.Module, offsets []uint64) (some bool, why, err error) {
	at := make([]Address, len(offsets))
	for i, offset := range offsets {
		at[i].Offset = offset
	}
	lines := make([]*Line, len(offsets))
	why = r.linesIn(RawForm, m, at, func(i int, line *Line) { lines[i] = line })
	if !slices.ContainsFunc(lines, func(l *Line) bool { return l != nil }) {
		return false, why, nil
	}
	packed := gzip.NewWriter(w)
	out := &lineWriter{out: bufio.NewWriter(packed), outer: make(map[*Line]uint64), lines: make(map[lineKey]uint64), texts: make(map[string]uint64)}
	for i, line := range lines {
		if line == nil {
			continue
		}
		if !out.fits(line) {
			why = cmp.Or(why, errManyLines)
			break
		}
		out.place(offsets[i], line)
	}
	return true, why, cmp.Or(out.out.Flush(), packed.Close())
}

// lineWriter writes stored lines. What goes wrong is returned when it is flushed.
type lineWriter struct {
	out    *bufio.Writer
	last   uint64 // the place before
	places int
	outer  map[*Line]uint64   // numbers of lines with others inlined, from 1
	lines  map[lineKey]uint64 // of all lines
	texts  map[string]uint64
	bytes  int // of texts
	chain  []*Line
}

// lineKey is the content of a line, with numbers of texts and lines.
type lineKey struct {
	function, file, outer uint64
	line                  uint32
}

// fits reports whether readers accept another place.
func (w *lineWriter) fits(line *Line) bool {
	count, bytes := 0, 0
	for l := line; l != nil; l = l.Outer {
		count++
		bytes += len(l.Function) + len(l.File)
		if max(len(l.Function), len(l.File)) > maxNameBytes {
			return false
		}
	}
	return count <= maxStoredChain && w.places < maxStoredPlaces && len(w.lines)+count <= maxStoredLines &&
		len(w.texts)+2*count <= maxStoredTexts && w.bytes+bytes <= maxStoredTextBytes
}

func (w *lineWriter) place(offset uint64, line *Line) {
	w.number(offset - w.last)
	w.last = offset
	w.places++
	known := uint64(0) // the number of the innermost line that was written already
	w.chain = w.chain[:0]
	for l := line; l != nil; l = l.Outer {
		if known = w.outer[l]; known > 0 {
			break
		}
		w.chain = append(w.chain, l)
	}
	for ; len(w.chain) > 0; w.chain = w.chain[:len(w.chain)-1] {
		l := w.chain[len(w.chain)-1]
		n := w.lines[w.key(l, known)]
		if n == 0 {
			break
		}
		known = w.add(l, line, n)
	}
	if known == 0 {
		w.number(0)
	} else {
		w.number(uint64(len(w.lines)) + 1 - known)
	}
	w.number(uint64(len(w.chain)))
	for _, l := range slices.Backward(w.chain) {
		w.text(l.Function)
		w.text(l.File)
		w.number(uint64(l.Line))
		key := w.key(l, known)
		known = w.add(l, line, uint64(len(w.lines))+1)
		w.lines[key] = known
	}
}

func (w *lineWriter) key(l *Line, outer uint64) lineKey {
	return lineKey{w.texts[l.Function], w.texts[l.File], outer, l.Line}
}

// add remembers the number of a line unless it is the innermost one, which comes once.
func (w *lineWriter) add(l, innermost *Line, n uint64) uint64 {
	if l != innermost {
		w.outer[l] = n
	}
	return n
}

func (w *lineWriter) number(n uint64) {
	_, _ = w.out.Write(binary.AppendUvarint(w.out.AvailableBuffer(), n))
}

func (w *lineWriter) text(s string) {
	n := w.texts[s]
	w.number(n)
	if n > 0 {
		return
	}
	w.texts[s] = uint64(len(w.texts)) + 1
	w.bytes += len(s)
	w.number(uint64(len(s)))
	_, _ = w.out.WriteString(s)
}
