package symbol

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"wprof/format"
)

func TestPerfMapLaterLineReplacesEarlier(t *testing.T) {
	table, err := parsePerfMap(strings.NewReader("1000 100 LazyCompile:~a file.js:1:2\n1100 80 b\n1040 20 inner\n0x2000 10 c\n1100 40 B again\n" +
		"nonsense\n3000 0 empty\nffffffffffffffff 10 over\n4000 10\n5000 10 cut"))
	if err != nil {
		t.Fatal(err)
	}
	checkNames(t, table, map[uint64]string{0xfff: "", 0x1000: "LazyCompile:~a file.js:1:2", 0x1040: "inner", 0x1060: "LazyCompile:~a file.js:1:2",
		0x1100: "B again", 0x1140: "b", 0x1180: "", 0x2000: "c", 0x3000: "", 0x4000: "", 0x5000: "cut"})
}

func TestPerfMapWithoutLinesHasNoSymbols(t *testing.T) {
	if _, err := parsePerfMap(strings.NewReader("hello\n" + strings.Repeat("x", 3*maxLineBytes) + "\n")); !errors.Is(err, errNoSymbols) {
		t.Errorf("got %v", err)
	}
}

// zeros is a sparse file that consists of a hole.
type zeros struct{ left, read int64 }

func (z *zeros) Read(b []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), z.left)
	clear(b[:n])
	z.left -= n
	z.read += n
	return int(n), nil
}

// TestPerfMapsOfAllProcessesAreBounded: the cost of all map files together is bounded, for any size of each, and it is
// reported that some were not read to the end.
func TestPerfMapsOfAllProcessesAreBounded(t *testing.T) {
	const files = 30
	var read int64
	r := NewResolver(Options{PerfMap: func(m *format.Module) (io.ReadCloser, error) {
		z := &zeros{left: 1 << 30}
		return countedCloser{io.MultiReader(strings.NewReader("1000 100 first\n"), z), func() { read += z.read }}, nil
	}})
	r.maps.time = time.Hour
	defer r.Close()
	named, out := 0, make([]Name, 1)
	for i := range files {
		m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte{'0' + byte(i)}}
		if err := r.Names(m, []Address{{Offset: 0x1000}}, out); err != nil {
			t.Fatal(err)
		}
		if out[0].OK {
			named++
		} else if r.Why(m) != errBudget.Error() {
			t.Fatalf("no name, because %q", r.Why(m))
		}
	}
	if read > 2*mapsBytes || named < mapsBytes/maxPerfMapBytes {
		t.Errorf("%d MiB were read, %d of %d maps have names", read>>20, named, files)
	}
	if text := r.MapsCut(); !strings.Contains(text, "(30 were not read") {
		t.Errorf("it says %q", text)
	}
	// The time is shared too.
	r.maps = mapBudget{bytes: mapsBytes, refilled: time.Now().Add(time.Hour)}
	m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte("late")}
	if err := r.Names(m, []Address{{Offset: 0x1000}}, out); err != nil || out[0].OK || r.maps.cut != 1 {
		t.Errorf("after the time for all maps has passed, one is read: %v, %v", out, err)
	}
}

// TestMapsAreReadForASecondAfterASignal, whether it came before a file was begun or while one is read that has no end.
func TestMapsAreReadForASecondAfterASignal(t *testing.T) {
	for _, before := range []bool{true, false} {
		signalled := make(chan struct{})
		if before {
			close(signalled)
		}
		r := NewResolver(Options{Signalled: signalled, PerfMap: func(m *format.Module) (io.ReadCloser, error) {
			if string(m.Path) == "short" {
				return io.NopCloser(strings.NewReader("1000 100 short\n")), nil
			}
			return io.NopCloser(io.MultiReader(strings.NewReader("1000 100 first\n"), &endless{func() {
				if !before {
					close(signalled)
				}
			}})), nil
		}})
		r.maps.bytes = 1 << 62
		out := make([]Name, 1)
		names := func(path string) bool {
			m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte(path)}
			if err := r.Names(m, []Address{{Offset: 0x1000}}, out); err != nil {
				t.Fatal(err)
			}
			return out[0].OK
		}
		if !names("short") || !names("endless") {
			t.Errorf("before %v: maps that a second is enough to begin with give no names", before)
		}
		if names("late") {
			t.Errorf("before %v: a map is read after the second", before)
		}
		if text := r.MapsCut(); !strings.Contains(text, "after the signal") || !strings.Contains(text, "(2 were not") {
			t.Errorf("before %v: it says %q", before, text)
		}
		r.Close()
	}
}

// endless is a map file without end, of which each line takes 1 ms.
type endless struct{ first func() }

func (e *endless) Read(b []byte) (int, error) {
	if e.first != nil {
		e.first()
		e.first = nil
	}
	time.Sleep(time.Millisecond)
	return copy(b, "2000 10 x\n"), nil
}

type countedCloser struct {
	io.Reader
	done func()
}

func (c countedCloser) Close() error {
	c.done()
	return nil
}
