//go:build linux

package bpf

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/probe"
	"wprof/internal/ringdata"
	"wprof/internal/usercode"
)

// probed is what arguments of the probed functions point to.
type probed struct {
	negative int8
	number   int32
	bits     uint32
	full     [4]byte // no 0 follows
	after    [4]byte
	cstring  *byte
	text     string
	next     *probed
	array    [4]uint16
}

//go:noinline
func probedCall(a int64, p *probed, text string, small int8) int64 {
	return a + int64(p.number) + int64(len(text)) + int64(small)
}

//go:noinline
func probedNest(n int64) int64 {
	if n == 0 {
		return 0
	}
	runtime.Gosched()
	var large [512]int64 // so that stacks grow, and move
	large[n%int64(len(large))] = n
	return probedNest(n-1) + large[n%int64(len(large))] - n + 1
}

//go:noinline
func probedOpen(key int64) { probedKeys.Add(key) }

//go:noinline
func probedClose(key int64) { probedKeys.Add(-key) }

var probedKeys atomic.Int64 // so that their functions are called

// probedSite finds a function of this program.
func probedSite(t *testing.T, name string) (probe.Site, []probe.Site) {
	t.Helper()
	f, err := usercode.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := f.Functions("wprof/bpf."+name, 1)
	if err != nil {
		t.Fatal(err)
	}
	returns, err := f.Returns(&found[0])
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	var ends []probe.Site
	for _, at := range returns {
		ends = append(ends, probe.Site{Path: path, Offset: at})
	}
	return probe.Site{Path: path, Offset: found[0].Offset, Function: 7}, ends
}

// register is where an argument or a result is in Go.
func register(t *testing.T, index int, isResult bool) probe.From {
	t.Helper()
	f, err := usercode.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := usercode.Argument(f.Machine(), index, usercode.Go, isResult)
	if err != nil {
		t.Fatal(err)
	}
	return read.From
}

// onlyProbes are the options of a recording of nothing but probes.
func onlyProbes(programs ...*probe.Program) Options {
	return Options{Off: format.GroupSched | format.GroupWakeup, Probes: programs}
}

// eventsOf returns the values of the events of a type.
func eventsOf(records []record, number int) (all [][]byte) {
	for _, r := range records {
		switch {
		case r.kind() == ringdata.KindInstant && r.u32(ringdata.InstantType) == ringdata.TypeTracepoint+number:
			all = append(all, r.bytes[ringdata.InstantBytes:])
		case r.kind() == ringdata.KindTyped && r.u32(ringdata.TracepointType) == ringdata.TypeTracepoint+number:
			all = append(all, r.bytes[ringdata.TracepointBytes:])
		}
	}
	return all
}

// textAt returns the text whose location is at a place.
func textAt(values []byte, place int) string {
	location := binary.LittleEndian.Uint32(values[place:])
	text, _, _ := strings.Cut(string(values[location&0xffff:][:location>>16]), "\x00")
	return text
}

// valueCase is a read, and what it gives: a number, a text, or nothing.
type valueCase struct {
	name string
	read probe.Read
	want any
}

const (
	valuePlace  = 0
	unreadPlace = 8
	valuesFixed = 12
)

// program is an instant with the value.
func (c *valueCase) program(number int, site probe.Site) *probe.Program {
	return &probe.Program{
		Sites: []probe.Site{site}, Type: uint32(number), OneOf: 1, Fixed: valuesFixed, Unread: unreadPlace, BeganBy: -1,
		Values: []probe.Value{{Read: c.read, Place: valuePlace, Bit: 3}},
	}
}

func (c *valueCase) check(t *testing.T, values []byte) {
	t.Helper()
	unread := binary.LittleEndian.Uint32(values[unreadPlace:])
	wantUnread := uint32(0)
	if c.want == nil {
		wantUnread = 1 << 3
	}
	if unread != wantUnread {
		t.Errorf("%s: the bits of values that could not be read are %#x, want %#x", c.name, unread, wantUnread)
		return
	}
	var got any
	switch c.want.(type) {
	case string:
		got = textAt(values, valuePlace)
	case int64:
		got = numberAt(values[valuePlace:], c.read.Leaf.Size, c.read.Leaf.Signed)
	}
	if got != c.want {
		t.Errorf("%s: %v, want %v", c.name, got, c.want)
	}
}

