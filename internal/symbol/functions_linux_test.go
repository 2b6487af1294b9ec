package symbol

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
)

// storedOf returns the functions of a module as they are written.
func storedOf(t testing.TB, r *Resolver, m *format.Module) []byte {
	t.Helper()
	var out bytes.Buffer
	if why, err := r.WriteFunctions(&out, m); why != nil || err != nil {
		t.Fatal(why, err)
	}
	return out.Bytes()
}

// functionsOf is a source that has the same functions for every build-id.
func functionsOf(stored []byte) func([]byte) (*Table, error) {
	return func([]byte) (*Table, error) { return ReadFunctions(bytes.NewReader(stored)) }
}

// functionsIn is a source that has those of one build-id.
func functionsIn(id, stored []byte) func([]byte) (*Table, error) {
	return func(buildID []byte) (*Table, error) {
		if !bytes.Equal(id, buildID) {
			return nil, os.ErrNotExist
		}
		return ReadFunctions(bytes.NewReader(stored))
	}
}

// TestStoredFunctionsGiveTheSameNames compares every fourth byte of programs of several kinds.
func TestStoredFunctionsGiveTheSameNames(t *testing.T) {
	c, cc, goProgram := buildC(t, "program.c"), buildC(t, "program.cc", "-O2"), buildGo(t, nil, "-ldflags=-s -w -B gobuildid")
	stripped, debug := split(t, c, "program.debug")
	copyFile(t, debug, filepath.Join(filepath.Dir(stripped), "program.debug"))
	for name, file := range map[string]string{"C": c, "C++": cc, "stripped": stripped, "Go": goProgram, "libc": "/lib/x86_64-linux-gnu/libc.so.6"} {
		t.Run(name, func(t *testing.T) {
			info, err := os.Stat(file)
			if err != nil {
				t.Skip(err)
			}
			m := moduleOf(t, file)
			if len(m.BuildId) == 0 {
				t.Fatal("it has no build-id")
			}
			o := raw()
			here := newResolver(t, o)
			packed := storedOf(t, here, m)
			gone := &format.Module{Kind: m.Kind, Path: []byte("/gone"), BuildId: m.BuildId}
			there := newResolver(t, Options{Form: RawForm, NoPaths: true, Functions: functionsOf(packed)})
			named := 0
			var at []Address
			for offset := uint64(0); offset < uint64(info.Size()); offset += 4 {
				at = append(at, Address{Offset: offset}, Address{Offset: offset, Caller: true})
			}
			want, got := make([]Name, len(at)), make([]Name, len(at))
			if err := here.Names(m, at, want); err != nil {
				t.Fatal(err)
			}
			if err := there.Names(gone, at, got); err != nil {
				t.Fatal(err)
			}
			for i := range at {
				if got[i] != want[i] {
					t.Fatalf("%+v: got %+v, want %+v", at[i], got[i], want[i])
				}
				if got[i].OK {
					named++
				}
			}
			if named == 0 {
				t.Error("nothing has a name")
			}
			t.Logf("%d of %d places have names; %d bytes of a file of %d", named, len(at), len(packed), info.Size())
		})
	}
}

func TestStoredFunctionsArePreferredToAStrippedFileOnly(t *testing.T) {
	program := buildC(t, "program.c")
	at := hotIn(t, program)
	stripped, _ := split(t, program, "program.debug")
	m := moduleOf(t, stripped)
	packed := storedOf(t, newResolver(t, raw()), moduleOf(t, program))
	o := raw()
	o.Functions = functionsIn(m.BuildId, packed)
	if got := nameOne(t, newResolver(t, o), m, at); got.Function != "weakly" {
		t.Errorf("got %+v", got)
	}
	other := moduleOf(t, program)
	other.BuildId = append([]byte{1}, other.BuildId[1:]...)
	if got := nameOne(t, newResolver(t, o), other, at); got.OK {
		t.Errorf("got %+v for another build-id", got)
	}
}

