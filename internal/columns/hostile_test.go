package columns

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/test/race"
)

// oneStack is a stream of one thread and one sample of it, with a stack.
func oneStack(t testing.TB, comm []byte, frames []*format.Frame, ids []uint32) []byte {
	t.Helper()
	var b bytes.Buffer
	w := format.NewWriter(&b, format.WriterOptions{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.Begin(&format.Session{Id: 1, Open: 1000, Close: 9000, Metadata: []*format.KeyValue{{Key: "k\"\n", Value: "v"}, {Key: "a", Value: ""}}}))
	check(w.DefineTask(&format.Task{Id: 1, Tid: 7, Pid: 7, Comm: comm, ProcessComm: comm}))
	for _, f := range frames {
		check(w.DefineFrame(f))
	}
	check(w.DefineStack(&format.Stack{Id: 1, Frames: ids}))
	e := format.Event{Time: 2000, Kind: format.KindSample, Flags: format.FlagSubject, Task: 1}
	e.Sample().SetSource(1)
	e.Sample().SetStack(1)
	check(w.Write(&e))
	check(w.EndSection(&format.End{Close: 9000, Last: true}))
	return b.Bytes()
}

func TestNamesOfAnyBytes(t *testing.T) {
	for _, name := range []string{"", "\xff\xfe", "a\x00b", "\"',;\n\t\\", "名前", strings.Repeat("\xc3(", 2000)} {
		frames := []*format.Frame{{Id: 1, Offset: 5, Lines: []*format.Line{{Function: []byte(name), File: []byte(name), Line: 3}}}}
		_, done := compareRows(t, oneStack(t, []byte(name), frames, []uint32{1, 1}), Options{})
		if want := strings.Contains(name, "\xff") || strings.Contains(name, "\xc3"); (done.NotUTF8 != "") != want {
			t.Errorf("%q: not UTF-8: %q", name, done.NotUTF8)
		}
	}
}

func TestMetadataIsAMap(t *testing.T) {
	got, _, err := write(t, oneStack(t, []byte("a"), nil, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows := got.rows(t, "session"); len(rows) != 1 || !strings.Contains(rows[0], `"metadata":{"a":"","k\"\n":"v"}`) {
		t.Errorf("%s", rows)
	}
}

// A stack of 512 places with 64 inlined functions of the longest names each would be 130 MB in one row.
func TestHugeStackKeepsItsInnermostFrames(t *testing.T) {
	race.Skip(t)
	var lines []*format.Line
	for i := range 64 {
		lines = append(lines, &format.Line{Function: bytes.Repeat([]byte{byte('a' + i%26)}, 4000)})
	}
	var ids []uint32
	for range 512 {
		ids = append(ids, 1)
	}
	stream := oneStack(t, []byte("a"), []*format.Frame{{Id: 1, Lines: lines}}, ids)
	got, _, err := write(t, stream, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stacks, frames := got.rows(t, "stacks"), got.rows(t, "frames")
	if len(stacks) != 1 || len(stacks[0]) > maxStack+maxStack/8 || !strings.Contains(stacks[0], `"cut":true`) {
		t.Errorf("%d stacks, the first of %d bytes", len(stacks), len(stacks[0]))
	}
	want := expected(t, stream, Options{})["stacks"][0]
	if innermost := strings.Repeat("a", 4000) + ` (inlined)"]`; strings.Contains(want, innermost) && !strings.Contains(stacks[0], innermost) {
		t.Error("the innermost frame is not the last one")
	}
	if n := strings.Count(stacks[0], "[U] "); n != len(frames) || n < 200 {
		t.Errorf("%d frames in the stack, %d rows", n, len(frames))
	}
}

// Many large event types are not all held decoded.
func TestEventTypesAreNotHeld(t *testing.T) {
	race.Skip(t)
	var stream bytes.Buffer
	s := format.NewWriter(&stream, format.WriterOptions{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.Begin(&format.Session{Id: 1, Open: 1}))
	names := slices.Repeat([]*format.EnumName{{Number: 1, Name: []byte("one")}}, 1000)
	const types = 1000
	for id := range uint64(types) {
		name := fmt.Appendf(nil, "type %d", id)
		check(s.DefineType(&format.EventType{Id: uint32(id + 1), Name: name, Fields: []*format.TypeField{{Name: []byte("n"), Type: uint32(format.ValueType_VALUE_ENUM), Names: names}}}))
		e := format.Event{Time: 2, Kind: format.KindTyped, Flags: format.FlagSubject, Data: []byte{0}}
		e.Typed().SetType(id + 1)
		check(s.Write(&e))
	}
	check(s.EndSection(&format.End{Close: 3, Last: true}))
	r, err := format.NewReader(&stream)
	check(err)
	defer r.Close()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	w := &writer{r: r, create: make(files).create}
	check(w.begin())
	check(timeline.Visit(r, w))
	if held := heap() - before; held > 80<<20 {
		t.Errorf("with %d types of 100 KB each %d bytes are held", types, held)
	}
	runtime.KeepAlive(w)
}
