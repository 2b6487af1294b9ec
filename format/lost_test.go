package format_test

import (
	"bytes"
	"testing"

	. "wprof/format"
)

// A stream with placeholders for lost definitions is whole, and readers report these definitions as lost.
func TestLostDefinitionsAreWellFormed(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	sample := Event{Time: 5, Kind: KindSample, Flags: FlagSubject, Task: 7}
	sample.Sample().SetStack(8)
	sample.Sample().SetSource(1)
	stack := &Stack{Id: 9, Frames: []uint32{2, 2}, KernelFrames: 1}
	for _, err := range []error{
		w.Begin(&Session{Sources: []*Source{{Id: 1}}}),
		w.DefineTask(LostTask(7)), w.DefineStack(LostStack(8)), w.DefineModule(LostModule(3)), w.DefineFrame(LostFrame(2)),
		w.DefineFrame(&Frame{Id: 4, Module: 3, Offset: 5}), w.DefineStack(stack), w.DefineCommand(LostCommand(1)),
		w.Write(&sample), w.EndSection(&End{Close: 5, Last: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	checked(t, out.Bytes())
	_, r, err := ReadAll(&out)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Task(7).IsLost() || !r.Stack(8).IsLost() || !r.Module(3).IsLost() || !r.Frame(2).IsLost() || !r.Command(1).IsLost() {
		t.Error("IsLost is false for a placeholder")
	}
	if r.Frame(4).IsLost() || r.Stack(9).IsLost() || !r.Stack(10).IsLost() || !r.Frame(10).IsLost() {
		t.Error("IsLost is true for a real definition")
	}
}