func numberAt(b []byte, size int, signed bool) int64 {
	var whole [8]byte
	copy(whole[:], b[:size])
	n := binary.LittleEndian.Uint64(whole[:])
	if shift := 64 - 8*size; signed {
		return int64(n<<shift) >> shift
	}
	return int64(n)
}

func number(size int, signed bool) probe.Leaf { return probe.Leaf{Size: size, Signed: signed} }

func add(n uintptr) probe.Step { return probe.Step{Kind: probe.StepAdd, Number: int64(n)} }

func load(size int, signed bool) probe.Step {
	return probe.Step{Kind: probe.StepLoad, Size: size, Signed: signed, User: true}
}

func cString(text string) *byte { return &append([]byte(text), 0)[0] }

func TestProbesReadValues(t *testing.T) {
	long := strings.Repeat("long ", 100)
	var of probed
	p := &probed{
		negative: -5, number: -70000, bits: 0b1011_0110_1000, full: [4]byte{'a', 'b', 'c', 'd'}, after: [4]byte{'X'}, cstring: cString("c string"),
		text: "a Go string", next: &probed{number: 42, cstring: cString(long), text: long}, array: [4]uint16{1, 2, 3, 60000},
	}
	arg := func(index, size int, signed bool) probe.From {
		f := register(t, index, false)
		f.Size, f.Signed = size, signed
		return f
	}
	pointer := arg(1, 8, false)
	in := func(offset uintptr, leaf probe.Leaf, steps ...probe.Step) probe.Read {
		return probe.Read{From: pointer, Steps: append([]probe.Step{add(offset)}, steps...), Leaf: leaf}
	}
	from := func(kind probe.FromKind, size int) probe.Read {
		return probe.Read{From: probe.From{Kind: kind, Size: size}, Leaf: number(size, false)}
	}
	lengthFrom := arg(3, 8, false)
	comm, err := os.ReadFile("/proc/thread-self/comm")
	if err != nil {
		t.Fatal(err)
	}
	slice := probe.Leaf{Kind: probe.LeafSlice, LengthAt: 8, User: true}
	var cpu int
	var tid int
	const a = -0x1122334455667788
	cases := []valueCase{
		{"a register", probe.Read{From: arg(0, 8, true), Leaf: number(8, true)}, int64(a)},
		{"a register's lowest 4 bytes", probe.Read{From: arg(0, 4, false), Leaf: number(4, false)}, int64(uint32(a & 0xffffffff))},
		{"a register's lowest 2 bytes", probe.Read{From: arg(0, 2, true), Leaf: number(8, true)}, int64(int16(-0x7788))},
		{"a register's lowest byte", probe.Read{From: arg(4, 1, true), Leaf: number(4, true)}, int64(-3)},
		{"a constant", probe.Read{From: probe.From{Kind: probe.FromConstant, Number: -1 << 40, Size: 8}, Leaf: number(8, true)}, int64(-1 << 40)},
		{"a small negative constant", probe.Read{From: probe.From{Kind: probe.FromConstant, Number: -7, Size: 8}, Leaf: number(2, true)}, int64(-7)},
		{"a signed field", in(unsafe.Offsetof(of.number), number(4, true), load(4, true)), int64(-70000)},
		{"a signed field as 8 bytes", in(unsafe.Offsetof(of.negative), number(8, true), load(1, true)), int64(-5)},
		{"an unsigned field as 8 bytes", in(unsafe.Offsetof(of.negative), number(8, false), load(1, false)), int64(251)},
		{"a bit-field", in(unsafe.Offsetof(of.bits), probe.Leaf{Size: 4, Shift: 3, Bits: 5}, load(4, false)), int64(0b01101)},
		{"a signed bit-field", in(unsafe.Offsetof(of.bits), probe.Leaf{Size: 8, Signed: true, Shift: 5, Bits: 3}, load(4, false)), int64(0b011)},
		{"a negative bit-field", in(unsafe.Offsetof(of.bits), probe.Leaf{Size: 8, Signed: true, Shift: 8, Bits: 4}, load(4, false)), int64(0b1011 - 16)},
		{"a field behind a pointer", in(unsafe.Offsetof(of.next), number(4, true), load(8, false), add(unsafe.Offsetof(of.number)), load(4, true)), int64(42)},
		{"an element by a register", in(unsafe.Offsetof(of.array)+6-2*12, number(2, false), probe.Step{
			Kind: probe.StepAddRegister, Register: lengthFrom.Register, Scale: 2,
		}, load(2, false)), int64(60000)},
		{"a far field", in(1<<40, number(8, false), add(^uintptr(1<<40)+1), add(unsafe.Offsetof(of.number)), load(4, false)), int64(1<<32 - 70000)},
		{"memory that is not there", probe.Read{From: arg(0, 2, false), Steps: []probe.Step{load(8, false)}, Leaf: number(8, false)}, nil},
		{"a null pointer's field", in(unsafe.Offsetof(of.next), number(4, false), load(8, false), add(unsafe.Offsetof(of.next)), load(8, false), load(4, false)), nil},
		{"a C string", in(unsafe.Offsetof(of.cstring), probe.Leaf{Kind: probe.LeafString, User: true}, load(8, false)), "c string"},
		{"the beginning of a C string", in(unsafe.Offsetof(of.cstring), probe.Leaf{Kind: probe.LeafString, Size: 5, User: true}, load(8, false)), "c st"},
		{"a C string that is too long", in(unsafe.Offsetof(of.next), probe.Leaf{Kind: probe.LeafString, User: true},
			load(8, false), add(unsafe.Offsetof(of.cstring)), load(8, false)), long[:probe.MaxString-1]},
		{"a C string that is not there", in(unsafe.Offsetof(of.next), probe.Leaf{Kind: probe.LeafString, User: true},
			load(8, false), add(unsafe.Offsetof(of.next)), load(8, false)), nil},
		{"a char array", in(unsafe.Offsetof(of.after), probe.Leaf{Kind: probe.LeafArray, Size: 4, User: true}), "X"},
		{"a full char array", in(unsafe.Offsetof(of.full), probe.Leaf{Kind: probe.LeafArray, Size: 4, User: true}), "abcd"},
		{"bytes", in(unsafe.Offsetof(of.full)+1, probe.Leaf{Kind: probe.LeafBytes, Size: 3, User: true}), "bcd"},
		{"a Go string in memory", in(unsafe.Offsetof(of.text), slice), "a Go string"},
		{"a Go string that is too long", in(unsafe.Offsetof(of.next), slice, load(8, false), add(unsafe.Offsetof(of.text))), long[:probe.MaxString-1]},
		{"a Go string in registers", probe.Read{From: arg(2, 8, false), Leaf: probe.Leaf{Kind: probe.LeafSlice, User: true, LengthFrom: &lengthFrom}}, "in registers"},
		{"the thread's name", probe.Read{From: probe.From{Kind: probe.FromComm}, Leaf: probe.Leaf{Kind: probe.LeafString}}, strings.TrimSpace(string(comm))},
		{"the process", from(probe.FromProcess, 4), int64(os.Getpid())},
		{"the thread", from(probe.FromThread, 4), int64(0)},
		{"the CPU", from(probe.FromCPU, 4), int64(0)},
		{"the number of the function", from(probe.FromSite, 2), int64(7)},
	}
	site, _ := probedSite(t, "probedCall")
	var programs []*probe.Program
	for i := range cases {
		programs = append(programs, cases[i].program(i, site))
	}
	tracer := mustLoad(t, onlyProbes(programs...))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &before))
	cpu = runtime.NumCPU() - 1
	var only unix.CPUSet
	only.Set(cpu)
	records := recording(t, tracer, func() {
		must(t, unix.SchedSetaffinity(0, &only))
		tid = unix.Gettid()
		probedCall(a, p, "in registers", -3)
		must(t, unix.SchedSetaffinity(0, &before))
	})
	for i := range cases {
		c := &cases[i]
		switch c.name {
		case "the thread":
			c.want = int64(tid)
		case "the CPU":
			c.want = int64(cpu)
		}
		events := eventsOf(records, i)
		if len(events) != 1 {
			t.Errorf("%s: %d events, want 1", c.name, len(events))
			continue
		}
		c.check(t, events[0])
	}
}

