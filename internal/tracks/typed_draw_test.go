package tracks

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
	"wprof/test/race"
)

// listed is an encoder that lists items as text.
type listed struct {
	noted
	items []string
}

func (l *listed) Item(i *Item) {
	on := [...]string{"thread", "process", "cpu", "global"}[i.On]
	switch i.On {
	case format.TypeTrack_TRACK_THREAD:
		on += fmt.Sprint(" ", i.Task.Def.Tid)
	case format.TypeTrack_TRACK_PROCESS:
		on += fmt.Sprint(" ", i.Task.Def.Pid)
	case format.TypeTrack_TRACK_CPU:
		on += fmt.Sprint(" ", i.CPU)
	}
	text := fmt.Sprintf("%d-%d %s on %q of %s", i.From, i.To, i.Name, i.Track, on)
	if i.Shape == ShapeCounter {
		text = strings.TrimSpace(fmt.Sprintf("%d counter %q of %s = %g %s", i.From, i.Track, on, i.Value, i.Unit))
	}
	for _, a := range i.Args {
		text += " " + a.Name + "=" + shownArg(&a)
	}
	if i.Stack != nil {
		text += " at " + strings.Join(i.Stack.Functions(), "/")
	}
	if i.Open {
		text += " open"
	}
	l.items = append(l.items, text)
}

func shownArg(a *Arg) string {
	switch a.Type {
	case ArgText:
		return a.Text
	case ArgTask:
		return string(a.Task.Def.Comm)
	case ArgStack:
		return strings.Join(a.Stack.Shown(), "/")
	case ArgFloat:
		return fmt.Sprint(math.Float64frombits(a.Number))
	}
	return fmt.Sprint(int64(a.Number))
}

// drawn compares the items of a stream, whose window opens at 0, with those wanted.
func drawn(t *testing.T, stream, want string) {
	t.Helper()
	const machine = `section host=h boot_id=b open=1 close=+1000
		task 1 tid=0 pid=0 comm=swapper flags=2
		task 2 tid=20 pid=20 comm=one process_comm=one start=5
		task 3 tid=30 comm=nobody start=6
		frame 1
		  line function="main"
		frame 2
		  line function="read"
		stack 1 frames=1
		stack 2 frames=1,2
		`
	r := fromtext.Reader(t, machine+stream+"\nend close=+1000\n")
	var got listed
	if _, err := Draw(r, &got, Options{Threads: true}); err != nil {
		t.Fatal(err)
	}
	want = strings.TrimSpace(strings.ReplaceAll(want, "\t", ""))
	if lines := strings.Join(got.items, "\n"); lines != want {
		t.Errorf("got\n%s\nwant\n%s", lines, want)
	}
}

// Counters of two types are two, unless the types name a common track.
func TestCountersOfTypesAreApart(t *testing.T) {
	drawn(t, `
		eventtype 1 name="queue" group="net"
		  field "depth" type=int hint=counter
		eventtype 2 name="queue" group="disk"
		  field "depth" type=int hint=counter
		eventtype 3 name="pool"
		  field "depth" type=int hint=counter
		eventtype 4 name="pool" track="all"
		  field "depth" type=int hint=counter unit="pages"
		eventtype 5 name="delay"
		  field "last" type=duration hint=counter
		+1 cpu0 typed 2 type=1 .depth=1
		+2 cpu0 typed 2 type=2 .depth=2
		+3 cpu0 typed 2 type=3 .depth=3
		+4 cpu0 typed 2 type=4 .depth=4
		+5 cpu0 typed 2 type=5 .last=5
	`, `
		2 counter "net:queue depth" of thread 20 = 1
		3 counter "disk:queue depth" of thread 20 = 2
		4 counter "pool depth" of thread 20 = 3
		5 counter "all depth" of thread 20 = 4 pages
		6 counter "delay last" of thread 20 = 5 ns
	`)
}

