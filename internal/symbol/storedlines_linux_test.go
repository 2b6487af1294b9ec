package symbol

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"wprof/format"
)

// storedLinesOf returns the lines of a module as they are written.
func storedLinesOf(t testing.TB, r *Resolver, m *format.Module, offsets []uint64) []byte {
	t.Helper()
	var out bytes.Buffer
	if some, why, err := r.WriteLines(&out, m, offsets); !some || why != nil || err != nil {
		t.Fatal(some, why, err)
	}
	return out.Bytes()
}

// linesOf is a source that has the same lines for every build-id.
func linesOf(stored []byte) func([]byte) (io.Reader, error) {
	return func([]byte) (io.Reader, error) { return bytes.NewReader(stored), nil }
}

// chainsOf returns the chains of places; nil: a place has none.
func chainsOf(t testing.TB, r *Resolver, m *format.Module, at []Address) [][]Line {
	t.Helper()
	chains := make([][]Line, len(at))
	if err := r.Lines(m, at, func(i int, line *Line) { chains[i] = chainOf(line) }); err != nil {
		t.Fatal(err)
	}
	return chains
}

// TestStoredLinesAreTheSame compares places of a program with DWARF and of one with Go's table, in the forms of names.
func TestStoredLinesAreTheSame(t *testing.T) {
	for name, program := range map[string]string{"C++": buildLines(t), "Go": buildGo(t, nil, "-ldflags=-s -w -B gobuildid")} {
		t.Run(name, func(t *testing.T) {
			m := moduleOf(t, program)
			text := openFile(t, program).elf.Section(".text")
			var offsets []uint64
			var at []Address
			for offset := text.Offset; offset < text.Offset+min(text.Size, 400_000); offset += 3 {
				offsets = append(offsets, offset)
				at = append(at, Address{Offset: offset}, Address{Offset: offset + 1, Caller: true})
			}
			packed := storedLinesOf(t, newResolver(t, Options{}), m, offsets)
			functions := storedOf(t, newResolver(t, raw()), m)
			gone := &format.Module{Kind: m.Kind, Path: []byte("/gone"), BuildId: m.BuildId}
			for _, form := range []Form{DefaultForm, FullForm, RawForm} {
				want := chainsOf(t, newResolver(t, Options{Form: form}), m, at)
				there := newResolver(t, Options{Form: form, NoPaths: true, Functions: functionsOf(functions), Lines: linesOf(packed)})
				got := chainsOf(t, there, gone, at)
				inlined := 0
				for i := range at {
					if !reflect.DeepEqual(got[i], want[i]) {
						t.Fatalf("%+v: got %+v, want %+v", at[i], got[i], want[i])
					}
					if len(got[i]) > 1 {
						inlined++
					}
				}
				if inlined < len(at)/20 {
					t.Errorf("%d of %d places are of inlined functions", inlined, len(at))
				}
			}
			again := newResolver(t, Options{NoPaths: true, Functions: functionsOf(functions), Lines: linesOf(packed)})
			if !bytes.Equal(storedLinesOf(t, again, gone, offsets), packed) {
				t.Error("a copy differs")
			}
			t.Logf("%d bytes for %d places", len(packed), len(offsets))
		})
	}
}

// TestFilesLinesArePreferred: stored lines are for files without lines of their own.
func TestFilesLinesArePreferred(t *testing.T) {
	lines := buildLines(t)
	none := copyFile(t, lines, filepath.Join(t.TempDir(), "none"))
	run(t, "", needTool(t, "strip"), "--strip-debug", none)
	for program, want := range map[string]string{lines: "lines.cc", none: "stored"} {
		m := moduleOf(t, program)
		at := hotOffset(t, program)
		stored := packedPieces(int(at), 0, 1, 0, "f", 0, "stored", 7)
		got := chainsOf(t, newResolver(t, Options{Lines: linesOf([]byte(stored))}), m, []Address{{Offset: at}})[0]
		if len(got) == 0 || filepath.Base(got[0].File) != want {
			t.Errorf("%s: got %+v, want %s", program, got, want)
		}
	}
}

// hotOffset is where main begins in a file.
func hotOffset(t *testing.T, program string) uint64 {
	f := openFile(t, program)
	symbols, err := f.elf.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "main" {
			for _, p := range f.elf.Progs {
				if s.Value >= p.Vaddr && s.Value-p.Vaddr < p.Filesz {
					return s.Value - p.Vaddr + p.Off
				}
			}
		}
	}
	t.Fatal("there is no main")
	return 0
}