func TestProbesCompareValues(t *testing.T) {
	site, _ := probedSite(t, "probedCall")
	first := register(t, 0, false)
	text, length := register(t, 2, false), register(t, 3, false)
	cases := []struct {
		name string
		test probe.Test
		text bool
		want int // of a = -3 … 3, with the texts t0 … t6
	}{
		{"==", probe.Test{Op: probe.OpEqual, Number: -1}, false, 1},
		{"!=", probe.Test{Op: probe.OpNotEqual, Number: -1}, false, 6},
		{"<", probe.Test{Op: probe.OpLess, Number: 1, Signed: true}, false, 4},
		{"<=", probe.Test{Op: probe.OpLessEqual, Number: 1, Signed: true}, false, 5},
		{">", probe.Test{Op: probe.OpGreater, Number: -1, Signed: true}, false, 4},
		{">=", probe.Test{Op: probe.OpGreaterEqual, Number: -1, Signed: true}, false, 5},
		{"< unsigned", probe.Test{Op: probe.OpLess, Number: 1}, false, 1},
		{"<= unsigned", probe.Test{Op: probe.OpLessEqual, Number: 1}, false, 2},
		{"> unsigned", probe.Test{Op: probe.OpGreater, Number: 1}, false, 5},
		{">= unsigned", probe.Test{Op: probe.OpGreaterEqual, Number: -2}, false, 2},
		{"&", probe.Test{Op: probe.OpMask, Number: 2}, false, 4}, // -2, -1, 2, 3
		{"& of the highest bit", probe.Test{Op: probe.OpMask, Number: -1 << 63}, false, 3},
		{"~", probe.Test{Op: probe.OpGlob, Glob: "t*"}, true, 7},
		{"~ of one", probe.Test{Op: probe.OpGlob, Glob: "?5"}, true, 1},
		{"!= of a text", probe.Test{Op: probe.OpNotEqual, Glob: "t5", Not: true}, true, 6},
		{"~ of none", probe.Test{Op: probe.OpGlob, Glob: "t"}, true, 0},
	}
	var programs []*probe.Program
	for i, c := range cases {
		v := probe.Value{Read: probe.Read{From: first, Leaf: number(8, c.test.Signed)}, Place: -1, Conditions: []probe.Test{c.test}}
		if c.text {
			v.Read = probe.Read{From: text, Leaf: probe.Leaf{Kind: probe.LeafSlice, User: true, LengthFrom: &length}}
		}
		programs = append(programs, &probe.Program{
			Sites: []probe.Site{site}, Type: uint32(i), OneOf: 1, Fixed: 0, Unread: -1, BeganBy: -1, Values: []probe.Value{v},
		})
	}
	records := recording(t, mustLoad(t, onlyProbes(programs...)), func() {
		for i := range int64(7) {
			probedCall(i-3, &probed{}, fmt.Sprint("t", i), 0)
		}
	})
	for i, c := range cases {
		if got := len(eventsOf(records, i)); got != c.want {
			t.Errorf("%s: %d events, want %d", c.name, got, c.want)
		}
	}
}