// Values of both ends of a span are shown, those that are the same once.
func TestBothEndsOfASpanAreShown(t *testing.T) {
	drawn(t, `
		text 1 text="a"
		text 2 text="b"
		eventtype 1 name="call" shape=begin
		  field "fd" type=uint
		  field "size" type=uint
		  field "wait" type=duration
		  field "what" type=text
		  field "peer" type=task
		  field "where" type=stack
		  field "stack" type=uint
		eventtype 2 name="return" shape=end ends=1
		  field "what" type=text
		  field "fd" type=uint
		  field "size" type=uint
		  field "wait" type=duration
		  field "peer" type=task
		  field "rc" type=int
		  field "where" type=stack
		+1 cpu0 typed 2 type=1 .fd=3 .size=10 .wait=7 .what=1 .peer=2 .where=1 .stack=9
		+2 cpu0 typed 2 type=1 .fd=3 .size=10 .wait=7 .what=0 .peer=2 .where=0 .stack=9
		+3 cpu0 typed 2 type=2 .what=2 .fd=3 .size=10 .wait=8 .peer=2 .rc=-1 .where=2
		+4 cpu0 typed 2 type=2 .what=1 .fd=3 .size=11 .wait=7 .peer=1 .rc=0 .where=2
	`, `
		3-4 call on "call" of thread 20 fd=3 size=10 wait_ns=7 peer=one stack_=9 what (end)=b wait_ns (end)=8 rc=-1 at main/read
		2-5 call on "call" of thread 20 fd=3 size=10 wait_ns=7 what=a peer=one stack_=9 stack (end)=read/main size (end)=11 peer (end)=swapper rc=0 at main
	`)
}

// A track that only a newer version knows is taken for that of the thread.
func TestUnknownTrackIsThatOfTheThread(t *testing.T) {
	drawn(t, `
		eventtype 1 name="call" shape=span on=4
		eventtype 2 name="mark" on=4294967295
		+2 cpu0 typed 2 type=1 start=+1
		+3 cpu0 typed 2 type=2
	`, `
		2-3 call on "call" of thread 20
		4-4 mark on "" of thread 20
	`)
}

// A span without a name of its own has the one that its end has.
func TestEndsNameSpans(t *testing.T) {
	drawn(t, `
		eventtype 1 name="call" shape=begin
		eventtype 2 name="return" shape=end ends=1
		  field "function" type=string hint=name
		+1 cpu0 typed 2 type=1
		+2 cpu0 typed 2 type=2 .function="read"
	`, `
		2-3 read on "call" of thread 20 function=read
	`)
}

// Begins of one type are no begins of another with the same name, also where a section gives a type another id.
func TestEndsMatchTheirOwnType(t *testing.T) {
	drawn(t, `
		eventtype 1 name="io" shape=begin track="disk"
		eventtype 2 name="io" shape=begin track="net"
		eventtype 3 name="done" shape=end ends=1
		+1 cpu0 typed 2 type=1
		+2 cpu0 typed 2 type=2
		+3 cpu0 typed 2 type=1
		+4 cpu0 typed 2 type=3
		end close=+5
		section continues open=1 close=+1000 boot_id=b
		task 1 tid=20 pid=20 comm=one process_comm=one start=5
		eventtype 1 name="io" shape=begin track="net"
		eventtype 2 name="io" shape=begin track="disk"
		eventtype 3 name="done" shape=end ends=2
		+6 cpu0 typed 1 type=3
	`, `
		4-5 io on "disk" of thread 20
		2-7 io on "disk" of thread 20
		3-1001 io on "net" of thread 20 open
	`)
}

// Events without a thread are drawn on their CPU, and spans of the idle threads of two CPUs are two.
func TestEventsWithoutAThread(t *testing.T) {
	drawn(t, `
		eventtype 1 name="irq" shape=begin
		eventtype 2 name="irq done" shape=end ends=1
		eventtype 3 name="mark"
		eventtype 4 name="heap" on=process
		  field "bytes" type=uint hint=counter
		eventtype 5 name="poll" shape=begin on=cpu
		eventtype 6 name="poll done" shape=end ends=5 on=cpu
		eventtype 7 name="job" shape=begin on=global
		eventtype 8 name="job done" shape=end ends=7 on=global
		eventtype 9 name="idle" shape=begin on=cpu
		eventtype 10 name="idle done" shape=end ends=9
		+1 cpu0 typed 1 type=1
		+2 cpu1 typed 1 type=1
		+3 cpu0 typed 1 type=2
		+4 cpu1 typed 1 type=2
		+5 cpu1 typed 1 type=3
		+6 cpu1 typed 0 type=3
		+7 cpu1 typed 0 type=4 .bytes=5
		+8 cpu1 typed 3 type=4 .bytes=6
		+10 cpu0 typed 0 type=5
		+11 cpu1 typed 0 type=5
		+12 cpu0 typed 0 type=6
		+13 cpu1 typed 0 type=6
		+20 cpu0 typed 0 type=7
		+21 cpu1 typed 0 type=8
		+22 cpu1 typed 3 type=3
		+30 cpu0 typed 0 type=9
		+31 cpu1 typed 0 type=9
		+32 cpu0 typed 0 type=10
		+33 cpu1 typed 0 type=10
	`, `
		2-4 irq on "irq" of cpu 0
		3-5 irq on "irq" of cpu 1
		6-6 mark on "mark" of cpu 1
		7-7 mark on "mark" of cpu 1
		8 counter "heap bytes" of cpu 1 = 5
		9 counter "heap bytes" of thread 30 = 6
		11-13 poll on "poll" of cpu 0
		12-14 poll on "poll" of cpu 1
		21-22 job on "job" of global
		23-23 mark on "" of thread 30
		31-33 idle on "idle" of cpu 0
		32-34 idle on "idle" of cpu 1
	`)
}

