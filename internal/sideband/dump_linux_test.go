package sideband

import (
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
