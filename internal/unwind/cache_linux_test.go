package unwind

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// cachedLibrary is a file of this machine with a table, and its size.
func cachedLibrary(t *testing.T) (*os.File, int64) {
	t.Helper()
	f, err := os.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return f, info.Size()
}

func mustBuild(t *testing.T, c Cache) *Table {
	t.Helper()
	f, size := cachedLibrary(t)
	table, _, err := c.Build(f, size)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// emptyCache is in a folder that OpenCache makes.
func emptyCache(t *testing.T) Cache {
	t.Helper()
	c, err := OpenCache(filepath.Join(t.TempDir(), "of", "own"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A table comes back from the cache as it was made; a file that is damaged or cut is made again.
func TestCacheKeepsTables(t *testing.T) {
	c := emptyCache(t)
	made := mustBuild(t, Cache{})
	if got := mustBuild(t, c); !reflect.DeepEqual(got, made) {
		t.Error("the table that is made for the cache differs")
	}
	files := cacheFiles(t, c.dir)
	if len(files) != 1 {
		t.Fatalf("the cache has %d files, want 1", len(files))
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(files[0])
	if got := c.Load(name); !reflect.DeepEqual(got, made) {
		t.Error("the table in the cache differs")
	}
	for _, damage := range [][]byte{nil, whole[:len(whole)-1], append(bytes.Clone(whole), 0), flipped(whole, len(whole)/2), flipped(whole, 3)} {
		if err := os.WriteFile(files[0], damage, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.Load(name) != nil {
			t.Errorf("a damaged file of %d bytes is a table", len(damage))
		}
		if got := mustBuild(t, c); !reflect.DeepEqual(got, made) {
			t.Error("the table that is made again differs")
		}
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// Tables that were not used for the longest time leave.
func TestCacheIsBounded(t *testing.T) {
	c := emptyCache(t)
	for i, name := range []string{"old", "new"} {
		path := filepath.Join(c.dir, name+cacheSuffix)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, maxCacheBytes/4*3-1<<20); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-2) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	mustBuild(t, c)
	files := cacheFiles(t, c.dir)
	for _, path := range files {
		if filepath.Base(path) == "old"+cacheSuffix {
			t.Error("the older file is still there")
		}
	}
	if len(files) != 2 {
		t.Errorf("the cache has %v, want the newer file and the table", files)
	}
}

// The index is of one boot, as the numbers of devices are.
func TestIndexOfFiles(t *testing.T) {
	c := emptyCache(t)
	all := make([]Stored, maxStored+1)
	for i := range all {
		all[i] = Stored{Device: 1 << 31, Inode: uint64(i), Changed: 1 << 63, Python: i%2 == 0, Name: "a.table"}
	}
	if err := c.KeepFiles("boot", all); err != nil {
		t.Fatal(err)
	}
	if got := c.Files("boot"); !reflect.DeepEqual(got, all[:maxStored]) {
		t.Errorf("%d files come back, want the first %d as they were", len(got), maxStored)
	}
	if got := c.Files("another"); got != nil {
		t.Errorf("%d files of another boot come back", len(got))
	}
	if err := os.WriteFile(filepath.Join(c.dir, indexName), []byte("boot\n1 2 3 false ../a.table\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.Files("boot"); got != nil {
		t.Errorf("a table in another folder is one of the cache: %v", got)
	}
}

func TestCacheOfOthersIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(dir); err == nil {
		t.Error("a folder to which everybody may write is used")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(&Table{Rules: []Rule{{}}, Pages: []uint32{0, 1}, Rows: []uint32{0}}))
	f.Add([]byte(cacheVersion))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := decode(data)
		if err != nil {
			return
		}
		for offset := uint64(table.First) << PageBits; offset < uint64(int(table.First)+len(table.Pages))<<PageBits; offset += 64 {
			table.Rule(offset)
		}
	})
}

func TestStoredFilesBySize(t *testing.T) {
	dir := t.TempDir()
	all := []Stored{{Name: "large"}, {Name: "small"}, {Name: "gone"}}
	for name, size := range map[string]int{"large": 100, "small": 1} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range (Cache{dir}).BySize(all) {
		got = append(got, s.Name)
	}
	if want := []string{"gone", "small", "large"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
