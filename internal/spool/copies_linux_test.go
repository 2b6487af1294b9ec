package spool

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
	"wprof/internal/sideband"
)

// randomBytes are the same in each run.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(b)
	return b
}

// copyParts copies a file's bytes in two parts with a hole between them.
func copyParts(t *testing.T, w *Writer, number uint16, file []byte, name *sideband.Record) *Copy {
	t.Helper()
	for _, part := range [][2]int{{len(file) - 1000, len(file)}, {0, 5000}, {5000, 8000}} {
		if err := w.CopyPiece(number, int64(part[0]), file[part[0]:part[1]]); err != nil {
			t.Fatal(err)
		}
	}
	done, err := w.CopyFile(number, int64(len(file)), name)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// checkCopy reads the parts that are there, over their borders, and the hole.
func checkCopy(t *testing.T, c *Copy, file []byte) {
	t.Helper()
	if c.Size() != int64(len(file)) {
		t.Errorf("a file of %d bytes, want %d", c.Size(), len(file))
	}
	b := make([]byte, 8000)
	for _, part := range [][2]int{{0, 8000}, {4990, 5010}, {len(file) - 1000, len(file)}, {len(file) - 1, len(file)}} {
		got := b[:part[1]-part[0]]
		if n, err := c.ReadAt(got, int64(part[0])); n != len(got) || err != nil || !bytes.Equal(got, file[part[0]:part[1]]) {
			t.Errorf("bytes %v: %d, %v", part, n, err)
		}
	}
	if n, err := c.ReadAt(b[:100], 7950); n != 50 || err != errNotCopied {
		t.Errorf("into the hole: %d, %v", n, err)
	}
	if n, err := c.ReadAt(b[:100], int64(len(file))-10); n != 10 || err != io.EOF {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if n, err := c.ReadAt(b[:100], int64(len(file))); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
}

func beginSpool(t *testing.T) (w *Writer, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.part")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.Begin(Header{Session: &format.Session{Id: 1}, Rings: 1}); err != nil {
		t.Fatal(err)
	}
	return w, path
}

func endRound(t *testing.T, w *Writer, at int64) {
	t.Helper()
	if err := w.Round(Round{Time: at, Producer: []uint64{0}, Drained: []uint64{0}}); err != nil {
		t.Fatal(err)
	}
}

func TestCopiesAreFoundInACutSpool(t *testing.T) {
	w, path := beginSpool(t)
	file, other := randomBytes(100_000), bytes.Repeat([]byte("other "), 5000)
	byBuild := &sideband.Record{Kind: sideband.KindMap, Path: []byte("/gone"), BuildID: []byte("build")}
	byFile := &sideband.Record{Kind: sideband.KindMap, Path: []byte("/old"), Device: 1, Inode: 2, Generation: 3}
	checkCopy(t, copyParts(t, w, 1, file, byBuild), file)
	endRound(t, w, 1000)
	checkCopy(t, copyParts(t, w, 2, other, byFile), other)
	if err := w.CopyPiece(3, 0, other[:10]); err != nil { // never ended
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []struct {
		path string
		m    *format.Module
		file []byte
	}{
		{"/gone", &format.Module{BuildId: []byte("build")}, file},
		{"/elsewhere", &format.Module{BuildId: []byte("build")}, file},
		{"/gone", &format.Module{BuildId: []byte("another")}, nil},
		{"/old", &format.Module{Device: 1, Inode: 2, Generation: 3}, other},
		{"/old", &format.Module{Device: 1, Inode: 2, Generation: 4}, nil},
	} {
		want.m.Kind, want.m.Path = uint32(format.ModuleKind_MODULE_FILE), []byte(want.path)
		c, ok := s.Copy(want.m)
		if ok != (want.file != nil) {
			t.Errorf("%s %+v: %t", want.path, want.m, ok)
		}
		if ok {
			checkCopy(t, c, want.file)
		}
	}
}

func TestDamagedCopiesAreNotUsed(t *testing.T) {
	w, path := beginSpool(t)
	file := randomBytes(100_000)
	damaged := &sideband.Record{Kind: sideband.KindMap, Path: []byte("/gone"), BuildID: []byte("build")}
	c := copyParts(t, w, 2, file, damaged)
	endRound(t, w, 1000)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("damage"), c.pieces[1].at+100); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, ok := s.Copy(moduleNamed(damaged)); ok {
		t.Error("a copy with damage in it is used")
	}
}
