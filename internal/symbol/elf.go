package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	maxCodeSections = 4096
	maxSectionNames = 4 << 20
	maxNoteBytes    = 64 << 10
)

var (
	errNotELF  = errors.New("it is not an ELF file")
	errBuildID = errors.New("its build-id differs")
)

// File is one ELF file: a program, a library, a debug file or the image of the vDSO.
type File struct {
	r       io.ReaderAt
	size    uint64
	elf     *elf.File
	buildID []byte
	debug   *File // separate debug file with the symbols; nil: there is none
}

// Open reads the headers of an ELF file. The file is read through r as long as the File or its table is used.
func Open(r io.ReaderAt, size int64) (_ *File, err error) {
	defer RecoverTo(&err, "read an ELF file")
	e, err := openELF(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, size: uint64(size), elf: e}
	f.buildID = f.findBuildID()
	return f, nil
}

// ELF returns the file's headers.
func (f *File) ELF() *elf.File { return f.elf }

// openELF reads the headers of an ELF file with the standard library's reader, after checking that this takes bounded memory.
func openELF(r io.ReaderAt, size int64) (_ *elf.File, err error) {
	defer RecoverTo(&err, "read an ELF file")
	if size < 0 {
		return nil, errNotELF
	}
	if err := checkHeaders(r, uint64(size)); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, fmt.Errorf("read an ELF file: %w", err)
	}
	return f, nil
}

// RecoverTo, deferred, turns a panic into an error. The standard library's readers are documented as not made for hostile files.
func RecoverTo(err *error, doing string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: it is malformed (%v)", doing, r)
	}
}

// checkHeaders bounds what debug/elf will read: the numbers of segments and sections, and the sections' names, which it
// would inflate.
func checkHeaders(r io.ReaderAt, size uint64) error {
	var head [64]byte
	if n, _ := r.ReadAt(head[:], 0); n < 52 || !bytes.HasPrefix(head[:], []byte(elf.ELFMAG)) {
		return errNotELF
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	wide := elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64
	sections, tail := uint64(order.Uint32(head[32:])), head[42:]
	if wide {
		sections, tail = order.Uint64(head[40:]), head[54:]
	}
	segments, entry := order.Uint16(tail[2:]), uint64(order.Uint16(tail[4:]))
	count, nameIndex := order.Uint16(tail[6:]), uint64(order.Uint16(tail[8:]))
	if segments == 0xffff || count >= 0xff00 || sections != 0 && count == 0 || nameIndex >= 0xff00 {
		return errors.New("it has more than 65,279 sections or segments")
	}
	if count == 0 {
		return nil
	}
	at := sections + nameIndex*entry
	var header [64]byte
	if at < sections || at > size {
		return errors.New("its sections lie beyond its end")
	}
	if n, _ := r.ReadAt(header[:], int64(at)); n < 40 {
		return errors.New("its sections lie beyond its end")
	}
	flags, length := uint64(order.Uint32(header[8:])), uint64(order.Uint32(header[20:]))
	if wide {
		flags, length = order.Uint64(header[8:]), order.Uint64(header[32:])
	}
	if flags&uint64(elf.SHF_COMPRESSED) != 0 || length > maxSectionNames {
		return errors.New("its section names are compressed or too long")
	}
	return nil
}

// BuildID returns the contents of .note.gnu.build-id, nil if there is none.
func (f *File) BuildID() []byte { return f.buildID }

// Address returns the virtual address of an offset in the file. It fails if the offset is not mapped executable.
func (f *File) Address(offset uint64) (uint64, bool) {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && offset >= p.Off && offset-p.Off < p.Filesz {
			return p.Vaddr + (offset - p.Off), true
		}
	}
	return 0, false
}

// mapsCode reports whether the file has an executable segment with contents. Files made by objcopy --only-keep-debug have none.
func (f *File) mapsCode() bool {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Filesz > 0 {
			return true
		}
	}
	return false
}

// section reads the contents of a section as stored in the file, at most limit bytes.
func (f *File) section(name string, limit uint64) ([]byte, bool) {
	s := f.elf.Section(name)
	if s == nil || !f.holds(s) || s.FileSize > limit {
		return nil, false
	}
	return f.bytes(s.Offset, s.FileSize)
}

// holds reports whether the contents of a section are in the file and not compressed.
func (f *File) holds(s *elf.Section) bool {
	return s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL && s.Flags&elf.SHF_COMPRESSED == 0 &&
		s.Offset <= f.size && s.FileSize <= f.size-s.Offset
}

func (f *File) bytes(at, size uint64) ([]byte, bool) {
	if at > f.size || size > f.size-at {
		return nil, false
	}
	b := make([]byte, size)
	n, _ := f.r.ReadAt(b, int64(at))
	return b, n == len(b)
}

// findBuildID searches the notes, in segments first, as the kernel does (lib/buildid.c).
func (f *File) findBuildID() []byte {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_NOTE && p.Filesz <= maxNoteBytes {
			if id := f.buildIDIn(p.Off, p.Filesz, p.Align); id != nil {
				return id
			}
		}
	}
	for _, s := range f.elf.Sections {
		if s.Type == elf.SHT_NOTE && f.holds(s) && s.FileSize <= maxNoteBytes {
			if id := f.buildIDIn(s.Offset, s.FileSize, s.Addralign); id != nil {
				return id
			}
		}
	}
	return nil
}

func (f *File) buildIDIn(at, size, align uint64) []byte {
	notes, _ := f.bytes(at, size)
	return BuildIDIn(notes, f.elf.ByteOrder, align)
}
