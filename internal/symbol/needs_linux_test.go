package symbol

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// partial is a file with only some of its extents.
type partial struct {
	image []byte
	has   []Extent
}

func (p partial) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(p.image)) {
		return 0, io.EOF
	}
	for _, e := range p.has {
		if at >= e.Offset && at < e.Offset+e.Length {
			n := copy(b, p.image[at:e.Offset+e.Length])
			if n < len(b) {
				return n, errors.New("not copied")
			}
			return n, nil
		}
	}
	return 0, errors.New("not copied")
}

// everythingIn is everything that a file names.
func everythingIn(r io.ReaderAt, size int64) (all []Symbol, id []byte, why error) {
	f, err := Open(r, size)
	if err != nil {
		return nil, nil, err
	}
	table, err := f.Table()
	if err != nil {
		return nil, f.BuildID(), err
	}
	for _, start := range table.starts {
		if s, ok := table.Lookup(start); ok {
			all = append(all, s)
		}
	}
	return all, f.BuildID(), nil
}

func sameNames(t *testing.T, image []byte, limit int64) (kept int64) {
	t.Helper()
	needs, err := Needs(bytes.NewReader(image), int64(len(image)), limit)
	if err != nil {
		return 0
	}
	for i, e := range needs {
		if e.Length <= 0 || e.Offset < 0 || e.Offset+e.Length > int64(len(image)) || i > 0 && e.Offset <= needs[i-1].Offset+needs[i-1].Length {
			t.Fatalf("extents %v of a file of %d bytes", needs, len(image))
		}
	}
	want, wantID, wantWhy := everythingIn(bytes.NewReader(image), int64(len(image)))
	got, gotID, why := everythingIn(partial{image, needs}, int64(len(image)))
	if !bytes.Equal(wantID, gotID) || !reflect.DeepEqual(want, got) || (wantWhy == nil) != (why == nil) {
		t.Fatalf("with what is needed alone: %d functions, build-id %x, %v; want %d, %x, %v", len(got), gotID, why, len(want), wantID, wantWhy)
	}
	return length(needs)
}

// TestNeedsAreEnough names everything in programs of all kinds with the parts alone that are needed.
func TestNeedsAreEnough(t *testing.T) {
	for name, build := range map[string]func(testing.TB) string{
		"C":              func(t testing.TB) string { return buildC(t, "program.c") },
		"C static":       func(t testing.TB) string { return buildC(t, "program.c", "-static") },
		"C stripped":     func(t testing.TB) string { return buildC(t, "program.c", "-s", "-rdynamic") },
		"C++ compressed": func(t testing.TB) string { return buildC(t, "program.cc", "-gz") },
		"Go":             func(t testing.TB) string { return buildGo(t, nil) },
		"Go stripped":    func(t testing.TB) string { return buildGo(t, nil, "-ldflags=-s -w") },
		"Go stripped PIE": func(t testing.TB) string {
			return buildGo(t, nil, "-buildmode=pie", "-ldflags=-s -w")
		},
		"text": func(t testing.TB) string {
			return copyFile(t, "programs_linux_test.go", filepath.Join(t.TempDir(), "x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image, err := os.ReadFile(build(t))
			if err != nil {
				t.Fatal(err)
			}
			kept := sameNames(t, image, 64<<20)
			t.Logf("%d bytes of %d", kept, len(image))
			if kept == 0 || kept > int64(len(image))*2/3 {
				t.Errorf("%d bytes of %d are needed", kept, len(image))
			}
		})
	}
}

// TestNeedsAreBounded: for a file with a large table nothing is listed, and little is read.
func TestNeedsAreBounded(t *testing.T) {
	image, err := os.ReadFile(buildC(t, "program.c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Needs(bytes.NewReader(image), int64(len(image)), 4<<10); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}

func FuzzNeeds(f *testing.F) {
	for _, name := range []string{"mini.elf", "go.elf"} {
		seed, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, image []byte) { sameNames(t, image, 1<<20) })
}
