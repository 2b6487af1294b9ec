package filter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"wprof/format"
)

// TestNamesLeaveASectionReadable: a section with as many definitions as a writer makes, whose frames come first and get long
// names, stays within a reader's limits.
func TestNamesLeaveASectionReadable(t *testing.T) {
	const frames = 16_000
	var in bytes.Buffer
	w := format.NewWriter(&in, format.WriterOptions{Level: 1})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Begin(&format.Session{Id: 1, BootId: "b", Close: 1e9, Sources: []*format.Source{{Id: 1, Name: "timer"}}}))
	must(w.DefineTask(&format.Task{Id: 1, Tid: 7, Pid: 7, Comm: []byte("one"), ProcessComm: []byte("one")}))
	must(w.DefineModule(&format.Module{Id: 1, Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte("/bin/one")}))
	at := int64(0)
	write := func(e format.Event) {
		at += 1000
		e.Time, e.Flags = at, format.FlagSubject|format.FlagObject
		must(w.Write(&e))
	}
	for i := range uint32(frames) {
		must(w.DefineFrame(&format.Frame{Id: i + 1, Module: 1, Offset: uint64(i * 16)}))
		must(w.DefineStack(&format.Stack{Id: i + 1, Frames: []uint32{i + 1}}))
		write(format.Event{Kind: format.KindSample, Task: 1, Args: [format.MaxArgs]uint64{format.SampleStack: uint64(i + 1), format.SampleSource: 1}})
	}
	for i := uint32(1); w.DefinitionBytes() < format.EpochBytes; i++ {
		must(w.DefineCommand(&format.Command{Id: i, Args: []byte(strings.Repeat("x", 4000))}))
		must(w.DefineTask(&format.Task{Id: i + 1, Tid: int32(i + 8), Pid: int32(i + 8), Comm: []byte("c"), ProcessComm: []byte("c"), Command: i}))
		write(format.Event{Kind: format.KindExit, Task: format.TaskID(i + 1)})
	}
	must(w.EndSection(&format.End{Close: at, Last: true}))
	name := func(f *format.Frame, _ *format.Module, _ bool) *format.Frame {
		return &format.Frame{Id: f.Id, Module: f.Module, Offset: f.Offset, Lines: []*format.Line{{Function: fmt.Appendf(nil, "f%d%s", f.Id, strings.Repeat("n", 4000))}}}
	}
	r, err := format.NewReader(bytes.NewReader(filtered(t, in.Bytes(), true, Options{Frame: name})))
	must(err)
	defer r.Close()
	named, nameless := 0, 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(err)
		if e.Kind != format.KindSample {
			continue
		}
		if f := r.Frame(r.Stack(e.Sample().Stack()).Frames[0]); len(f.Lines) > 0 {
			named++
		} else {
			nameless++
		}
	}
	if d := r.Damage(); d != nil || named < frames/4 || named+nameless != frames {
		t.Errorf("%d frames have names, %d have none; damage %+v", named, nameless, d)
	}
}

// TestLinesLeaveRoomForNames: frames with many lines do not take the names of those that come after them.
func TestLinesLeaveRoomForNames(t *testing.T) {
	const frames = 60_000
	var in bytes.Buffer
	w := format.NewWriter(&in, format.WriterOptions{Level: 1})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Begin(&format.Session{Id: 1, BootId: "b", Close: 1e9, Sources: []*format.Source{{Id: 1, Name: "timer"}}}))
	must(w.DefineTask(&format.Task{Id: 1, Tid: 7, Pid: 7, Comm: []byte("one"), ProcessComm: []byte("one")}))
	must(w.DefineModule(&format.Module{Id: 1, Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte("/bin/one")}))
	for i := range uint32(frames) {
		must(w.DefineFrame(&format.Frame{Id: i + 1, Module: 1, Offset: uint64(i * 16)}))
		must(w.DefineStack(&format.Stack{Id: i + 1, Frames: []uint32{i + 1}}))
		e := format.Event{Time: int64(i+1) * 1000, Kind: format.KindSample, Flags: format.FlagSubject | format.FlagObject, Task: 1}
		e.Args = [format.MaxArgs]uint64{format.SampleStack: uint64(i + 1), format.SampleSource: 1}
		must(w.Write(&e))
	}
	must(w.EndSection(&format.End{Close: frames * 1000, Last: true}))
	name := func(f *format.Frame, _ *format.Module, room bool) *format.Frame {
		lines := []*format.Line{{Function: []byte("function")}}
		for range 20 {
			if room {
				lines = append(lines, lines[0])
			}
		}
		return &format.Frame{Id: f.Id, Module: f.Module, Offset: f.Offset, Lines: lines}
	}
	r, err := format.NewReader(bytes.NewReader(filtered(t, in.Bytes(), true, Options{Frame: name})))
	must(err)
	defer r.Close()
	lined, nameless := 0, 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(err)
		if e.Kind != format.KindSample {
			continue
		}
		switch f := r.Frame(r.Stack(e.Sample().Stack()).Frames[0]); {
		case len(f.Lines) == 0:
			nameless++
		case len(f.Lines) > 1:
			lined++
		}
	}
	if d := r.Damage(); d != nil || nameless > 0 || lined == 0 || lined == frames {
		t.Errorf("%d of %d frames have lines, %d have no name; damage %+v", lined, frames, nameless, d)
	}
}
