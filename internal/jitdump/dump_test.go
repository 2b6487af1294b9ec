package jitdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// dump is a file in the making.
type dump struct{ bytes.Buffer }

func (d *dump) numbers(list ...any) {
	for _, n := range list {
		_ = binary.Write(d, binary.LittleEndian, n)
	}
}

func (d *dump) header(flags uint64) {
	d.numbers(uint32(magic), uint32(version), uint32(headerSize+8), uint32(62), uint32(0), uint32(7), uint64(1), flags, uint64(0))
}

func (d *dump) record(kind uint32, time uint64, body []byte) {
	d.numbers(kind, uint32(prefixSize+len(body)), time)
	d.Write(body)
}

func (d *dump) load(time, address, index uint64, name, code string) {
	var b dump
	b.numbers(uint32(7), uint32(8), address, address, uint64(len(code)), index)
	b.WriteString(name + "\x00" + code)
	d.record(recordLoad, time, b.Bytes())
}

func (d *dump) move(time, to, size, index uint64) {
	var b dump
	b.numbers(uint32(7), uint32(8), to, uint64(0), to, size, index)
	d.record(recordMove, time, b.Bytes())
}

func (d *dump) lines(address uint64, lines ...Line) {
	var b dump
	b.numbers(address, uint64(len(lines)))
	for _, l := range lines {
		b.numbers(l.Address, l.Line, uint32(0))
		b.WriteString(l.File + "\x00")
	}
	d.record(recordLines, 1, b.Bytes())
}

// codesOf reads all functions, as text.
func codesOf(t *testing.T, b []byte) string {
	t.Helper()
	d, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for {
		var c Code
		found, err := d.Next(&c)
		if errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatal(err)
		} else if !found {
			continue
		}
		code := "moved"
		if !c.Moved {
			code = string(b[c.Offset : c.Offset+c.Size])
		}
		fmt.Fprintf(&out, "%d %x+%d #%d %s %s\n", c.Time, c.Address, c.Size, c.Index, c.Name, code)
	}
}

func TestFunctionsAreReadInTheirOrder(t *testing.T) {
	var d dump
	d.header(0)
	d.load(10, 0x1000, 1, "first", "AAAA")
	d.record(4, 11, make([]byte, 40)) // how to unwind it
	d.load(12, 0x1000, 2, "second", "BBBBBBBB")
	d.move(13, 0x2000, 4, 1)
	d.record(3, 14, nil) // the end
	const want = "10 1000+4 #1 first AAAA\n12 1000+8 #2 second BBBBBBBB\n13 2000+4 #1  moved\n"
	if got := codesOf(t, d.Bytes()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestDumpThatGrowsIsReadOn from where the last complete record has ended.
func TestDumpThatGrowsIsReadOn(t *testing.T) {
	var d dump
	d.header(0)
	d.load(10, 0x1000, 1, "first", "AAAA")
	first := d.Len()
	d.load(12, 0x3000, 2, "second", "BBBB")
	r, err := NewReader(bytes.NewReader(d.Bytes()), int64(first+30))
	if err != nil {
		t.Fatal(err)
	}
	var c Code
	if _, err := r.Next(&c); err != nil || string(c.Name) != "first" {
		t.Fatalf("%s, %v", c.Name, err)
	}
	if _, err := r.Next(&c); !errors.Is(err, io.EOF) {
		t.Fatalf("half a record gives %v", err)
	}
	r.Extend(int64(d.Len()))
	if _, err := r.Next(&c); err != nil || string(c.Name) != "second" {
		t.Errorf("%s, %v", c.Name, err)
	}
}

func TestImplausibleFunctionsAreSkipped(t *testing.T) {
	var d dump
	d.header(0)
	d.load(1, 0xfffffffffffffff0, 1, "wraps", strings.Repeat("A", 0x20))
	d.load(2, 0x1000, 1, "empty", "")
	d.load(3, 0x1000, 1, strings.Repeat("n", maxName), "A")
	var b dump
	b.numbers(uint32(7), uint32(8), uint64(0x1000), uint64(0x1000), uint64(100), uint64(4))
	b.WriteString("larger than its record\x00A")
	d.record(recordLoad, 4, b.Bytes())
	d.record(recordLoad, 5, nil)
	d.record(recordMove, 6, nil)
	d.record(recordLines, 7, nil)
	d.load(8, 0x1000, 5, "good", "A")
	if got, want := codesOf(t, d.Bytes()), "8 1000+1 #5 good A\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLinesAreThoseOfTheFunctionAtTheTime(t *testing.T) {
	for name, bias := range map[string]uint64{"perf": 0, "V8": elfHeader} {
		var d dump
		d.header(0)
		d.lines(0x1000, Line{0x1000 + bias, 5, "a.js"}, Line{0x1002 + bias, 6, same})
		d.load(10, 0x1000, 1, "first", "AAAA")
		d.lines(0x1000, Line{0x1000 + bias, 7, "b.js"})
		d.load(11, 0x1000, 2, "second", "BBBB")
		d.lines(0x1000, Line{0x1000 + bias, 8, "freed \xbe\xbf"})
		d.load(12, 0x1000, 3, "third", "CCCC")
		d.lines(0x4000, Line{0x4000, 9, "of another.js"})
		d.load(13, 0x5000, 4, "fourth", "DDDD")
		f, err := ReadFunctions(bytes.NewReader(d.Bytes()), int64(d.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var offsets []uint64
		for _, one := range f.List {
			offsets = append(offsets, one.Offset, one.Offset+3)
		}
		var got strings.Builder
		f.Find(offsets, func(i int, function *Function, line Line) {
			fmt.Fprintf(&got, "%d %s %s:%d\n", i, function.Name, line.File, line.Line)
		})
		const want = "0 first a.js:5\n1 first a.js:6\n2 second b.js:7\n3 second b.js:7\n"
		if got.String() != want {
			t.Errorf("%s: got\n%swant\n%s", name, got.String(), want)
		}
	}
}

func TestOtherFilesAreNoDumps(t *testing.T) {
	for _, text := range []string{"", "\x7fELF", strings.Repeat("x", 100), "JiTD" + strings.Repeat("\x00", 100)} {
		if _, err := NewReader(strings.NewReader(text), int64(len(text))); !errors.Is(err, ErrOther) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for path, want := range map[string]bool{"/tmp/jit-12.dump": true, "jit-1.dump": true, "/tmp/jit-.dump": false, "/jit-1.dump.so": false, "/tmp/jit-1.so": false} {
		if IsPath(path) != want {
			t.Errorf("%s is a dump: %v, want %v", path, !want, want)
		}
	}
}

// FuzzDump reads dumps, which any program can write.
func FuzzDump(f *testing.F) {
	var d dump
	d.header(archTime)
	d.lines(0x1000, Line{0x1000, 5, "a.js"}, Line{0x1002, 6, same})
	d.load(10, 0x1000, 1, "first", "AAAA")
	d.move(13, 0x2000, 4, 1)
	f.Add(d.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		functions, err := ReadFunctions(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var offsets []uint64
		last := uint64(0)
		for _, one := range functions.List {
			if one.Offset < last || one.Size == 0 || one.Offset+one.Size > uint64(len(b)) {
				t.Fatalf("a function of %d bytes at %d of %d", one.Size, one.Offset, len(b))
			}
			last = one.Offset + one.Size
			offsets = append(offsets, one.Offset)
		}
		functions.Find(offsets, func(int, *Function, Line) {})
	})
}