// What began before the window is drawn from its opening on, with its true length.
func TestSlicesFromBeforeTheWindow(t *testing.T) {
	drawn(t, `
		eventtype 1 name="request" shape=span
		  field "length" type=duration
		+5 cpu0 typed 2 type=1 start=-94 .length=3
	`, `
		1-6 request on "request" of thread 20 length_ns=3 length_ns_=99
	`)
}

// Open spans take bounded memory: from some memory on they are kept without their arguments, and beyond another not at all.
func TestOpenSpansAreBoundedByMemory(t *testing.T) {
	race.Skip(t)
	m := NewMaker(hostile{typ: &format.EventType{
		Name: []byte("x"), Shape: uint32(format.TypeShape_SHAPE_BEGIN), Fields: []*format.TypeField{
			{Name: []byte("key"), Type: uint32(format.ValueType_VALUE_UINT), Hint: uint32(format.ValueHint_HINT_KEY)},
			{Name: []byte("text"), Type: uint32(format.ValueType_VALUE_STRING)},
		},
	}})
	d := &m.typed
	long, short := append([]byte{0x80, 0x20}, bytes.Repeat([]byte("x"), maxText)...), []byte{1, 'x'}
	begin := func(i, keys int, text []byte) {
		key := i % keys
		d.of(event(int64(i), 1, append([]byte{byte(key)&0x7f | 0x80, byte(key>>7)&0x7f | 0x80, byte(key >> 14)}, text...)...))
		if d.memory > maxOpen {
			t.Fatalf("%d bytes after %d begins", d.memory, i)
		}
	}
	for i := range 3 * maxBegun { // most are dropped
		begin(i, 4*maxBegun, short)
	}
	var kept int
	for s := range d.open.Values() {
		for _, one := range s.open {
			kept += one.memory()
		}
	}
	if kept != d.memory {
		t.Errorf("open spans weigh %d bytes, but %d are counted", kept, d.memory)
	}
	for i := range 20_000 {
		begin(i, 4096, long)
	}
	for i := range 300_000 {
		begin(i, 4096, short)
	}
	with, without := 0, 0
	for _, i := range d.close(1 << 40) {
		if len(i.Args) > 0 {
			with++
		} else {
			without++
		}
	}
	if with < 1000 || without < 50_000 {
		t.Errorf("%d open spans have their arguments, %d have not", with, without)
	}
	if d.memory != 0 {
		t.Errorf("%d bytes are left", d.memory)
	}
}

// A key is the same in all sections: text, thread and stack by what they are, whatever their ids.
func TestKeysAreTheSameInAllSections(t *testing.T) {
	types := ""
	for n, key := range []string{"text", "task", "stack"} {
		types += fmt.Sprintf("eventtype %d name=%q shape=begin\nfield \"k\" type=%s hint=key\n", 2*n+1, "by "+key, key)
		types += fmt.Sprintf("eventtype %d name=\"end\" shape=end ends=%d\nfield \"k\" type=%s hint=key\n", 2*n+2, 2*n+1, key)
	}
	drawn(t, types+`
		text 1 text="a"
		text 2 text="b"
		+1 cpu0 typed 2 type=1 .k=1
		+2 cpu0 typed 2 type=1 .k=2
		+3 cpu0 typed 2 type=3 .k=2
		+4 cpu0 typed 2 type=3 .k=3
		+5 cpu0 typed 2 type=5 .k=1
		+6 cpu0 typed 2 type=5 .k=2
		+7 cpu0 typed 2 type=5 .k=7
		end close=+8
		section continues open=1 close=+1000 boot_id=b
		`+types+`
		text 1 text="b"
		text 2 text="a"
		task 1 tid=20 pid=20 comm=one process_comm=one start=5
		task 2 tid=30 comm=nobody start=6
		task 3 tid=20 pid=20 comm=other process_comm=one start=5
		frame 1
		  line function="read"
		frame 2
		  line function="main"
		stack 1 frames=2,1
		stack 2 frames=2
		+11 cpu0 typed 1 type=2 .k=1
		+12 cpu0 typed 1 type=2 .k=2
		+13 cpu0 typed 1 type=4 .k=2
		+14 cpu0 typed 1 type=4 .k=3
		+15 cpu0 typed 1 type=6 .k=1
		+16 cpu0 typed 1 type=6 .k=2
		+17 cpu0 typed 1 type=6 .k=7
	`, `
		3-12 by text on "by text" of thread 20 k=b
		2-13 by text on "by text" of thread 20 k=a
		5-14 by task on "by task" of thread 20 k=nobody
		4-15 by task on "by task" of thread 20 k=one
		7-16 by stack on "by stack" of thread 20 at main/read
		6-17 by stack on "by stack" of thread 20 at main
		8-1001 by stack on "by stack" of thread 20 at [lost] open
	`)
}