// Calls of a Go function nest by goroutine, wherever they run and whatever becomes of their stacks; others are matched by a value.
func TestProbesMatchTheEndsOfSpans(t *testing.T) {
	entry, returns := probedSite(t, "probedNest")
	opened, _ := probedSite(t, "probedOpen")
	closed, _ := probedSite(t, "probedClose")
	const fixed, unread = 20, 16
	span := func(role probe.Role, number uint32, sites []probe.Site, key probe.Key, read probe.From, place int) *probe.Program {
		v := probe.Value{Read: probe.Read{From: read, Leaf: probe.Leaf{Size: 8}}, Place: place, Bit: place / 8}
		return &probe.Program{
			Role: role, Sites: sites, Type: number, OneOf: 1, Fixed: fixed, Unread: unread, AtEnd: 1 << 1, BeganBy: -1, Key: key, Values: []probe.Value{v},
		}
	}
	first, result := register(t, 0, false), register(t, 0, true)
	goroutine := probe.Key{Kind: probe.KeyGoroutine}
	value := probe.Key{Kind: probe.KeyValue, PerProcess: true, Value: probe.Read{From: first, Leaf: probe.Leaf{Size: 8}}}
	tracer := mustLoad(t, onlyProbes(
		span(probe.Begin, 0, []probe.Site{entry}, goroutine, first, 0), span(probe.End, 0, returns, goroutine, result, 8),
		span(probe.Begin, 1, []probe.Site{opened}, value, first, 0), span(probe.End, 1, []probe.Site{closed}, value, first, 8),
	))
	const goroutines, depth = 4, 30
	records := recording(t, tracer, func() {
		done := make(chan bool)
		for range goroutines {
			go func() { done <- probedNest(depth) == depth }()
		}
		for range goroutines {
			if !<-done {
				t.Error("a probed function returns something else")
			}
		}
		for i := range int64(10) {
			probedOpen(i)
		}
		go func() {
			for i := range int64(9) { // the last one is open at the end
				probedClose(9 - i)
			}
			done <- true
		}()
		<-done
	})
	for number, want := range []int{goroutines * (depth + 1), 10} {
		events := eventsOf(records, number)
		if len(events) != want && !(number == 1 && len(events) == want-1) {
			t.Errorf("%d spans of type %d, want %d", len(events), number, want)
		}
		for _, e := range events {
			begin, end, missing := numberAt(e, 8, true), numberAt(e[8:], 8, true), numberAt(e[unread:], 4, false)
			if missing == 0 && begin != end || missing != 0 && !(number == 1 && begin == 0) {
				t.Errorf("a span of type %d from %d to %d, with the bits %#x of what could not be read", number, begin, end, missing)
			}
		}
	}
}

