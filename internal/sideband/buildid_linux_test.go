package sideband

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildIDOfASectionIsFound: Go's linker puts it into no segment of notes.
func TestBuildIDOfASectionIsFound(t *testing.T) {
	want := bytes.Repeat([]byte{0xab}, 20)
	path := filepath.Join(t.TempDir(), "program")
	build(t, path, "int main(void) { return 0; }", "-Wl,--build-id=0x"+strings.Repeat("ab", 20))
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := readBuildID(bytes.NewReader(image)); err != nil || !bytes.Equal(id, want) {
		t.Errorf("%x, %v", id, err)
	}
	// e_phoff and e_phnum of struct elf64_hdr, p_type of struct elf64_phdr in include/uapi/linux/elf.h.
	headers := image[binary.LittleEndian.Uint64(image[32:]):]
	for i := range int(binary.LittleEndian.Uint16(image[56:])) {
		if kind := headers[56*i:]; binary.LittleEndian.Uint32(kind) == ptNote {
			clear(kind[:4])
		}
	}
	if id, err := readBuildID(bytes.NewReader(image)); err != nil || !bytes.Equal(id, want) {
		t.Errorf("without segments of notes: %x, %v", id, err)
	}
}