// Keys of any length differ where their last bytes do.
func TestLongKeysDiffer(t *testing.T) {
	long := strings.Repeat("x", 300)
	drawn(t, strings.ReplaceAll(`
		eventtype 1 name="job" shape=begin
		  field "k" type=string hint=key
		eventtype 2 name="end" shape=end ends=1
		  field "k" type=string hint=key
		+1 cpu0 typed 2 type=1 .k="LONG1"
		+2 cpu0 typed 2 type=1 .k="LONG2"
		+3 cpu0 typed 2 type=2 .k="LONG1"
		+4 cpu0 typed 2 type=2 .k="LONG2"
	`, "LONG", long), strings.ReplaceAll(`
		2-4 job on "job" of thread 20 k=LONG1
		3-5 job on "job" of thread 20 k=LONG2
	`, "LONG", long))
}

// An instant is drawn besides its counters if it has other fields.
func TestCountersHideNoOtherFields(t *testing.T) {
	drawn(t, `
		eventtype 1 name="queue"
		  field "depth" type=int hint=counter
		  field "why" type=string
		eventtype 2 name="load"
		  field "one" type=float hint=counter
		  field "two" type=float hint=counter
		+1 cpu0 typed 2 type=1 .depth=1 .why="full"
		+2 cpu0 typed 2 type=2 .one=0.5 .two=2
		+3 cpu0 typed 2 type=2 .one=0.5 .two=NaN
	`, `
		2 counter "queue depth" of thread 20 = 1
		2-2 queue on "" of thread 20 depth=1 why=full
		3 counter "load one" of thread 20 = 0.5
		3 counter "load two" of thread 20 = 2
		4 counter "load one" of thread 20 = 0.5
		4-4 load on "" of thread 20 one=0.5 two=NaN
	`)
}

// Encoders mark texts that are longer than what they show, so that a list is cut beyond that.
func TestListsAreCutBeyondWhatIsShown(t *testing.T) {
	m := NewMaker(hostile{typ: &format.EventType{Name: []byte("x"), Fields: []*format.TypeField{
		{Name: []byte("all"), Type: uint32(format.ValueType_VALUE_UINT), List: true},
	}}})
	for elements, want := range map[int]int{
		1365: 3*1365 - 2, // 1, 1, 1
		1366: 3*1366 - 2,
		1367: format.MaxValueText + 1,
		9000: format.MaxValueText + 1,
	} {
		values := append(binary.AppendUvarint(nil, uint64(elements)), bytes.Repeat([]byte{1}, elements)...)
		if items, _ := m.Items(event(1, 1, values...)); len(items) != 1 || len(items[0].Args) != 1 || len(items[0].Args[0].Text) != want {
			t.Errorf("%d elements: got %d items with %d bytes, want %d", elements, len(items), len(items[0].Args[0].Text), want)
		}
	}
}

// Arguments have different names, whatever the fields are called.
func TestNamesOfArgumentsDiffer(t *testing.T) {
	drawn(t, `
		eventtype 1 name="call" shape=begin
		  field "d" type=duration
		  field "d_ns" type=uint
		  field "stack" type=stack
		  field "stack_" type=uint
		eventtype 2 name="return" shape=end ends=1
		  field "d" type=duration
		  field "d_ns" type=uint
		  field "stack" type=uint
		eventtype 3 name="request" shape=span
		  field "length_ns" type=uint
		  field "length_ns_" type=uint
		+1 cpu0 typed 2 type=1 .d=1 .d_ns=2 .stack=1 .stack_=3
		+2 cpu0 typed 2 type=2 .d=4 .d_ns=5 .stack=6
		+5 cpu0 typed 2 type=3 start=-94 .length_ns=7 .length_ns_=8
	`, `
		2-3 call on "call" of thread 20 d_ns=1 d_ns_=2 stack_=3 d_ns (end)=4 d_ns (end)_=5 stack__=6 at main
		1-6 request on "request" of thread 20 length_ns=7 length_ns_=8 length_ns__=99
	`)
}