// Calls of a C function nest by frame.
func TestProbesMatchCallsByFrame(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "nest")
	must(t, os.WriteFile(filepath.Join(dir, "nest.c"), []byte(`
__attribute__((noinline)) long nest(long n) { if (!n) return 0; volatile long m = nest(n - 1); return m + 1; }
int main(void) { return nest(20) != 20 || nest(5) != 5; }
`), 0o600))
	if out, err := exec.Command("gcc", "-O1", "-o", program, filepath.Join(dir, "nest.c")).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	f, err := usercode.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := f.Functions("nest", 1)
	if err != nil {
		t.Fatal(err)
	}
	end := func(role probe.Role, isReturn bool, key probe.KeyKind, number uint32) *probe.Program {
		read, err := usercode.Argument(f.Machine(), 0, usercode.C, isReturn)
		if err != nil {
			t.Fatal(err)
		}
		place := 0
		if isReturn {
			place = 8
		}
		return &probe.Program{
			Role: role, Sites: []probe.Site{{Path: program, Offset: found[0].Offset, Return: isReturn}}, Type: number, OneOf: 1, Fixed: 16, Unread: -1, BeganBy: -1,
			Key: probe.Key{Kind: key}, Values: []probe.Value{{Read: read, Place: place}},
		}
	}
	tracer := mustLoad(t, onlyProbes(
		end(probe.Begin, false, probe.KeyFrame, 0), end(probe.End, true, probe.KeyFrame, 0),
		end(probe.Begin, false, probe.KeyThread, 1), end(probe.End, true, probe.KeyThread, 1),
	))
	records := recording(t, tracer, func() { run(t, program) })
	events := eventsOf(records, 0)
	if len(events) != 21+6 {
		t.Errorf("%d spans, want %d", len(events), 21+6)
	}
	for _, e := range events {
		if n, result := numberAt(e, 8, true), numberAt(e[8:], 8, true); n != result {
			t.Errorf("the call with %d returns %d", n, result)
		}
	}
	if got := len(eventsOf(records, 1)); got != 2 { // the latest begin counts
		t.Errorf("%d spans by thread, want 2", got)
	}
}

