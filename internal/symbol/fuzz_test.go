package symbol

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exercise calls everything that reads an ELF file.
func exercise(t *testing.T, image []byte) {
	f, err := Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return
	}
	f.BuildID()
	f.debugLink()
	f.debugFiles("/bin/x", true, []string{"/debug"})
	for offset := uint64(0); offset < uint64(len(image)); offset += 512 {
		f.Address(offset)
	}
	if g := f.goLines(); g != nil {
		var addresses []uint64
		for i := range uint64(64) {
			addresses = append(addresses, g.text+i*8)
		}
		_ = g.find(addresses, func(i int, line *Line) {
			n := 0
			for l := line; l != nil; l = l.Outer {
				n++
			}
			if n == 0 || n > maxGoInlined {
				t.Fatalf("got %d lines at %#x", n, addresses[i])
			}
		})
	}
	table, err := f.Table()
	if err != nil {
		return
	}
	checkTable(t, table)
}

// checkTable checks the invariants of a table.
func checkTable(t *testing.T, table *Table) {
	t.Helper()
	for i := range table.starts {
		if i > 0 && table.starts[i] <= table.starts[i-1] {
			t.Fatalf("piece %d begins at %#x, the one before at %#x", i, table.starts[i], table.starts[i-1])
		}
		start, size := table.span(i)
		if address := table.starts[i]; address-start >= size {
			t.Fatalf("piece %d begins at %#x, outside its function at %#x of %d bytes", i, address, start, size)
		}
		if i < 1000 {
			if s, ok := table.Lookup(table.starts[i]); ok && (s.Start != start || len(s.Name) > maxNameBytes) {
				t.Fatalf("got %+v, want the function at %#x", s, start)
			}
			table.Lookup(table.starts[i] - 1)
		}
	}
}

func FuzzELF(f *testing.F) {
	for _, name := range []string{"mini.elf", "go.elf"} {
		seed, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(exercise)
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("1000 100 a\n1040 20 b c\n0x2000 10 d"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if table, err := parsePerfMap(bytes.NewReader(text)); err == nil {
			checkTable(t, table)
		}
	})
}

func FuzzKallsyms(f *testing.F) {
	f.Add([]byte(kallsymsText), []byte(modulesText))
	f.Fuzz(func(t *testing.T, kallsyms, modules []byte) {
		list, err := ParseModules(bytes.NewReader(modules))
		if err != nil {
			t.Fatal(err)
		}
		k, err := parseKallsyms(bytes.NewReader(kallsyms), list)
		if err != nil {
			return
		}
		for _, m := range k.modules {
			if m.End <= m.Base {
				t.Fatalf("got %+v", m)
			}
			checkTable(t, k.Table(m.Name))
		}
	})
}

// FuzzModules reads /proc/modules, which a spool contains.
func FuzzModules(f *testing.F) {
	f.Add([]byte(modulesText))
	f.Add([]byte("m 18446744073709551615 0 - Live 0xffffffffc0000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ParseModules(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if m.End < m.Base || m.Base == 0 {
				t.Fatalf("got %+v", m)
			}
		}
	})
}

func FuzzXZ(f *testing.F) {
	seed, err := os.ReadFile("testdata/mini.elf")
	if err != nil {
		f.Fatal(err)
	}
	at := bytes.Index(seed, []byte("\xfd7zXZ"))
	f.Add(seed[at:])
	f.Fuzz(func(t *testing.T, packed []byte) {
		if out, err := inflateXZ(packed, 1<<20); err == nil && len(out) > 1<<20 {
			t.Fatalf("got %d bytes", len(out))
		}
	})
}

func FuzzDemangle(f *testing.F) {
	f.Add("_ZNSt6vectorIiSaIiEE9push_backERKi")
	f.Add("_RNvC6_123foo3bar")
	f.Add("_Z1fIiEDTcl1gfp_EET_")
	f.Add("$s4main3fooyyxlFSi_Tg5")
	f.Add("_D4test__T3fooTiZQhFiZi")
	f.Fuzz(func(t *testing.T, name string) {
		for _, form := range []Form{DefaultForm, ShortForm, FullForm} {
			if got := Demangle(name, form); len(got) > 1<<maxDemangledPower && got != name {
				t.Fatalf("got %d bytes", len(got))
			}
		}
	})
}

// TestFlippedBytesDoNoHarm changes each byte of two files.
func TestFlippedBytesDoNoHarm(t *testing.T) {
	for _, name := range []string{"mini.elf", "go.elf"} {
		seed, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, len(seed)/3000)
		for i := 0; i < len(seed); i += step {
			for _, flip := range []byte{0xff, 0x80} {
				seed[i] ^= flip
				exercise(t, seed)
				seed[i] ^= flip
			}
		}
		for cut := 0; cut < len(seed); cut += step * 16 {
			exercise(t, seed[:cut])
		}
	}
}

// TestHugeClaimsAllocateNothing reads a file that claims more of everything than it contains.
func TestHugeClaimsAllocateNothing(t *testing.T) {
	seed, err := os.ReadFile("testdata/mini.elf")
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at+8 <= 64; at++ {
		for _, claim := range []uint64{1 << 62, 1<<63 - 1, ^uint64(0), 0xffff, 0xffffffff} {
			changed := bytes.Clone(seed)
			binary.LittleEndian.PutUint64(changed[at:], claim)
			exercise(t, changed)
		}
	}
	sections := binary.LittleEndian.Uint64(seed[40:])
	for at := int(sections); at+8 <= len(seed); at += 4 {
		changed := bytes.Clone(seed)
		binary.LittleEndian.PutUint64(changed[at:], 1<<62)
		got := testing.AllocsPerRun(1, func() { exercise(t, changed) })
		if got > 1e5 {
			t.Fatalf("%d allocations for a section header changed at %#x", int(got), at)
		}
	}
}

func TestXZWithAHugeDictionaryIsRefused(t *testing.T) {
	packed := []byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46" + "\x02\x00\x21\x01\x28\x00\x00\x00\x00\x00\x00\x00")
	if _, err := inflateXZ(packed, 1<<20); err == nil || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("got %v", err)
	}
}
