package dwarfline

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// imageOf is an ELF file in memory; nil: it is none.
func imageOf(b []byte) (image *Image) {
	defer func() {
		if recover() != nil {
			image = nil
		}
	}()
	e, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return &Image{ELF: e, R: bytes.NewReader(b), Size: uint64(len(b)), Path: "/x"}
}

// exercise reads the lines of a program, with another file for all that it refers to.
func exercise(t *testing.T, program, other []byte) (found int) {
	image := imageOf(program)
	if image == nil {
		return 0
	}
	f, err := Open(image, Options{Open: func(string) (*Image, func(), error) {
		if image := imageOf(other); image != nil {
			return image, func() {}, nil
		}
		return nil, nil, os.ErrNotExist
	}})
	if err != nil {
		return 0
	}
	defer f.Close()
	var addresses []uint64
	for a := uint64(0x400000); a < 0x400200; a++ {
		addresses = append(addresses, a)
	}
	for range 2 {
		_ = f.Find(addresses, func(i int, line *Line) {
			found++
			if n := len(chainOf(line)); n == 0 || n > maxChain || i >= len(addresses) {
				t.Fatalf("address %d: got %d lines", i, n)
			}
		})
	}
	return found
}

// seeds are programs and what they refer to.
func seeds(t testing.TB) (list [][2][]byte) {
	for _, names := range [][2]string{{"dwarf4.elf", "dwarf5.elf"}, {"dwarf5.elf", "dwarf4.elf"}, {"split.elf", "split.dwo"}, {"split.elf", "split.dwp"}} {
		var pair [2][]byte
		for i, name := range names {
			var err error
			if pair[i], err = os.ReadFile(filepath.Join("testdata", name)); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, pair)
	}
	return list
}

func FuzzDWARF(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, program, other []byte) { exercise(t, program, other) })
}

// TestFlippedBytesDoNoHarm changes each byte of a program, and of what it refers to.
func TestFlippedBytesDoNoHarm(t *testing.T) {
	for _, s := range seeds(t) {
		if n := exercise(t, s[0], s[1]); n == 0 {
			t.Fatal("nothing is found in a file that is whole")
		}
		for _, b := range s {
			for i := range b {
				for _, flip := range []byte{0xff, 0x80, 0x01} {
					b[i] ^= flip
					exercise(t, s[0], s[1])
					b[i] ^= flip
				}
			}
		}
	}
}

// TestHugeClaimsTakeNoMemory writes huge numbers at each place of a file.
func TestHugeClaimsTakeNoMemory(t *testing.T) {
	for _, s := range seeds(t) {
		for at := 64; at+8 <= len(s[0]); at++ {
			for _, claim := range []uint64{1 << 62, 0x7fffffff, 0xffffffff0fffffff} {
				b := bytes.Clone(s[0])
				binary.LittleEndian.PutUint64(b[at:], claim)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				exercise(t, b, s[1])
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > 12<<20 { // debug/elf reads names of sections in pieces of 10 MiB
					t.Fatalf("%d bytes were allocated for %#x at %#x", took, claim, at)
				}
			}
		}
	}
}
