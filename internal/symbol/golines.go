package symbol

import (
	"errors"
	"math"
	"sort"
)

// Numbers of a function's tables (internal/abi/symtab.go).
const (
	goInlineIndex = 2 // PCDATA_InlTreeIndex
	goInlineTree  = 3 // FUNCDATA_InlTree

	goFunctionBytes = 44 // struct _func since Go 1.20
	goCallBytes     = 16 // struct inlinedCall since Go 1.20
)

const (
	// maxGoTableBytes bounds a table of one function. The largest of the go command has 20 KiB.
	maxGoTableBytes = 1 << 20
	// maxGoInlined bounds the functions at one place.
	maxGoInlined = 256
	// maxGoStrings bounds the names and paths of one program together.
	maxGoStrings = 128 << 20
)

var errGoLines = errors.New("the Go program's table of lines is damaged")

// goLines is the lines of a Go program from the tables of its own tracebacks.
type goLines struct {
	*goTable
	file    *File
	text    uint64
	data    uint64
	strings map[uint64]string // by where they begin
	kept    int               // bytes of strings
	work    uint64            // bytes of tables that may still be read, which functions of a hostile program share
}

// goLines returns the lines of a Go program; nil: it is none, or is of Go before 1.20, whose inlined functions are stored in
// another way.
func (f *File) goLines() *goLines {
	t := f.goTable()
	if t == nil || t.isGo118 || t.units >= t.size || t.files >= t.size || t.depths >= t.size {
		return nil
	}
	text, ok := f.goText(t)
	if !ok {
		return nil
	}
	m, _ := f.goModule(t) // without it nothing inlined is found
	return &goLines{goTable: t, file: f, text: text, data: m.data, strings: make(map[uint64]string), work: 8*t.size + 64<<20}
}

// find visits the addresses, which are sorted.
func (g *goLines) find(addresses []uint64, visit func(i int, line *Line)) (err error) {
	defer RecoverTo(&err, "read the lines of a Go program")
	index := &window{r: g.r, size: g.size}
	next := 0
	for i := uint64(0); i < g.count && next < len(addresses); i++ {
		entry, ok := index.at(g.funcs+i*8, 12)
		if !ok {
			return errGoLines
		}
		start, body, end := g.order.Uint32(entry), g.order.Uint32(entry[4:]), g.order.Uint32(entry[8:])
		for next < len(addresses) && addresses[next] < g.text+uint64(start) {
			next++
		}
		if next == len(addresses) || addresses[next] >= g.text+uint64(end) {
			continue
		}
		f, ok := g.function(body, end-start)
		for ; next < len(addresses) && addresses[next] < g.text+uint64(end); next++ {
			if !ok {
				err = errGoLines
				continue
			}
			if line := f.chain(uint32(addresses[next] - g.text - uint64(start))); line != nil {
				visit(next, line)
			}
		}
	}
	return err
}

// goFunction is one function with its tables.
type goFunction struct {
	g                   *goLines
	name, unit          uint32
	size                uint32
	files, lines, calls []goStep
	tree                uint64 // of what is inlined, in the file; 0: nothing
}

// goStep is a value up to an address, counted from the function's start.
type goStep struct {
	end   uint32
	value int32
}

// function reads struct _func and what it refers to.
func (g *goLines) function(body, size uint32) (f *goFunction, ok bool) {
	at := g.funcs + uint64(body)
	head := g.read(at, goFunctionBytes)
	if head == nil {
		return nil, false
	}
	word := func(i int) uint32 { return g.order.Uint32(head[4*i:]) }
	f = &goFunction{g: g, name: word(1), unit: word(8), size: size}
	files, lines, counts := word(5), word(6), word(7)
	if f.files, ok = g.steps(files); !ok {
		return nil, false
	}
	if f.lines, ok = g.steps(lines); !ok {
		return nil, false
	}
	lists := g.read(at+goFunctionBytes, 4*uint64(min(counts, 64))+4*uint64(head[goFunctionBytes-1]))
	if counts <= goInlineIndex || counts > 64 || head[goFunctionBytes-1] <= goInlineTree || lists == nil || g.data == 0 {
		return f, true
	}
	tree := g.order.Uint32(lists[4*(counts+goInlineTree):])
	if tree == math.MaxUint32 {
		return f, true
	}
	f.calls, ok = g.steps(g.order.Uint32(lists[4*goInlineIndex:]))
	f.tree = g.data + uint64(tree)
	return f, ok
}

