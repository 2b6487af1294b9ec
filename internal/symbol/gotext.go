package symbol

import (
	"bufio"
	"debug/elf"
	"io"
	"strings"
)

// Words of runtime's moduledata, the same since Go 1.18 (runtime/symtab.go).
const (
	moduleWordHeader = 0 // the table's address
	moduleWordNames  = 1
	moduleWordText   = 22
	moduleWordData   = 40 // gofunc, since Go 1.20
)

// maxModules bounds the addresses that are tried as a moduledata.
const maxModules = 16

// goText returns the address that a Go program's functions are relative to, runtime.text. Up to Go 1.25 it is in the
// table's header, unless that needs a relocation. It is always in moduledata. If neither can be read, it is taken to be the
// start of .text, which is right for programs linked by Go's linker alone.
func (f *File) goText(t *goTable) (uint64, bool) {
	if t.text != 0 && f.inCode(t.text) {
		return t.text, true
	}
	if t.word == 8 {
		if m, ok := f.goModule(t); ok {
			return m.text, true
		}
	}
	if s := f.elf.Section(".text"); s != nil {
		return s.Addr, true
	}
	return 0, false
}

func (f *File) inCode(address uint64) bool {
	for _, c := range f.codeSections() {
		if address >= c.start && address < c.end {
			return true
		}
	}
	return false
}

// goModule is what a Go program's moduledata says.
type goModule struct {
	text uint64 // where its code begins
	data uint64 // where the data of its functions begins, gofunc
}

// goModule finds moduledata.
func (f *File) goModule(t *goTable) (goModule, bool) {
	if m, ok := f.moduleWords(t); ok {
		return m, true
	}
	return f.relocatedModule(t)
}

// moduleWords finds moduledata by its first two words in the sections where it may be.
func (f *File) moduleWords(t *goTable) (goModule, bool) {
	for _, s := range f.elf.Sections {
		if !f.holds(s) || s.Flags&elf.SHF_ALLOC == 0 || s.FileSize > maxGoScanBytes ||
			s.Name != ".go.module" && s.Name != ".noptrdata" && !strings.HasPrefix(s.Name, ".data") {
			continue
		}
		w := &window{r: f.r, size: s.Offset + s.FileSize}
		for at := s.Offset; at+8*(moduleWordData+1) <= w.size; at += 8 {
			words, ok := w.at(at, 8*(moduleWordData+1))
			if !ok {
				break
			}
			word := func(i int) uint64 { return t.order.Uint64(words[8*i:]) }
			if word(moduleWordHeader) == t.address && word(moduleWordNames) == t.address+t.names && f.inCode(word(moduleWordText)) {
				return goModule{text: word(moduleWordText), data: word(moduleWordData)}, true
			}
		}
	}
	return goModule{}, false
}

// relocatedModule finds moduledata in a program that is not linked to a fixed address: the words are in the
// relocations that will write them.
func (f *File) relocatedModule(t *goTable) (goModule, bool) {
	var modules []uint64
	f.eachRelative(func(at, value uint64) {
		if value == t.address && len(modules) < maxModules {
			modules = append(modules, at)
		}
	})
	names, found := make([]bool, len(modules)), make([]goModule, len(modules))
	f.eachRelative(func(at, value uint64) {
		for i, m := range modules {
			switch at {
			case m + 8*moduleWordNames:
				names[i] = value == t.address+t.names
			case m + 8*moduleWordText:
				found[i].text = value
			case m + 8*moduleWordData:
				found[i].data = value
			}
		}
	})
	for i := range modules {
		if names[i] && f.inCode(found[i].text) {
			return found[i], true
		}
	}
	return goModule{}, false
}

// eachRelative visits the relocations that write value plus the load address to at.
func (f *File) eachRelative(visit func(at, value uint64)) {
	relative := uint64(elf.R_X86_64_RELATIVE)
	if f.elf.Machine == elf.EM_AARCH64 {
		relative = uint64(elf.R_AARCH64_RELATIVE)
	}
	entry := make([]byte, 24)
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_RELA || !f.holds(s) || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		in := bufio.NewReaderSize(io.NewSectionReader(f.r, int64(s.Offset), int64(s.FileSize)), windowBytes)
		for {
			if _, err := io.ReadFull(in, entry); err != nil {
				break
			}
			if o := f.elf.ByteOrder; o.Uint64(entry[8:]) == relative {
				visit(o.Uint64(entry), o.Uint64(entry[16:]))
			}
		}
	}
}