// What a key has behind its values is the same each time, whatever was in the scratch buffer.
func TestProbesCountByValues(t *testing.T) {
	site, _ := probedSite(t, "probedCall")
	first, text, length := register(t, 0, false), register(t, 2, false), register(t, 3, false)
	slice := probe.Read{From: text, Leaf: probe.Leaf{Kind: probe.LeafSlice, User: true, LengthFrom: &length}}
	amount := probe.Value{Read: probe.Read{From: first, Leaf: number(8, true)}, Place: -1, IsAmount: true}
	all := probe.Program{Sites: []probe.Site{site}, Type: 0, OneOf: 1, Unread: -1, BeganBy: -1, Counts: true, CountsBuckets: true, Values: []probe.Value{
		{Read: slice, Place: -1, Conditions: []probe.Test{{Op: probe.OpGlob, Glob: "*x*"}}}, amount,
	}}
	byText := all
	byText.Type, byText.Fixed = 1, probe.MaxKeyText
	byText.Values = []probe.Value{{Read: slice}}
	longText := byText
	longText.Type = 3
	longText.Values = []probe.Value{{Read: slice, Place: -1, Conditions: []probe.Test{{Op: probe.OpGlob, Glob: "x*y"}}}, {Read: slice}}
	written := all
	written.Type, written.Counts, written.Fixed = 2, false, 4
	written.Values = []probe.Value{{Read: slice}}
	tracer := mustLoad(t, onlyProbes(&all, &byText, &written, &longText))
	const calls = 40
	counts := make(map[*probe.Program]map[string]ProbeCount)
	recording(t, tracer, func() {
		for i := range int64(calls) {
			probedCall(i-1, &probed{}, strings.Repeat("x", int(i%4)), 0)
		}
		probedCall(0, &probed{}, "x"+strings.Repeat("-", 200)+"y", 0)
		must(t, tracer.ProbeCounts(func(c *ProbeCount) error {
			if counts[c.Program] == nil {
				counts[c.Program] = make(map[string]ProbeCount)
			}
			if _, twice := counts[c.Program][c.Key]; twice {
				t.Errorf("the key %q of program %d is there twice", c.Key, c.Program.Type)
			}
			counts[c.Program][c.Key] = *c
			return nil
		}))
	})
	want := int64(0)
	for i := range int64(calls) {
		if i%4 > 0 {
			want += i - 1
		}
	}
	if c := counts[&all][""]; c.Events != calls*3/4+1 || c.Sum != want || len(counts[&all]) != 1 || c.Buckets[0] != 2 {
		t.Errorf("%d events in all, sum %d, %d below 1, of %d keys; want %d, %d, 2, of 1", c.Events, c.Sum, c.Buckets[0], len(counts[&all]), calls*3/4+1, want)
	}
	if c := counts[&longText]["x"+strings.Repeat("-", probe.MaxKeyText-2)+"\x00"]; c.Events != 1 || len(counts[&longText]) != 1 {
		t.Errorf("of a long text that is compared, %d events are counted, want 1: %v", c.Events, counts[&longText])
	}
	for n := range 4 {
		key := strings.Repeat("x", n) + strings.Repeat("\x00", probe.MaxKeyText-n)
		if c := counts[&byText][key]; c.Events != calls/4 {
			t.Errorf("%d events with the text of %d characters, want %d: %v", c.Events, n, calls/4, counts[&byText])
		}
	}
}

