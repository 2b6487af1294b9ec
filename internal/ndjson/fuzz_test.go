package ndjson

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/textform"
	"wprof/test/fromtext"
)

// machine has two sections, the second of them an epoch, and a second recording: with every kind, with various stacks
// and names of any bytes.
const machine = `
section host="b\"o\x01x" boot_id=b open=1000000000
  cpu 0 node=3
  cpu 1
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=10000000
  metadata key="a\xf0\x9f\x98\x80" value="<\\>"
  config key="off-CPU stacks" value=x
task 1 comm="swapper" flags=idle
task 2 tid=100 pid=100 comm="busy" process_comm="busy" start=5
task 3 tid=101 pid=100 comm="l\xff\"\n\x00" process_comm="busy" start=6
task 4 tid=102 flags=unknown
module 1 path="/bin/\xfe" kind=file
module 2 path="[kernel]" kind=kernel
frame 1 module=1 offset=0x1100 function_offset=0x1a caller
  line function="w\x80rk" file="work.h" line=3
  line function="main" file="busy.c" line=7
frame 2 module=2 offset=0x10
frame 3 module=9 offset=0x20
stack 1 frames=1,2,3,9 kernel_frames=2
stack 2
stack 70000 frames=1 cut
+0 cpu0 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120 since=-1000
+10 cpu0 sample 2 stack=1 source=1
+20 cpu0 waking 2 wakee=3 prio=120 target_cpu=0 stack=2
+30 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-1000 next_state=S stack=70000
+40 cpu0 switch 3 next=2 prev_state=X prev_prio=-1 next_prio=120 since=+30 next_state=R+ stack=77
+50 cpu0 fork 2 child=4
+60 cpu0 wakeup_new 2 wakee=4 prio=120 target_cpu=1
+70 cpu1 switch 1 next=4 prev_state=R prev_prio=120 next_prio=120
+80 cpu0 exec 2 old_tid=101 filename="/bin/\xc3("
+90 cpu0 rename 2 prev=3
+90 cpu0 exit 2
+95 cpu0 free 3
+100 cpu0 switch 2 next=1 prev_state=D !subject
+110 cpu0 cpu_left 2
+120 all lost from=-50 count=3 cause=ring what=switch
end last=false
section continues
task 1 tid=101 pid=100 comm="later" start=6
stack 1
+130 cpu1 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120 since=+30 next_state=X stack=1
end close=+200
section host=box boot_id=b open=2000000000
stack 3
+10 cpu0 sample 7 stack=3
end close=+100
`

func TestAnyFlippedByteLeavesValidLines(t *testing.T) {
	c := newChecker(t)
	stream := fromtext.Stream(t, machine)
	c.all(t, stream)
	for at := 0; at < len(stream); at += 1 + at%3 {
		flipped := bytes.Clone(stream)
		flipped[at] ^= 0x55
		for _, o := range []Options{{}, {Stream: true}} {
			if out, result, is := converted(flipped, o); is {
				if err := c.lines(out, result.Events); err != nil {
					t.Errorf("byte %d flipped, %+v: %v", at, o, err)
				}
			}
		}
	}
}

func TestAnyEndLeavesValidLines(t *testing.T) {
	c := newChecker(t)
	stream := fromtext.Stream(t, machine)
	for end := 0; end < len(stream); end += 7 {
		c.all(t, stream[:end])
	}
}

// FuzzLines: whatever bytes come in, every line is valid, ids resolve, and the count is right.
func FuzzLines(f *testing.F) {
	f.Add(fromtext.Stream(f, machine))
	c := newChecker(f)
	f.Fuzz(func(t *testing.T, stream []byte) { c.all(t, stream) })
}