// Numbers that viewers do not have are shown as text: Perfetto's engine shows 2^64-1 as -1, and NaN as nothing.
func TestNumbersBeyondThoseOfViewers(t *testing.T) {
	m := NewMaker(hostile{typ: &format.EventType{Name: []byte("x"), Fields: []*format.TypeField{
		{Name: []byte("u"), Type: uint32(format.ValueType_VALUE_UINT)}, {Name: []byte("f"), Type: uint32(format.ValueType_VALUE_FLOAT)},
	}}})
	for _, of := range []struct {
		number uint64
		float  float64
		want   [2]Arg
	}{
		{math.MaxInt64, 1, [2]Arg{{Number: math.MaxInt64}, {Type: ArgFloat, Number: math.Float64bits(1)}}},
		{math.MaxInt64 + 1, math.NaN(), [2]Arg{{Type: ArgText, Text: "9223372036854775808"}, {Type: ArgText, Text: "NaN"}}},
		{math.MaxUint64, math.Inf(-1), [2]Arg{{Type: ArgText, Text: "18446744073709551615"}, {Type: ArgText, Text: "-Inf"}}},
	} {
		values := binary.LittleEndian.AppendUint64(binary.AppendUvarint(nil, of.number), math.Float64bits(of.float))
		items, _ := m.Items(event(1, 1, values...))
		for i, got := range items[0].Args {
			if want := of.want[i]; got.Type != want.Type || got.Text != want.Text || got.Type != ArgText && got.Number != want.Number {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
}

// Each element of a list has its place, and lists of times and durations have their unit.
func TestListsKeepTheirElements(t *testing.T) {
	drawn(t, `
		text 1 text="a"
		eventtype 1 name="x"
		  field "d" type=duration list
		  field "at" type=time list
		  field "all" type=text list
		+5 cpu0 typed 2 type=1 .d=3,-4 .at=+1,+3 .all=0,1,0,1
	`, `
		6-6 x on "" of thread 20 d_ns=3, -4 at_before_ns=4, 2 all=, a, , a
	`)
}

// Signed numbers and bytes are also shown in hexadecimal.
func TestHexadecimalValues(t *testing.T) {
	drawn(t, `
		eventtype 1 name="x"
		  field "u" type=uint hint=hex
		  field "i" type=int hint=hex
		  field "b" type=bytes hint=hex
		  field "all" type=int list hint=hex
		+5 cpu0 typed 2 type=1 .u=255 .i=-255 .b="\x00\xff" .all=16,-1
	`, `
		6-6 x on "" of thread 20 u=0xff i=-0xff b=00ff all=0x10, -0x1
	`)
}

// An empty name names nothing.
func TestEmptyNamesAreThoseOfTheType(t *testing.T) {
	drawn(t, `
		eventtype 1 name="call" shape=begin
		  field "name" type=string hint=name
		eventtype 2 name="return" shape=end ends=1
		  field "name" type=string hint=name
		eventtype 3 name="mark"
		  field "name" type=string hint=name
		+1 cpu0 typed 2 type=3
		+2 cpu0 typed 2 type=1
		+3 cpu0 typed 2 type=2
	`, `
		2-2 mark on "" of thread 20
		3-4 call on "call" of thread 20
	`)
}

// An interrupt is drawn on the CPU's track and, without arguments, within the slice of the thread that it interrupted: nested as interrupts
// are, and only from the begin of that slice on. What a thread runs itself, and what interrupts an idle CPU, is not drawn again.
func TestInterruptsAreDrawnInTheThreadsSlice(t *testing.T) {
	drawn(t, `
		eventtype 1 name="hardirq" shape=span on=cpu track="Interrupts" colour="hardirq" interrupts=hard
		  field "handler" type=string hint=name
		  field "irq" type=uint
		eventtype 2 name="softirq" shape=span on=cpu track="Interrupts" interrupts=soft
		  field "own" type=bool hint=own
		+0 cpu0 state_cpu 1 prio=120
		+5 cpu0 typed 1 type=2 start=+2
		+10 cpu0 switch 1 next=2 prev_state=R
		+30 cpu0 typed 2 type=1 start=+20 .handler="eth0" .irq=7
		+40 cpu0 typed 2 type=2 start=+20
		+50 cpu0 typed 2 type=2 start=+41 .own=1
		+60 cpu0 typed 2 type=1 start=+8 .irq=1
		+70 cpu1 typed 2 type=1 start=+65 .irq=2
	`, `
		3-6 softirq on "Interrupts" of cpu 0 own=false
		21-31 eth0 on "Interrupts" of cpu 0 irq=7
		21-31 hardirq:eth0 on "" of thread 20
		21-41 softirq on "Interrupts" of cpu 0 own=false
		20-41 softirq on "" of thread 20
		42-51 softirq on "Interrupts" of cpu 0 own=true
		9-61 hardirq on "Interrupts" of cpu 0 irq=1
		12-61 hardirq on "" of thread 20
		66-71 hardirq on "Interrupts" of cpu 1 irq=2`)
}

// A number that is not known is no argument.
func TestNumbersThatAreNotKnownAreLeftOut(t *testing.T) {
	drawn(t, `
		eventtype 1 name="ipi" on=cpu
		  field "delay" type=duration hint=or_unknown
		  field "sender" type=int hint=or_unknown
		+1 cpu0 typed 2 type=1 .delay=3 .sender=0
		+2 cpu0 typed 2 type=1 .delay=0 .sender=-1
	`, `
		2-2 ipi on "ipi" of cpu 0 delay_ns=3 sender=0
		3-3 ipi on "ipi" of cpu 0
	`)
}

// Spans of a probe are on one track of the thread, under the names that its template makes, and their entries are not drawn. What
// could not be read is left out.
func TestProbesAreDrawn(t *testing.T) {
	drawn(t, `
		eventtype 1 name="malloc" group="probe" label="malloc {size}" probe="m" entry
		  field "size" type=uint
		  field "unread" type=uint hint=unread
		eventtype 2 name="malloc" group="probe" shape=span label="malloc {size}" probe="m"
		  field "size" type=uint
		  field "depth" type=uint hint=counter
		  field "stack" type=stack
		  field "unread" type=uint hint=unread
		eventtype 3 name="free" group="probe" probe="m"
		  field "at" type=uint hint=hex
		  field "path" type=string hint=name
		  field "unread" type=uint hint=unread
		+1 cpu0 typed 2 type=1 .size=7 .unread=0
		+5 cpu0 typed 2 type=2 start=+1 .size=7 .depth=3 .stack=2 .unread=0
		+6 cpu0 typed 2 type=2 start=+0 .size=0 .depth=0 .stack=0 .unread=7
		+7 cpu0 typed 2 type=3 .at=255 .path="" .unread=2
	`, `
		6 counter "m depth" of thread 20 = 3
		2-6 malloc 7 on "m" of thread 20 size=7 depth=3 at main/read
		1-7 malloc  on "m" of thread 20
		8-8 free on "m" of thread 20 at=0xff
	`)
}

// A span that began in another thread than it ended is on a track of their process, or on one for all.
func TestSpansThatCrossThreads(t *testing.T) {
	drawn(t, `
		task 4 tid=21 pid=20 comm=two process_comm=one start=7
		task 5 tid=50 pid=50 comm=other process_comm=other start=8
		task 6 tid=20 pid=20 comm=renamed process_comm=one start=5
		eventtype 1 name="request" group="probe" shape=span probe="r"
		  field "id" type=uint
		  field "thread" type=task hint=began_by
		  field "unread" type=uint hint=unread
		+3 cpu0 typed 2 type=1 start=+1 .id=1 .thread=2 .unread=0
		+4 cpu0 typed 2 type=1 start=+1 .id=2 .thread=6 .unread=0
		+5 cpu0 typed 2 type=1 start=+1 .id=3 .thread=4 .unread=0
		+6 cpu0 typed 2 type=1 start=+2 .id=4 .thread=5 .unread=0
		+7 cpu0 typed 2 type=1 start=+2 .id=5 .thread=0 .unread=0
	`, `
		2-4 request on "r" of thread 20 id=1 thread_=one
		2-5 request on "r" of thread 20 id=2 thread_=renamed
		2-6 request on "r" of process 20 thread=one id=3 thread_=two
		3-7 request on "r" of global thread=one id=4 thread_=other
		3-8 request on "r" of thread 20 id=5
	`)
}
