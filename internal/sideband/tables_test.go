package sideband

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"wprof/format"
)

// TestTablesMatchAModelOfPages compares tables with a model of every page of every process.
func TestTablesMatchAModelOfPages(t *testing.T) {
	type page struct {
		module string
		offset uint64
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 300 {
		tables := NewTables()
		model := map[uint32]map[uint64]page{}
		for now := range 60 {
			r := Record{Time: int64(now), PID: uint32(1 + rng.IntN(4))}
			switch n := rng.IntN(20); {
			case n < 15:
				r.Kind = KindMap
				r.Start, r.Length, r.Offset = uint64(rng.IntN(40))<<12, uint64(1+rng.IntN(12))<<12, uint64(rng.IntN(8))<<12
				r.Inode = uint64(1 + rng.IntN(3))
				r.Path = fmt.Appendf(nil, "/file%d", r.Inode)
				if n == 0 {
					r.Path, r.Inode = []byte("//anon"), 0
				}
				if model[r.PID] == nil {
					model[r.PID] = map[uint64]page{}
				}
				for at := uint64(0); at < r.Length; at += 4096 {
					p := page{string(r.Path), r.Offset + at}
					if n == 0 {
						p.offset = r.Start + at
					}
					model[r.PID][r.Start+at] = p
				}
			case n < 17:
				r.Kind, r.Parent = KindFork, uint32(1+rng.IntN(4))
				if r.Parent == r.PID {
					continue
				}
				copied := map[uint64]page{}
				for at, p := range model[r.Parent] {
					copied[at] = p
				}
				model[r.PID] = copied
			default:
				r.Kind = KindExec
				delete(model, r.PID)
			}
			tables.Apply(&r)
			for pid := uint32(1); pid <= 4; pid++ {
				for at := uint64(0); at < 64<<12; at += 4096 {
					m, offset := tables.Resolve(pid, at+5)
					want, ok := model[pid][at]
					if ok != (m != nil) || ok && (string(m.Path) != want.module || offset != want.offset+5) {
						t.Fatalf("round %d, time %d: process %d, %#x: %v %#x, want %v", round, now, pid, at, m, offset, want)
					}
				}
			}
		}
		total := 0
		seen := map[*space]bool{}
		for _, p := range tables.processes {
			if !seen[p.maps] {
				seen[p.maps] = true
				total += len(p.maps.maps)
			}
		}
		if total != tables.mappings {
			t.Fatalf("%d mappings are counted, there are %d", tables.mappings, total)
		}
	}
}

func TestBuildIDOfAFileIsKnownForItsMappings(t *testing.T) {
	tables := NewTables()
	for _, r := range []Record{
		{Kind: KindKept, Time: 1, Inode: 5, BuildID: []byte("abc")},
		{Kind: KindMap, Time: 1, PID: 7, Start: 4096, Length: 4096, Inode: 5, Path: []byte("/x")},
		{Kind: KindMap, Time: 2, PID: 8, Start: 8192, Length: 4096, BuildID: []byte("abc"), Path: []byte("/x (deleted)")},
		{Kind: KindMap, Time: 3, PID: 9, Start: 8192, Length: 4096, BuildID: []byte("abc"), Path: []byte("/y")},
	} {
		tables.Apply(&r)
	}
	a, _ := tables.Resolve(7, 4096)
	b, _ := tables.Resolve(8, 8192)
	if a == nil || a != b || string(a.BuildId) != "abc" {
		t.Errorf("one file is %v and %v", a, b)
	}
	// Another file may be the same code with its symbols.
	if c, _ := tables.Resolve(9, 8192); c == nil || c == a || string(c.BuildId) != "abc" || string(c.Path) != "/y" {
		t.Errorf("another file of that build-id is %v", c)
	}
}

func TestVersionChangesWithMappingsOnly(t *testing.T) {
	tables := NewTables()
	r := Record{Kind: KindMap, Time: 1, PID: 7, Start: 4096, Length: 8192, Inode: 5, Path: []byte("/x")}
	tables.Apply(&r)
	before := tables.Version(7)
	r.Time = 2
	tables.Apply(&r)
	if tables.Version(7) != before {
		t.Error("the same mapping again counts as a change")
	}
	r.Offset = 4096
	tables.Apply(&r)
	if tables.Version(7) == before {
		t.Error("another part of the file does not count as a change")
	}
}

func TestGeneratedCodeBecomesThatOfItsMap(t *testing.T) {
	tables := NewTables()
	for _, r := range []Record{
		{Kind: KindMap, Time: 1, PID: 7, Start: 4096, Length: 4096, Path: []byte("//anon")},
		{Kind: KindMap, Time: 2, PID: 7, Start: 8192, Length: 4096, Path: []byte("//anon")},
		{Kind: KindJIT, Time: 3, PID: 7},
		{Kind: KindMap, Time: 4, PID: 7, Start: 12288, Length: 4096, Path: []byte("//anon")},
	} {
		tables.Apply(&r)
	}
	for _, at := range []uint64{5000, 9000, 13000} {
		if m, offset := tables.Resolve(7, at); m == nil || m.Kind != uint32(format.ModuleKind_MODULE_JIT) || offset != at {
			t.Errorf("%d: %v, %d", at, m, offset)
		}
	}
	if n := len(tables.processes[7].maps.maps); n != 1 {
		t.Errorf("pieces that meet are %d mappings", n)
	}
}

// TestGeneratedCodeBelongsToOneProgram: exec and a reused id begin another program, whose map file is another one, and late
// records about the previous program do not change it.
func TestGeneratedCodeBelongsToOneProgram(t *testing.T) {
	tables := NewTables()
	var found []*format.Module
	begin := func(r Record) {
		r.PID = 7
		tables.Apply(&r)
		tables.Apply(&Record{Kind: KindMap, Time: r.Time + 1, PID: 7, Start: 4096, Length: 4096, Path: []byte("//anon")})
		tables.Apply(&Record{Kind: KindJIT, Time: r.Time - 8, PID: 7}) // of the program before
		if m, _ := tables.Resolve(7, 4096); m == nil || m.Kind != uint32(format.ModuleKind_MODULE_ANON) {
			t.Errorf("before its map file is found, generated code is %v", m)
		}
		tables.Apply(&Record{Kind: KindJIT, Time: r.Time + 1, PID: 7})
		m, _ := tables.Resolve(7, 4096)
		if m == nil || m.Kind != uint32(format.ModuleKind_MODULE_JIT) || slices.Contains(found, m) {
			t.Errorf("generated code is %v, before it was of %v", m, found)
		}
		found = append(found, m)
	}
	tables.Apply(&Record{Kind: KindMap, Time: 50, PID: 1, Start: 1 << 20, Length: 4096, Path: []byte("/x")})
	begin(Record{Kind: KindFork, Time: 100, Parent: 1})
	begin(Record{Kind: KindExec, Time: 200})
	begin(Record{Kind: KindFork, Time: 400, Parent: 1})
}

func TestEndedProcessesAreDroppedLater(t *testing.T) {
	tables := NewTables()
	for _, r := range []Record{
		{Kind: KindMap, Time: 1, PID: 7, Start: 4096, Length: 4096, Path: []byte("/x")},
		{Kind: KindExit, Time: 2, PID: 7},
	} {
		tables.Apply(&r)
	}
	ended := func(uint32) bool { return false }
	tables.DropEnded(ended)
	if m, _ := tables.Resolve(7, 4096); m == nil {
		t.Error("a process is dropped as it ends, and its last samples have no names")
	}
	tables.Apply(&Record{Kind: KindExec, Time: 3 + 2*grace, PID: 9})
	tables.DropEnded(func(pid uint32) bool { return pid == 7 })
	if m, _ := tables.Resolve(7, 4096); m == nil {
		t.Error("a process is dropped although a thread of it goes on")
	}
	tables.Apply(&Record{Kind: KindExec, Time: 4 + 4*grace, PID: 9})
	tables.DropEnded(ended)
	if m, _ := tables.Resolve(7, 4096); m != nil || tables.mappings != 0 {
		t.Error("a process that ended long ago is still known")
	}
}

func TestForksOfALargeProcessShareItsMappings(t *testing.T) {
	tables := NewTables()
	for i := range uint64(2000) {
		tables.Apply(&Record{Kind: KindMap, Time: 1, PID: 1, Start: i << 14, Length: 4096, Inode: i + 1, Path: []byte("/x")})
	}
	for pid := uint32(2); pid < 10_000; pid++ {
		tables.Apply(&Record{Kind: KindFork, Time: 2, PID: pid, Parent: 1})
	}
	if tables.mappings != 2000 {
		t.Errorf("%d mappings for ten thousand children of a process with 2000", tables.mappings)
	}
}

func BenchmarkResolve(b *testing.B) {
	tables := NewTables()
	for i := range uint64(50) {
		tables.Apply(&Record{Kind: KindMap, Time: 1, PID: 1, Start: i << 20, Length: 1 << 19, Inode: i + 1, Path: []byte("/x")})
	}
	i := uint64(0)
	for b.Loop() {
		i += 0x3777777
		tables.Resolve(1, i%(50<<20))
	}
}