// read reads a part of the table; nil: it is not there.
func (g *goLines) read(at, size uint64) []byte {
	if at > g.size || size > g.size-at {
		return nil
	}
	b := make([]byte, size)
	if n, _ := g.r.ReadAt(b, int64(at)); n < len(b) {
		return nil
	}
	return b
}

// steps reads a table of values by address.
func (g *goLines) steps(at uint32) (list []goStep, ok bool) {
	if at == 0 {
		return nil, true
	}
	from := g.depths + uint64(at)
	for size := uint64(512); from < g.size && g.work > size; size *= 8 {
		g.work -= size
		b := g.read(from, min(size, g.size-from))
		if list, ok = g.decode(b); ok || size >= min(g.size-from, maxGoTableBytes) {
			return list, ok
		}
	}
	return nil, false
}

func (g *goLines) decode(b []byte) (list []goStep, ok bool) {
	values, end := newGoValues(b), uint32(0)
	for {
		quanta, ok := values.next()
		if !ok {
			return list, values.ended
		}
		end += uint32(quanta * g.quantum)
		list = append(list, goStep{end, values.value})
	}
}

// valueAt returns the value at an address; -1: there is none.
func valueAt(list []goStep, at uint32) int32 {
	i := sort.Search(len(list), func(i int) bool { return list[i].end > at })
	if i == len(list) {
		return -1
	}
	return list[i].value
}

// chain returns the innermost function at an address; nil: none is known.
func (f *goFunction) chain(at uint32) (innermost *Line) {
	next := &innermost
	for range maxGoInlined {
		line := &Line{File: f.path(at)}
		if n := valueAt(f.lines, at); n > 0 {
			line.Line = uint32(n)
		}
		call := int32(-1)
		if f.tree != 0 {
			call = valueAt(f.calls, at)
		}
		if call < 0 && innermost == nil && line.Line == 0 {
			return nil // between functions
		}
		if call < 0 {
			line.Function = f.g.string(f.g.names, uint64(f.name))
			*next = line
			return innermost
		}
		name, parent, ok := f.call(uint64(call))
		if !ok || parent >= f.size {
			return nil // the layout is another than that of the versions which are known
		}
		line.Function = f.g.string(f.g.names, uint64(name))
		*next, next = line, &line.Outer
		at = parent
	}
	return nil
}

// call reads struct inlinedCall: its name, and an address at which the source is that of the call.
func (f *goFunction) call(i uint64) (name, parent uint32, ok bool) {
	at, ok := f.g.file.fileOffset(f.tree + i*goCallBytes)
	if !ok {
		return 0, 0, false
	}
	b, ok := f.g.file.bytes(at, goCallBytes)
	if !ok {
		return 0, 0, false
	}
	return f.g.order.Uint32(b[4:]), f.g.order.Uint32(b[8:]), true
}

// path returns the source file at an address.
func (f *goFunction) path(at uint32) string {
	g := f.g
	file := valueAt(f.files, at)
	if file < 0 {
		return ""
	}
	b := g.read(g.units+4*(uint64(f.unit)+uint64(file)), 4)
	if b == nil || g.order.Uint32(b) == math.MaxUint32 {
		return ""
	}
	return g.string(g.files, uint64(g.order.Uint32(b)))
}

// string returns a string of a list; "": it is not there.
func (g *goLines) string(list, at uint64) string {
	at += list
	if known, found := g.strings[at]; found {
		return known
	}
	if at >= g.size || g.kept > maxGoStrings {
		return ""
	}
	s, _ := readName(g.r, at, g.size)
	g.kept += len(s)
	g.strings[at] = s
	return s
}

// fileOffset is the place in the file of an address.
func (f *File) fileOffset(address uint64) (uint64, bool) {
	for _, s := range f.elf.Sections {
		if f.holds(s) && s.Addr != 0 && address >= s.Addr && address-s.Addr < s.FileSize {
			return s.Offset + address - s.Addr, true
		}
	}
	return 0, false
}
