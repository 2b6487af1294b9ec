package assemble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/ringdata"
)

// pythonWord is the word of a frame in the code object of an id.
func pythonWord(id, at uint64, ends bool) uint64 {
	word := id<<ringdata.PythonWordCodeShift | ringdata.PythonWordFrame | at
	if ends {
		word |= ringdata.PythonWordEnds
	}
	return word
}

// pythonText has three code objects of process 10: outer at line 10, inner at line 20 and a function of another module.
const pythonText = sampleText + `
0: 3000 code cpu=0 tid=10 pid=10 id=0x1 minor=10 name=outer file=/srv/app.py first=10 lines=0401
0: 3000 code cpu=0 tid=10 pid=10 id=0x5 minor=10 name=inner file=/srv/app.py first=20 lines=04000403
0: 3000 code cpu=0 tid=10 pid=10 id=0x3 minor=10 name=loads file=/usr/lib/python3.10/json/__init__.py first=30 lines=7f00
`

// loop is an address of the interpreter's loop, with the mark that the kernel programs set.
const loop = 0x4000000000400500

// instruction is one of a function for one instruction.
const instruction = 0x2000000000400600

// The frames of Python stand where the calls of the interpreter's loop are that execute them.
func TestPythonReplacesTheLoop(t *testing.T) {
	outer, inner, loads, boundary := pythonWord(1, 0, true), pythonWord(5, 3, true), pythonWord(3, 0, true), uint64(ringdata.PythonWordEnds)
	root, cut := format.StackEnd_STACK_END_ROOT, format.StackEnd_STACK_END_DEPTH
	const whole, deeper = ringdata.PythonEndWhole, ringdata.PythonEndDeeper
	native, caller := "/bin/plain", "/bin/plain"
	for name, c := range map[string]struct {
		at    []uint64
		words []uint64
		end   format.StackEnd
		ended int
		want  string // outermost first
	}{
		"each call one frame": {[]uint64{0x600010, loop, 0x600020, loop, 0x600030}, []uint64{inner, outer}, root, whole,
			caller + ";app.outer:11;" + caller + ";app.inner:23;" + native},
		"one call, two frames": {[]uint64{0x600010, loop, 0x600030}, []uint64{pythonWord(5, 0, false), outer}, root, whole,
			caller + ";app.outer:11;app.inner:20;" + native},
		"the loop has just been called": {[]uint64{loop, 0x600020, loop, 0x600030}, []uint64{loads}, root, whole,
			caller + ";json.loads:30;" + caller + ";/bin/alpha"},
		"the innermost call has no frame": {[]uint64{loop, 0x600020, loop, 0x600030}, []uint64{boundary, loads}, root, whole,
			caller + ";json.loads:30;" + caller},
		"native frames are cut": {[]uint64{loop, 0x600020}, []uint64{inner, outer, loads}, cut, whole,
			"json.loads:30;app.outer:11;" + caller + ";app.inner:23"},
		"Python's are cut": {[]uint64{loop, 0x600020, loop, 0x600030}, []uint64{inner}, root, deeper,
			caller + ";/bin/alpha;" + caller + ";app.inner:23"},
		"a part of the loop is not known": {[]uint64{loop, 0x600020, 0x600030}, []uint64{inner, outer}, root, whole,
			caller + ";" + caller + ";app.outer:11;app.inner:23"},
		"functions of instructions": {[]uint64{0x600010, instruction, loop, 0x600020, instruction, loop, 0x600030}, []uint64{inner, outer}, root, whole,
			caller + ";app.outer:11;" + caller + ";app.inner:23;" + native},
		"an instruction without functions of Python": {[]uint64{instruction, loop, 0x600030}, nil, root, ringdata.PythonEndNone, caller + ";/bin/alpha;/bin/alpha"},
		"no loop":                         {[]uint64{0x600010}, []uint64{inner}, format.StackEnd_STACK_END_NO_FRAME, whole, "app.inner:23;" + native},
		"a code object that is not known": {[]uint64{loop, 0x600030}, []uint64{pythonWord(9, 0, true)}, root, whole, caller + ";[python?]:0"},
		"one that could not be read":      {[]uint64{loop, 0x600030}, []uint64{pythonWord(0, 0, true)}, root, whole, caller + ";[python?]:0"},
		"none":                            {[]uint64{loop, 0x600030}, nil, root, ringdata.PythonEndNone, caller + ";/bin/alpha"},
	} {
		t.Run(name, func(t *testing.T) {
			text := pythonText + fmt.Sprintf("0: 3100 stack cpu=0 tid=10 id=7 pid=10 ended=%d whole=%d at=%s", c.end, c.ended, listed(c.at))
			if len(c.words) > 0 {
				text += " python=" + listed(c.words)
			}
			text += "\n0: 3200 sample cpu=0 tid=10 user=7\nround 4000\nend 4100\n"
			if got := lastStack(t, text); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A thread that is blocked when the window closes has its frames, and names that only the list of such threads has.
func TestPythonOfBlockedThreads(t *testing.T) {
	text := pythonText + fmt.Sprintf(`0: 3200 switch cpu=0 prev=10 next=0 state=1
round 4000
listedcode pid=10 id=0x7 minor=10 name=waits file=/srv/app.py first=40 lines=0401
blocked tid=10 ended=%d cut=4 user=0x600010,%#x,0x600030 python=%#x,%#x
end 4100
`, format.StackEnd_STACK_END_ROOT, uint64(loop), pythonWord(7, 0, false), pythonWord(1, 0, true))
	const want = "/bin/plain;app.outer:11;app.waits:41;/bin/plain"
	if got := lastStack(t, text); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The outermost function that a call of the loop executes knows its frame of the loop, which is the same for all addresses in it.
func TestPythonKnowsItsLoop(t *testing.T) {
	words := []uint64{pythonWord(3, 0, true), pythonWord(5, 3, false), pythonWord(1, 0, true)}
	const elsewhere = loop + 0x40
	text := pythonText + fmt.Sprintf("0: 3100 stack cpu=0 tid=10 id=7 pid=10 ended=%d whole=%d at=%s python=%s", format.StackEnd_STACK_END_ROOT, ringdata.PythonEndWhole,
		listed([]uint64{loop, 0x600020, elsewhere, 0x600030}), listed(words)) + "\n0: 3200 sample cpu=0 tid=10 user=7\nround 4000\nend 4100\n"
	var loops []string
	eachFrame(t, text, func(r *format.Reader, f *format.Frame) {
		if l := r.Frame(f.Loop); l != nil {
			loops = append(loops, fmt.Sprintf("%s in place of %s+%#x", f.Lines[0].Function, r.Module(l.Module).Path, l.Offset))
		}
	})
	want := []string{"app.outer in place of /bin/alpha+0x500", "json.loads in place of /bin/alpha+0x500"}
	if !slices.Equal(loops, want) {
		t.Errorf("got %q, want %q", loops, want)
	}
}

// A thread that comes back after generations has the names of the stack with which it left.
func TestPythonCodeOutlivesGenerations(t *testing.T) {
	p := newPythonTable()
	record := func(id uint64, size int) []byte {
		b := make([]byte, ringdata.CodeSize+size)
		b[ringdata.CodeID], b[ringdata.CodeID+1], b[ringdata.CodeID+2] = byte(id), byte(id>>8), byte(id>>16)
		b[ringdata.CodePID] = 10
		return b
	}
	p.keep(record(1, 0))
	for range 5 {
		p.rotate()
	}
	if p.find(10, 1) == nil || p.find(11, 1) != nil {
		t.Error("a code object is there only for some generations, or for another process")
	}
	for id := range uint64(20000) {
		p.keep(record(id+2, 4000))
	}
	if p.bytes > maxPythonBytes+8000 || p.find(10, 1) != nil {
		t.Errorf("%d bytes are kept, also what has not been used for long", p.bytes)
	}
	if p.find(10, 2) == nil {
		t.Error("what is in use was dropped")
	}
}

func listed(words []uint64) string {
	var all []string
	for _, word := range words {
		all = append(all, fmt.Sprintf("%#x", word))
	}
	return strings.Join(all, ",")
}

// lastStack returns the frames of the last sample, or of the thread that is blocked at the end: functions of Python with their lines, others by their modules.
func lastStack(t *testing.T, text string) string {
	t.Helper()
	var last []string
	eachFrame(t, text, func(r *format.Reader, f *format.Frame) {
		name := string(r.Module(f.Module).GetPath())
		if len(f.Lines) > 0 {
			name = fmt.Sprintf("%s:%d", f.Lines[0].Function, f.Lines[0].Line)
		}
		last = append(last, name)
	})
	return strings.Join(last, ";")
}

// eachFrame visits the frames of the last sample, or of the thread that is blocked at the end.
func eachFrame(t *testing.T, text string, visit func(*format.Reader, *format.Frame)) {
	t.Helper()
	var stream bytes.Buffer
	if _, err := Finalise(openText(t, text), format.NewWriter(&stream, format.WriterOptions{}), Options{}); err != nil {
		t.Fatal(err)
	}
	var last []uint32
	r, err := format.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			for _, id := range last {
				visit(r, r.Frame(id))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		id := format.StackID(0)
		switch {
		case e.Kind == format.KindSample:
			id = e.Sample().Stack()
		case e.Kind == format.KindStateThread && e.Flags&format.FlagOpen != 0:
			id, _ = e.StateThread().Stack()
		}
		if r.Stack(id) == nil {
			continue
		}
		last = r.Stack(id).Frames
	}
}
