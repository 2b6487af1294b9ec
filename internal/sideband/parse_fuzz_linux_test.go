package sideband

import "testing"

// FuzzMapsLine reads lines of /proc/PID/maps, whose paths a process chooses.
func FuzzMapsLine(f *testing.F) {
	f.Add([]byte("55d0c0a00000-55d0c0a21000 r-xp 00002000 fd:01 1311 /usr/bin/worker"))
	f.Add([]byte("7ffd0-7ffe0 r-xp 00000000 00:00 0 [vdso]"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r := Record{Kind: KindMap}
		if !parseLine(line, &r) {
			return
		}
		if r.Start+r.Length <= r.Start {
			t.Fatalf("a mapping of %#x bytes at %#x", r.Length, r.Start)
		}
		var back Record
		if n, err := Next(Append(nil, &r), &back); err != nil || n == 0 {
			t.Fatal(err)
		}
	})
}

// FuzzPerfRecord reads records of perf, which have names chosen by programs.
func FuzzPerfRecord(f *testing.F) {
	f.Add(uint32(10), uint16(1<<14), make([]byte, 120))
	f.Add(uint32(10), uint16(0), make([]byte, 120))
	f.Add(uint32(3), uint16(1<<13), make([]byte, 48))
	f.Fuzz(func(t *testing.T, typ uint32, misc uint16, b []byte) {
		var r Record
		if !parse(typ, misc, b, 0, &r) {
			return
		}
		var back Record
		if n, err := Next(Append(nil, &r), &back); err != nil || n == 0 {
			t.Fatal(err)
		}
	})
}
