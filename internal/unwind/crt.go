package unwind

import (
	"bytes"
	"debug/elf"
)

// Code of _init and _fini in crti.o and crtn.o of the C library: sysdeps/x86_64/crti.S and crtn.S.
var (
	endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}       // in libraries for indirect branch tracking
	crtOpen = []byte{0x48, 0x83, 0xec, 0x08}       // sub $8,%rsp
	crtEnd  = []byte{0x48, 0x83, 0xc4, 0x08, 0xc3} // add $8,%rsp; ret
)

const maxCRTBytes = 64 // so that each step between two rules fits into one instruction

// crtEntries returns the rules of .init and .fini, which have no call frame information. A program that loads many libraries
// is there often, because that is the first code of each one and is not in memory yet.
func crtEntries(f *elf.File) (all []entry) {
	for _, name := range []string{".init", ".fini"} {
		s := f.Section(name)
		if s == nil || s.Type != elf.SHT_PROGBITS || s.Size > maxCRTBytes || s.FileSize > maxCRTBytes {
			continue
		}
		code, err := s.Data()
		body := bytes.TrimPrefix(code, endbr64)
		if err != nil || !bytes.HasPrefix(body, crtOpen) || !bytes.HasSuffix(body, crtEnd) {
			continue
		}
		pushed := len(code) - len(body) + len(crtOpen)
		popped := len(code) - 1
		all = append(all, entry{
			cie: &common{codeAlign: 1, dataAlign: -wordSize, instructions: []byte{cfaDef, regSP, wordSize}}, begin: s.Addr, end: s.Addr + uint64(len(code)),
			instructions: []byte{cfaAdvance | byte(pushed), cfaDefOffset, 2 * wordSize, cfaAdvance | byte(popped-pushed), cfaDefOffset, wordSize},
		})
	}
	return all
}