// FuzzText does the same with streams made from the text form, whose blocks are valid.
func FuzzText(f *testing.F) {
	f.Add(machine)
	for _, section := range strings.SplitAfter(machine, "end") {
		f.Add(section)
	}
	c := newChecker(f)
	f.Fuzz(func(t *testing.T, text string) {
		var stream bytes.Buffer
		if len(text) > 64<<10 || textform.Undump(&stream, strings.NewReader(text)) != nil || stream.Len() > 1<<20 {
			return
		}
		c.all(t, stream.Bytes())
	})
}

// hostile builds an event with every field taken from a list of bytes, so that the fuzzer need not find valid blocks first.
func hostile(b []byte, e *format.Event) []byte {
	take := func() uint64 {
		if len(b) == 0 {
			return 0
		}
		v := b[0]
		b = b[1:]
		return uint64(v)
	}
	*e = format.Event{Time: e.Time + int64(take()%50), Kind: format.Kind(take()%uint64(format.MaxKind) + 1), Flags: format.Flags(take() | take()<<8&0x100)}
	if e.Flags&format.FlagsVisible == 0 {
		e.Flags |= format.FlagSubject
	}
	e.CPU = uint32(take() % 5)
	if e.CPU == 4 {
		e.CPU = format.AllCPUs
	}
	e.Task, e.Own = format.TaskID(take()%6), e.Time-int64(take())
	for i := range 7 {
		e.Args[i] = take() % 13
	}
	switch back := int64(take()) - 20; e.Kind {
	case format.KindSwitch:
		e.Args[format.SwitchSince] = uint64(e.Time - back)
		e.Args[format.SwitchPrevState] <<= take() % 12
		e.Args[format.SwitchNextState] <<= take() % 12
	case format.KindStateCPU:
		e.Args[format.StateCPUSince] = uint64(e.Time - back)
	case format.KindStateThread:
		e.Args[format.StateThreadSince], e.Args[format.StateThreadWoken] = uint64(e.Time-back), uint64(e.Time-back/2)
	case format.KindLost:
		e.Args[format.LostFrom] = uint64(e.Time - back)
	case format.KindExec:
		e.Data = []byte(fmt.Sprint(back))
	}
	return b
}

// FuzzEvents: any events in a valid stream.
func FuzzEvents(f *testing.F) {
	f.Add(bytes.Repeat([]byte{9, 0, 3, 0, 2, 1, 0, 1, 2, 3, 1, 3, 1, 1, 1, 0, 3, 0, 120, 120, 2}, 8))
	c := newChecker(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var stream bytes.Buffer
		w := format.NewWriter(&stream, format.WriterOptions{})
		defs := &format.Definitions{
			Tasks: []*format.Task{
				{Id: 1, Flags: 2}, {Id: 2, Tid: 1, Pid: 1, Start: 1}, {Id: 3, Tid: 2, Pid: 1, Start: 2, Comm: []byte("\xff")},
				{Id: 4, Tid: 7, Flags: 8}, {Id: 5, Tid: -1, Pid: -5, Start: -1},
			},
			Stacks: []*format.Stack{{Id: 1, Frames: []uint32{1, 2, 3}, KernelFrames: 9}, {Id: 5}, {Id: 8, Frames: []uint32{1}, Cut: true}},
			Frames: []*format.Frame{{Id: 1, Offset: 1 << 63, Lines: make([]*format.Line, 2)}, {Id: 3, Module: 4}},
		}
		e, sections := format.Event{Time: 1000}, uint32(1)
		_ = w.Begin(&format.Session{Id: 7, Open: 1000})
		_ = w.Define(defs)
		for len(b) > 0 {
			next := b[0] == 51
			if b = hostile(b, &e); next {
				_ = w.EndSection(&format.End{})
				_ = w.Begin(&format.Session{Id: 7, Open: 1000, Continues: true, Epoch: sections})
				_ = w.Define(defs)
				sections++
			}
			_ = w.Write(&e)
		}
		_ = w.EndSection(&format.End{Close: e.Time + 10, Last: true})
		c.all(t, stream.Bytes())
	})
}