// The record of a tracepoint and the arguments of a raw one have the same texts.
func TestProbesReadTracepoints(t *testing.T) {
	id, at, length := taskRename(t)
	kernelText := func(from probe.From, steps ...probe.Step) probe.Value {
		return probe.Value{Read: probe.Read{From: from, Steps: steps, Leaf: probe.Leaf{Kind: probe.LeafArray, Size: length}}, Place: valuePlace}
	}
	tracer := mustLoad(t, onlyProbes(
		&probe.Program{
			Context: probe.Record, Sites: []probe.Site{{Name: "task:task_rename", ID: id}}, Type: 0, OneOf: 1, Fixed: valuesFixed, Unread: unreadPlace, BeganBy: -1,
			Values: []probe.Value{kernelText(probe.From{Kind: probe.FromContext}, add(uintptr(at)))},
		},
		&probe.Program{
			Context: probe.Words, Sites: []probe.Site{{Name: "task_rename"}}, Type: 1, OneOf: 1, Fixed: valuesFixed, Unread: unreadPlace, BeganBy: -1,
			Values: []probe.Value{kernelText(probe.From{Kind: probe.FromWord, Number: 1, Size: 8})},
		},
	))
	const name = "new name"
	records := recording(t, tracer, func() {
		onThread(func() { must(t, os.WriteFile("/proc/thread-self/comm", []byte(name), 0o600)) })
	})
	for number := range 2 {
		found := 0
		for _, e := range eventsOf(records, number) {
			if textAt(e, valuePlace) == name {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d events of type %d have the name, want 1", found, number)
		}
	}
}

// taskRename returns the id of a tracepoint, and where the new name is in its record, by the kernel's description.
func taskRename(t *testing.T) (id, at, length int) {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/tracing/events/task/task_rename/format")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "ID: %d", &id)
		if _, after, ok := strings.Cut(line, "char newcomm["); ok {
			if _, err := fmt.Sscanf(after, "%d]; offset:%d;", &length, &at); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
	}
	if id == 0 || length == 0 {
		t.Fatalf("the kernel describes task_rename as %s", text)
	}
	return id, at, length
}

// Every form of a plan is one that the kernel accepts, whatever it is called with and does.
func TestProbesOfEveryFormLoad(t *testing.T) {
	site, _ := probedSite(t, "probedOpen")
	id, _, _ := taskRename(t)
	sites := map[probe.Context]probe.Site{probe.Registers: site, probe.Words: {Name: "task_rename"}, probe.Record: {Name: "task:task_rename", ID: id}}
	var programs []*probe.Program
	for context, site := range sites {
		for _, role := range []probe.Role{probe.Instant, probe.Begin, probe.End} {
			for _, counts := range []bool{false, true} {
				for _, key := range keysOf(context) {
					if role == probe.Instant && key.Kind != probe.KeyThread {
						continue
					}
					p := everything(context, counts)
					p.Role, p.Counts, p.Key, p.Sites = role, counts, key, []probe.Site{site}
					p.Type, p.EntryType = uint32(len(programs)), uint32(len(programs)%2)
					p.Stack, p.CountsDuration = role != probe.End && len(programs)%2 == 0, counts && role == probe.End
					programs = append(programs, p)
				}
			}
		}
	}
	for _, stacks := range []Stacks{{}, {Kernel: true, User: true}} {
		o := onlyProbes(programs...)
		o.ProbeStacks = stacks
		tracer := mustLoad(t, o)
		recording(t, tracer, func() { probedOpen(1) })
		must(t, tracer.Close()) // a tracepoint has 64 programs at most
	}
}

func keysOf(context probe.Context) []probe.Key {
	keys := []probe.Key{{Kind: probe.KeyThread}}
	for _, from := range fromsOf(context) {
		keys = append(keys, probe.Key{Kind: probe.KeyValue, PerProcess: len(keys)%2 == 0, Value: probe.Read{
			From: from, Steps: []probe.Step{{Kind: probe.StepAdd, Number: 8}, {Kind: probe.StepLoad, Size: 4, Signed: true}}, Leaf: number(4, true),
		}})
	}
	if context == probe.Registers {
		keys = append(keys, probe.Key{Kind: probe.KeyFrame}, probe.Key{Kind: probe.KeyGoroutine})
	}
	return keys
}

// fromsOf returns where reads may begin.
func fromsOf(context probe.Context) []probe.From {
	all := []probe.From{
		{Kind: probe.FromConstant, Number: 1 << 40, Size: 8}, {Kind: probe.FromProcess, Size: 4}, {Kind: probe.FromThread, Size: 4},
		{Kind: probe.FromCPU, Size: 4},
	}
	switch context {
	case probe.Registers:
		return append(all, probe.From{Kind: probe.FromRegister, Register: 8, Size: 8}, probe.From{Kind: probe.FromRegister, Register: 16, Size: 2, Signed: true},
			probe.From{Kind: probe.FromSite, Size: 8}, probe.From{Kind: probe.FromContext, Size: 8})
	case probe.Words:
		return append(all, probe.From{Kind: probe.FromWord, Number: 1, Size: 8}, probe.From{Kind: probe.FromWord, Size: 4, Signed: true})
	}
	return append(all, probe.From{Kind: probe.FromRecord, Offset: 8, Size: 4, Signed: true}, probe.From{Kind: probe.FromRecord, Offset: 13, Size: 4},
		probe.From{Kind: probe.FromText, Offset: 8}, probe.From{Kind: probe.FromText, Offset: 12, Signed: true}, probe.From{Kind: probe.FromContext, Size: 8})
}

func leaves() []probe.Leaf {
	from := probe.From{Kind: probe.FromConstant, Number: 9, Size: 8}
	return []probe.Leaf{
		number(8, false), number(1, true), {Size: 4, Shift: 3, Bits: 9}, {Size: 8, Shift: 3, Bits: 61, Signed: true},
		{Kind: probe.LeafString}, {Kind: probe.LeafString, User: true, Size: 9}, {Kind: probe.LeafArray, Size: 4}, {Kind: probe.LeafArray, User: true, Size: 256},
		{Kind: probe.LeafBytes, Size: 3}, {Kind: probe.LeafBytes, User: true, Size: 256}, {Kind: probe.LeafSlice, LengthAt: 8, User: true},
		{Kind: probe.LeafSlice, AddressAt: 8}, {Kind: probe.LeafSlice, User: true, LengthFrom: &from},
	}
}

// everything is a program that reads a value of each leaf, from each place in turn, and compares one of each.
func everything(context probe.Context, counts bool) *probe.Program {
	p := &probe.Program{Context: context, OneOf: 3, PerSecond: 100, Min: 10, BeganBy: -1, Fixed: 16}
	for i, leaf := range leaves() {
		froms := fromsOf(context)
		read := probe.Read{From: froms[i%len(froms)], Leaf: leaf}
		for n := range i % 3 {
			read.Steps = append(read.Steps, probe.Step{Kind: probe.StepLoad, Size: 8, User: n == 1}, probe.Step{Kind: probe.StepAdd, Number: 1 << (20 * n)})
		}
		if context == probe.Registers {
			read.Steps = append(read.Steps, probe.Step{Kind: probe.StepAddRegister, Register: 24, Scale: 4})
		}
		width := 4
		switch {
		case leaf.Kind == probe.LeafNumber:
			width = leaf.Size
		case counts:
			width = probe.MaxKeyText
		}
		v := probe.Value{Read: read, Place: p.Fixed, Bit: i}
		if p.Fixed += width; counts && p.Fixed > probe.MaxKey-4 {
			p.Fixed -= width
			v.Place = -1
		}
		compared := v
		compared.Place = -1
		compared.Conditions = []probe.Test{{Op: probe.Op(i % int(probe.OpGlob)), Number: int64(i) << 31, Signed: i%2 == 0}}
		if leaf.Kind != probe.LeafNumber {
			compared.Conditions = []probe.Test{{Op: probe.OpGlob, Glob: fmt.Sprint("a*", i)}, {Op: probe.OpNotEqual, Glob: "b", Not: true}}
		}
		p.Values = append(p.Values, compared, v)
	}
	p.Values = append(p.Values, anyName())
	if counts {
		p.Values = append(p.Values, probe.Value{Read: probe.Read{From: fromsOf(context)[0], Leaf: number(8, true)}, Place: -1, IsAmount: true})
	}
	p.Unread = p.Fixed
	p.Fixed += 4
	return p
}

// anyName compares the thread's name.
func anyName() probe.Value {
	return probe.Value{
		Read: probe.Read{From: probe.From{Kind: probe.FromComm}, Leaf: probe.Leaf{Kind: probe.LeafString}}, Place: -1,
		Conditions: []probe.Test{{Op: probe.OpGlob, Glob: "*"}},
	}
}

// What is added up of a span is what was read at its begin, whatever was counted meanwhile.
func TestProbesAddUpWhatSpansBeginWith(t *testing.T) {
	opened, _ := probedSite(t, "probedOpen")
	closed, _ := probedSite(t, "probedClose")
	called, _ := probedSite(t, "probedCall")
	first := probe.Read{From: register(t, 0, false), Leaf: number(8, true)}
	amount := probe.Value{Read: first, Place: -1, IsAmount: true}
	end := func(role probe.Role, site probe.Site, values ...probe.Value) *probe.Program {
		return &probe.Program{
			Role: role, Sites: []probe.Site{site}, OneOf: 1, Unread: -1, BeganBy: -1, Counts: true, Values: values,
			Key: probe.Key{Kind: probe.KeyValue, Value: first}, Fixed: 8,
		}
	}
	key := probe.Value{Read: probe.Read{From: probe.From{Kind: probe.FromConstant, Number: 5, Size: 8}, Leaf: number(8, true)}}
	name := anyName()
	other := end(probe.Instant, called, key, amount)
	ended := end(probe.End, closed, name)
	tracer := mustLoad(t, onlyProbes(end(probe.Begin, opened, name, amount, key), ended, other))
	want := int64(0)
	recording(t, tracer, func() {
		for i := range int64(10) {
			probedOpen(i)
			want += i
		}
		_ = probedCall(1<<40, &probed{}, "", 0)
		for i := range int64(10) {
			probedClose(i)
		}
		must(t, tracer.ProbeCounts(func(c *ProbeCount) error {
			if c.Program == ended && (c.Events != 10 || c.Sum != want || c.Key != "\x05\x00\x00\x00\x00\x00\x00\x00") {
				t.Errorf("%d spans, sum %d, key %q; want 10, %d, and 5", c.Events, c.Sum, c.Key, want)
			}
			return nil
		}))
	})
}
