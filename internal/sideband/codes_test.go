package sideband

import (
	"fmt"
	"testing"
)

// where names the module and the offset of an address.
func where(t *Tables, pid uint32, address uint64) string {
	m, offset := t.Resolve(pid, address)
	if m == nil {
		return "nowhere"
	}
	return fmt.Sprintf("%s+%x", m.Path, offset)
}

func codeAt(time int64, pid uint32, from, to, offset uint64) *Record {
	return &Record{Kind: KindCode, Time: time, PID: pid, Start: from, Length: to - from, Offset: offset, Inode: 3, Path: []byte("/jit-1.dump")}
}

func TestGeneratedFunctionsReplaceEarlierOnes(t *testing.T) {
	tables := NewTables()
	tables.Apply(&Record{Kind: KindMap, Time: 1, PID: 1, Start: 0x10000, Length: 0x10000, Path: []byte("//anon")})
	tables.Apply(&Record{Kind: KindMap, Time: 1, PID: 1, Start: 0x20000, Length: 0x10000, Path: []byte("/lib/file.so"), Inode: 2})
	version := tables.Version(1)
	tables.Apply(codeAt(2, 1, 0x10ff0, 0x12010, 0x100)) // over two pages
	tables.Apply(codeAt(3, 1, 0x11000, 0x11008, 0x200))
	tables.Apply(codeAt(4, 1, 0x20000, 0x20008, 0x300)) // where a file is mapped
	tables.Apply(codeAt(5, 1, 0xfffffffffffff000, 0x800, 0x400))
	if tables.Version(1) == version {
		t.Error("the version stays the same")
	}
	for address, want := range map[uint64]string{
		0x10fef: "//anon+10fef", 0x10ff0: "/jit-1.dump+100", 0x10fff: "/jit-1.dump+10f", 0x11000: "/jit-1.dump+200", 0x11007: "/jit-1.dump+207",
		0x11008: "/jit-1.dump+118", 0x1200f: "/jit-1.dump+111f", 0x12010: "//anon+12010", 0x20000: "/lib/file.so+0",
	} {
		if got := where(tables, 1, address); got != want {
			t.Errorf("%#x is at %s, want %s", address, got, want)
		}
	}
}

// TestForkedProcessHasGeneratedFunctions of its parent, until its exec.
func TestForkedProcessHasGeneratedFunctions(t *testing.T) {
	tables := NewTables()
	tables.Apply(&Record{Kind: KindMap, Time: 1, PID: 1, Start: 0x10000, Length: 0x10000, Path: []byte("//anon")})
	tables.Apply(codeAt(2, 1, 0x10000, 0x10010, 0x100))
	tables.Apply(&Record{Kind: KindFork, Time: 3, PID: 2, Parent: 1})
	if got := where(tables, 2, 0x10001); got != "/jit-1.dump+101" {
		t.Errorf("after the fork it is at %s", got)
	}
	for _, pid := range []uint32{1, 2} {
		tables.Apply(&Record{Kind: KindExec, Time: 4, PID: pid})
		tables.Apply(codeAt(2, pid, 0x10000, 0x10010, 0x100)) // of the program before
		if got := where(tables, pid, 0x10001); got != "nowhere" {
			t.Errorf("after the exec of process %d it is at %s", pid, got)
		}
	}
	if tables.codePages != 0 {
		t.Errorf("%d pages are in use when no process has generated code", tables.codePages)
	}
}

// TestForkedProcessWithItsOwnDump keeps its parent's functions, and neither sees what the other generates afterwards.
func TestForkedProcessWithItsOwnDump(t *testing.T) {
	tables := NewTables()
	tables.Apply(codeAt(2, 1, 0x10000, 0x10010, 0x100))
	tables.Apply(&Record{Kind: KindFork, Time: 3, PID: 2, Parent: 1})
	version := tables.Version(2)
	tables.Apply(codeAt(4, 1, 0x10010, 0x10020, 0x200)) // listed in the same dump
	if got := where(tables, 2, 0x10010); got != "/jit-1.dump+200" || tables.Version(2) == version {
		t.Errorf("%s, version %d after %d", got, tables.Version(2), version)
	}
	tables.Apply(codeAt(5, 2, 0x10008, 0x10010, 0x300))
	tables.Apply(codeAt(6, 1, 0x10020, 0x10030, 0x400))
	for _, c := range []struct {
		pid     uint32
		address uint64
		want    string
	}{
		{1, 0x10000, "/jit-1.dump+100"}, {1, 0x10008, "/jit-1.dump+108"}, {1, 0x10020, "/jit-1.dump+400"},
		{2, 0x10000, "/jit-1.dump+100"}, {2, 0x10008, "/jit-1.dump+300"}, {2, 0x10010, "/jit-1.dump+200"}, {2, 0x10020, "nowhere"},
	} {
		if got := where(tables, c.pid, c.address); got != c.want {
			t.Errorf("%#x of process %d is at %s, want %s", c.address, c.pid, got, c.want)
		}
	}
	for pid := range uint32(2) {
		tables.Apply(&Record{Kind: KindExec, Time: 7, PID: pid + 1})
	}
	if tables.codePages != 0 {
		t.Errorf("%d pages are in use when no process has generated code", tables.codePages)
	}
}

// TestGeneratedFunctionsAreBounded in the pages that they take.
func TestGeneratedFunctionsAreBounded(t *testing.T) {
	tables := NewTables()
	const length = 16 << 20
	for i := range uint64(400) {
		tables.Apply(codeAt(2, 1, i*length, (i+1)*length, 0x100))
	}
	tables.Apply(&Record{Kind: KindFork, Time: 3, PID: 2, Parent: 1})
	tables.Apply(codeAt(4, 2, 0, 16, 0x200)) // its own dump
	if tables.codePages != maxCodePages {
		t.Errorf("%d pages, want %d", tables.codePages, maxCodePages)
	}
}

// TestCodeThatIsMappedTwiceHasAMapFile, and a program that runs from a memfd is a file.
func TestCodeThatIsMappedTwiceHasAMapFile(t *testing.T) {
	tables := NewTables()
	for i, path := range []string{"/memfd:doublemapper (deleted)", "/memfd:vmem (deleted)", "/memfd:program (deleted)"} {
		tables.Apply(&Record{Kind: KindMap, Time: 1, PID: 1, Start: uint64(i+1) << 16, Length: 0x10000, Path: []byte(path), Inode: 2})
	}
	tables.Apply(&Record{Kind: KindJIT, Time: 1, PID: 1})
	for address, want := range map[uint64]string{0x10010: "/tmp/perf-1.map+10010", 0x20010: "/tmp/perf-1.map+20010", 0x30010: "/memfd:program+10"} {
		if got := where(tables, 1, address); got != want {
			t.Errorf("%#x is at %s, want %s", address, got, want)
		}
	}
}