func TestMalformedStoredLinesAreReported(t *testing.T) {
	deep := []any{16, 0, maxStoredChain, 0, "f", 0, "g", 7}
	for range maxStoredChain - 1 {
		deep = append(deep, 1, 2, 7)
	}
	for name, c := range map[string]struct {
		packed string
		visits int
		err    error
	}{
		"sound":                    {packedPieces(16, 0, 1, 0, "f", 0, "g", 7, 4, 1, 1, 1, 2, 8), 2, nil},
		"the line before":          {packedPieces(16, 0, 1, 0, "f", 0, "g", 7, 4, 1, 0), 2, nil},
		"as deep as it may be":     {packedPieces(deep...), 1, nil},
		"deeper":                   {packedPieces(append(deep, 4, 1, 1, 1, 2, 7)...), 1, errStoredLines},
		"empty":                    {packedPieces(), 0, nil},
		"no line":                  {packedPieces(16, 0, 0), 0, errStoredLines},
		"a line that is not there": {packedPieces(16, 1, 0), 0, errStoredLines},
		"a text that is not there": {packedPieces(16, 0, 1, 1, 1, 7), 0, errStoredLines},
		"long text":                {packedPieces(16, 0, 1, 0, strings.Repeat("f", maxNameBytes+1), 1, 7), 0, errStoredLines},
		"large line":               {packedPieces(16, 0, 1, 0, "f", 1, math.MaxUint32+1), 0, errStoredLines},
		"the same place":           {packedPieces(16, 0, 1, 0, "f", 1, 7, 0, 1, 0), 1, errStoredLines},
		"beyond all files":         {packedPieces(16, 0, 1, 0, "f", 1, 7, 1<<62, 1, 0), 1, errStoredLines},
		"cut":                      {packedPieces(16, 0, 1, 0, "f", 1), 0, errStoredLines},
		"cut text":                 {packedPieces(16, 0, 1, 0, 5), 0, errStoredLines},
		"no gzip":                  {"text", 0, errStoredLines},
		"wrong sum":                {wrongSum(packedPieces(16, 0, 1, 0, "f", 1, 7)), 1, errStoredLines},
		"too many places":          {packedPieces(16, 0, 1, 0, "f", 1, 7, "\x01\x00"+strings.Repeat("\x01\x01\x00", maxStoredPlaces)), 1, errStoredLines},
	} {
		visits := 0
		err := readLines(strings.NewReader(c.packed), RawForm, []uint64{15, 16, 20, 2000}, func(int, *Line) { visits++ })
		if err != c.err || visits != c.visits {
			t.Errorf("%s: %d visits, %v; want %d, %v", name, visits, err, c.visits, c.err)
		}
	}
}

// FuzzStoredLines is without the checksums that would keep a fuzzer out.
func FuzzStoredLines(f *testing.F) {
	f.Add([]byte{16, 0, 1, 0, 1, 'f', 0, 1, 'g', 7, 4, 1, 1, 1, 2, 8})
	f.Fuzz(func(t *testing.T, text []byte) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(text)
		_ = z.Close()
		var offsets []uint64
		for i := range uint64(300) {
			offsets = append(offsets, i)
		}
		want := make([][]Line, len(offsets))
		err := readLines(bytes.NewReader(packed.Bytes()), RawForm, offsets, func(i int, line *Line) {
			if want[i] = chainOf(line); len(want[i]) == 0 || len(want[i]) > maxStoredChain {
				t.Fatalf("got %d lines", len(want[i]))
			}
		})
		if err != nil {
			return
		}
		m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_FILE), BuildId: []byte{1}}
		o := Options{NoPaths: true, Functions: functionsOf([]byte(packedPieces(16, 8, 0, "f"))), Lines: linesOf(packed.Bytes())}
		r := newResolver(t, o)
		var again bytes.Buffer
		some, why, err := r.WriteLines(&again, m, offsets)
		if why != nil || err != nil {
			t.Fatal(why, err)
		}
		got := make([][]Line, len(offsets))
		if some {
			if err := readLines(&again, RawForm, offsets, func(i int, line *Line) { got[i] = chainOf(line) }); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}