func TestTheSameFunctionsAreStoredAlike(t *testing.T) {
	m := moduleOf(t, buildC(t, "program.c"))
	first := storedOf(t, newResolver(t, raw()), m)
	if !bytes.Equal(first, storedOf(t, newResolver(t, raw()), m)) {
		t.Error("they differ")
	}
	// So are functions that were stored before.
	gone := &format.Module{Kind: m.Kind, Path: []byte("/gone"), BuildId: m.BuildId}
	if !bytes.Equal(first, storedOf(t, newResolver(t, Options{NoPaths: true, Functions: functionsOf(first)}), gone)) {
		t.Error("a copy differs")
	}
}

// packedPieces packs functions as an archive has them: start distance, size, distance from the start, name.
func packedPieces(pieces ...any) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, p := range pieces {
		switch p := p.(type) {
		case int:
			_, _ = z.Write(binary.AppendUvarint(nil, uint64(p)))
		case string:
			_, _ = z.Write(append(binary.AppendUvarint(nil, uint64(len(p))), p...))
		}
	}
	_ = z.Close()
	return b.String()
}

// wrongSum changes the checksum of a gzip stream.
func wrongSum(packed string) string {
	b := []byte(packed)
	b[len(b)-8]++
	return string(b)
}

func TestMalformedTablesGiveNoNames(t *testing.T) {
	at := Address{Offset: 20}
	for name, c := range map[string]struct {
		entry string
		want  string // the function at 20
	}{
		"sound":                   {packedPieces(16, 8, 0, "f", 8, 8, 0, "g"), "f"},
		"nameless":                {packedPieces(16, 8, 0, "", 8, 8, 0, "g"), ""},
		"out of order":            {packedPieces(16, 8, 0, "f", 0, 8, 0, "g"), ""},
		"empty function":          {packedPieces(16, 0, 0, "f"), ""},
		"huge function":           {packedPieces(16, 1<<33, 0, "f"), ""},
		"outside of it":           {packedPieces(16, 8, 8, "f"), ""},
		"beyond all files":        {packedPieces(16, 8, 0, "f", 1<<62, 8, 0, "g", 1<<62, 8, 0, "h"), ""},
		"long name":               {packedPieces(16, 8, 0, strings.Repeat("f", maxNameBytes+1)), ""},
		"cut":                     {packedPieces(16, 8, 0, "f", 8, 8), ""},
		"cut name":                {packedPieces(16, 8, 0, "f", 8, 8, 0, 5), ""},
		"cut gzip":                {packedPieces(16, 8, 0, "f")[:20], ""},
		"no gzip":                 {"text", ""},
		"no functions":            {packedPieces(), ""},
		"wrong sum":               {wrongSum(packedPieces(16, 8, 0, "f")), ""},
		"too much to be inflated": {packedPieces(16, 8, 0, "f", strings.Repeat("\x01", maxStoredBytes)), ""},
	} {
		r := newResolver(t, Options{NoPaths: true, Functions: functionsOf([]byte(c.entry))})
		m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte("/gone"), BuildId: []byte{0xab}}
		if got := nameOne(t, r, m, at); got.Function != c.want || got.OK != (c.want != "") {
			t.Errorf("%s: got %+v, want %q", name, got, c.want)
		}
		_, err := ReadFunctions(strings.NewReader(c.entry))
		want := errStored
		switch name {
		case "sound", "nameless":
			want = nil
		case "no functions":
			want = errNoSymbols
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

// FuzzFunctions is without the checksums that would keep a fuzzer out.
func FuzzFunctions(f *testing.F) {
	f.Add([]byte{16, 8, 0, 1, 'f', 8, 8, 2, 1, 'g'})
	f.Fuzz(func(t *testing.T, text []byte) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(text)
		_ = z.Close()
		table, err := ReadFunctions(&packed)
		if err != nil {
			return
		}
		checkTable(t, table)
		var again bytes.Buffer
		if why, err := writeFunctions(&again, &loaded{table: table}); why != nil || err != nil {
			t.Fatal(why, err)
		}
		same, err := ReadFunctions(&again)
		if err != nil || same.Len() != table.Len() {
			t.Fatalf("got %v, want the same %d functions (%s)", err, table.Len(), hex.EncodeToString(text))
		}
	})
}
