package sideband

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"wprof/internal/jitdump"
)

// TestFunctionsOfDumpsGetTimesOfTheRecording: not before their program, and never of another clock.
func TestFunctionsOfDumpsGetTimesOfTheRecording(t *testing.T) {
	const began, read, now = 100, 500, 900
	for _, c := range []struct {
		at   int64
		arch bool
		want int64
	}{{700, false, 700}, {50, false, began}, {1000, false, read}, {-1, false, read}, {700, true, read}} {
		d := newDumpSource(&Record{PID: 7, Inode: 3, Path: []byte("/tmp/jit-7.dump (deleted)")})
		d.reader, d.read, d.generation = &jitdump.Reader{ArchTime: c.arch}, read, 9
		r, ok := d.record(&jitdump.Code{Time: c.at, Address: 0x1000, Size: 0x10, Offset: 0x40, Index: 5}, began, now)
		if !ok || r.Time != c.want || r.Offset != 0x40 || r.Generation != 9 {
			t.Errorf("the time %d (clock of the processor: %v) gives %+v, want the time %d", c.at, c.arch, r, c.want)
		}
	}
}

// TestMovedFunctionsKeepTheirPlaceInTheDump.
func TestMovedFunctionsKeepTheirPlaceInTheDump(t *testing.T) {
	d := newDumpSource(&Record{PID: 7, Path: []byte("/tmp/jit-7.dump")})
	d.reader = new(jitdump.Reader)
	d.record(&jitdump.Code{Time: 1, Address: 0x1000, Size: 0x10, Offset: 0x40, Index: 5}, 0, 9)
	r, ok := d.record(&jitdump.Code{Time: 2, Address: 0x2000, Size: 0x80, Index: 5, Moved: true}, 0, 9)
	if !ok || r.Start != 0x2000 || r.Length != 0x10 || r.Offset != 0x40 {
		t.Errorf("the moved function is %+v", r)
	}
	if r, ok := d.record(&jitdump.Code{Time: 2, Address: 0x2000, Size: 0x80, Index: 6, Moved: true}, 0, 9); ok {
		t.Errorf("a function that is not in the dump is %+v", r)
	}
}

// TestDumpThatIsWrittenAnewIsReadFromItsBeginning as another one, at the same offsets.
func TestDumpThatIsWrittenAnewIsReadFromItsBeginning(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "jit-7.dump"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := newDumpSource(&Record{PID: 7, Inode: 3, Path: []byte("/tmp/jit-7.dump")})
	d.file = &Source{file: f}
	for _, c := range []struct {
		began, address uint64
		want           int
	}{{1, 0x1000, 1}, {1, 0x1000, 0}, {2, 0x2000, 1}, {2, 0x2000, 0}} {
		var b bytes.Buffer
		for _, n := range []any{
			uint32(0x4A695444), uint32(1), uint32(40), uint32(0), uint32(0), uint32(7), c.began, uint64(0), // struct jitheader
			uint32(0), uint32(16 + 40 + 2 + 1), uint64(5), uint32(7), uint32(7), c.address, c.address, uint64(1), uint64(0), uint16('f'), uint8(0xc3), // jr_code_load
		} {
			_ = binary.Write(&b, binary.LittleEndian, n)
		}
		if _, err := f.WriteAt(b.Bytes(), 0); err != nil {
			t.Fatal(err)
		}
		if d.reader == nil {
			if d.reader, err = jitdump.NewReader(d.file, int64(b.Len())); err != nil {
				t.Fatal(err)
			}
		}
		out, count, _ := d.readMore(nil, 0, nil, 10)
		var r Record
		if count != c.want {
			t.Fatalf("%d functions at %#x, want %d", count, c.address, c.want)
		} else if count == 0 {
			continue
		}
		if _, err := Next(out, &r); err != nil || r.Start != c.address || r.Count != c.began || r.Offset != 40+16+40+2 {
			t.Errorf("%v, %+v", err, r)
		}
	}
}
