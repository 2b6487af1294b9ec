//go:build linux

package damage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"
)

// elfFile is a program by hand: one segment with code at its beginning, and sections that may say anything.
type elfFile struct {
	sections []elfSection
	size     int64 // of the file, with a hole at its end; 0: what it takes
	header   func(h *elf.Header64)
}

// elfSection is a section. Its offset and size are those of its bytes unless header says otherwise.
type elfSection struct {
	name   string
	data   []byte
	header elf.Section64
	lie    func(h *elf.Section64)
}

const (
	codeAt    = 0x400000
	codeBytes = 0x1000
	// victimAt is where the function of a sound file begins, as an offset in the file.
	victimAt = 0x200
)

var buildID = bytes.Repeat([]byte{0xab}, 20)

// soundELF has a function called victim.
func soundELF() *elfFile {
	return &elfFile{sections: []elfSection{
		{},
		{name: ".text", header: elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: codeAt, Off: 0, Size: codeBytes}},
		{name: ".note.gnu.build-id", data: note(4, uint32(len(buildID)), buildID), header: elf.Section64{Type: uint32(elf.SHT_NOTE), Flags: uint64(elf.SHF_ALLOC)}},
		{name: ".strtab", data: []byte("\x00victim\x00"), header: elf.Section64{Type: uint32(elf.SHT_STRTAB)}},
		{name: ".symtab", data: append(make([]byte, 24), symbol(1, codeAt+victimAt, 0x100)...), header: elf.Section64{Type: uint32(elf.SHT_SYMTAB), Link: 3, Info: 1, Entsize: 24}},
	}}
}

func symbol(name uint32, at, size uint64) []byte {
	return packed(&elf.Sym64{Name: name, Info: byte(elf.STT_FUNC), Shndx: 1, Value: at, Size: size})
}

// note is a build-id that claims these lengths.
func note(nameBytes, idBytes uint32, id []byte) []byte {
	return append(packed([]uint32{nameBytes, idBytes, 3}), append([]byte("GNU\x00"), id...)...)
}

func packed(of any) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, of) // a buffer takes everything
	return b.Bytes()
}

// section is the one of that name; it is made if there is none.
func (f *elfFile) section(name string) *elfSection {
	for i := range f.sections {
		if f.sections[i].name == name {
			return &f.sections[i]
		}
	}
	f.sections = append(f.sections, elfSection{name: name, header: elf.Section64{Type: uint32(elf.SHT_PROGBITS)}})
	return &f.sections[len(f.sections)-1]
}

// write writes the file.
func (f *elfFile) write(t testing.TB, name string) {
	t.Helper()
	body := make([]byte, codeBytes)
	names := []byte{0}
	headers := make([]elf.Section64, 0, len(f.sections)+1)
	all := append(f.sections[:len(f.sections):len(f.sections)], elfSection{name: ".shstrtab", header: elf.Section64{Type: uint32(elf.SHT_STRTAB)}})
	for i := range all {
		s := &all[i]
		h := s.header
		h.Name = uint32(len(names))
		names = append(append(names, s.name...), 0)
		if s.name == ".shstrtab" {
			s.data = names
		}
		if s.data != nil {
			h.Off, h.Size = uint64(len(body)), uint64(len(s.data))
			body = append(body, s.data...)
			body = append(body, make([]byte, 7-(len(body)+7)%8)...)
		}
		if s.lie != nil {
			s.lie(&h)
		}
		headers = append(headers, h)
	}
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Shoff: uint64(len(body)),
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1)}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	if f.header != nil {
		f.header(&h)
	}
	copy(body, packed(&h))
	copy(body[64:], packed(&elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: codeAt, Filesz: codeBytes, Memsz: codeBytes}))
	if err := os.WriteFile(name, append(body, packed(headers)...), 0o700); err != nil {
		t.Fatal(err)
	}
	if f.size > 0 {
		if err := os.Truncate(name, f.size); err != nil {
			t.Fatal(err)
		}
	}
}
