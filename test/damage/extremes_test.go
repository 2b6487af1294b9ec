//go:build linux

package damage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/check"
	"wprof/format/textform"
	"wprof/internal/chrome"
	"wprof/internal/columns"
	"wprof/internal/filter"
	"wprof/internal/firefox"
	"wprof/internal/flame/analysis"
	"wprof/internal/flame/folded"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/html"
	"wprof/internal/flame/pprof"
	"wprof/internal/flame/profile"
	"wprof/internal/flame/speedscope"
	"wprof/internal/flame/svg"
	"wprof/internal/info"
	"wprof/internal/ndjson"
	"wprof/internal/perfetto"
	"wprof/internal/perfetto/schema"
	"wprof/internal/report"
)

const (
	// Code that allocates or counts by a number from the stream exceeds these.
	extremesBytes = 3 << 30 // of address space
	extremesCPU   = 1800    // seconds of CPU time for all of them
)

// extremes are the values that every numeric field gets; the first ones alone without WPROF_DAMAGE_ALL.
func extremes() []uint64 {
	all := []uint64{1<<61 - 1, 1 << 31, math.MaxInt64, math.MaxUint64, 7<<61 + 1} // the last is 1 - 1<<61
	if !everyVariant() {
		return all
	}
	for _, negative := range []int64{-1 << 31, -1<<61 + 1, -1 << 61} {
		all = append(all, uint64(negative))
	}
	return append(all, 0, 1, 127, math.MaxInt32, math.MaxUint32, 1<<40, 1<<60+1, 1<<61, 1<<62, 1<<63)
}

// capturedBy is a small recording with everything in it, as the parts of which a stream is put together.
type capturedBy struct {
	session, epoch *format.Session
	definitions    *format.Definitions
	events         []format.Event
	end            *format.End
	index          *format.Index
	block          format.BlockHeader // replaces what the blocks of events would say, where it is not 0
}

func newCapture() *capturedBy {
	clock := func(at int64) *format.ClockSnapshot {
		return &format.ClockSnapshot{Monotonic: at, Boottime: at + 500, Realtime: 1_700_000_000_000_000_000 + at}
	}
	c := &capturedBy{
		session: &format.Session{
			Id: 7, Host: "h", BootId: "b", Open: 1000, Close: 9000, RangeStart: 1000, RangeEnd: 9000, RecorderPid: 3,
			Cpus: []*format.Cpu{{Id: 0}, {Id: 1, Node: 1}}, Clocks: []*format.ClockSnapshot{clock(1000)},
			Sources: []*format.Source{{Id: 1, Name: "timer", Period: 100}},
		},
		definitions: &format.Definitions{
			Tasks: []*format.Task{
				{Id: 1, Comm: []byte("swapper/0"), Flags: 2},
				{Id: 2, Tid: 10, Pid: 10, Ppid: 1, Comm: []byte("a"), ProcessComm: []byte("a"), Start: 5, Command: 1, NsTid: 1, NsPid: 1},
				{Id: 3, Tid: 11, Pid: 10, Ppid: 1, Comm: []byte("b"), ProcessComm: []byte("a"), Start: 1200},
				{Id: 4, Tid: 11, Pid: 10, Ppid: 1, Comm: []byte("c"), ProcessComm: []byte("a"), Start: 1200, Continues: 3},
			},
			Commands: []*format.Command{{Id: 1, Args: []byte("a\x00b\x00")}},
			Modules: []*format.Module{
				{Id: 1, Path: []byte("/bin/a"), Device: 1, Inode: 2, Generation: 3, Kind: 1},
				{Id: 2, Path: []byte("[kernel]"), Base: 0xffffffff81000000, Kind: 2},
			},
			Frames: []*format.Frame{
				{Id: 1, Module: 1, Offset: 100, FunctionOffset: 4, Lines: []*format.Line{{Function: []byte("main"), File: []byte("a.c"), Line: 7}}, Caller: true},
				{Id: 2, Module: 2, Offset: 200, FunctionOffset: 5, Lines: []*format.Line{{Function: []byte("schedule")}}},
			},
			Stacks: []*format.Stack{{Id: 1, Frames: []uint32{1, 2}, KernelFrames: 1}, {Id: 2, Frames: []uint32{1}}},
			Clocks: []*format.ClockSnapshot{clock(2000)},
		},
		end: &format.End{
			Kinds: []*format.KindCount{{Kind: 1, Events: 3, Bytes: 40}, {Kind: 13, Events: 3, Bytes: 20}}, RawBytes: 100, StoredBytes: 90,
			Processes: []*format.ProcessTime{{Pid: 10, Comm: []byte("a"), Ns: 4000, Start: 5, NsPid: 1}, {Pid: 12, Ns: 5}},
			Losses:    []*format.Loss{{Cpu: 0, Kind: 1, Cause: 1, Count: 2}, {Cpu: 1, Kind: 1, Cause: 1, Count: 3}}, Late: 1,
			Cost: &format.RecorderCost{
				UserNs: 1000, SystemNs: 2000, PeakRss: 5000, RingBytes: 10, SpoolBytes: 20,
				Programs: []*format.ProgramCost{{Name: "p", Runs: 3, Ns: 100, RecursionMisses: 1}, {Name: "q", Runs: 3, Ns: 100}},
			},
			Clocks: []*format.ClockSnapshot{clock(9000)}, Close: 9000, Last: true, Definitions: 11,
		},
		index: &format.Index{Blocks: []*format.IndexEntry{
			{Type: 1}, {Type: 2, Offset: 200}, {Type: 3, Offset: 600, First: 1000, Last: 8000, Earliest: 5, Events: 5},
		}},
	}
	c.epoch = proto.Clone(c.session).(*format.Session)
	c.epoch.Continues, c.epoch.Epoch = true, 1
	c.events = everyKind()
	return c
}

// everyKind has events of every kind with all of their fields, in two blocks.
func everyKind() []format.Event {
	at := func(time int64, kind format.Kind, flags format.Flags, cpu uint32, task format.TaskID, args ...uint64) format.Event {
		e := format.Event{Time: time, Kind: kind, Flags: 3 | flags, CPU: cpu, Task: task}
		copy(e.Args[:], args)
		return e
	}
	return []format.Event{
		at(1000, format.KindStateCPU, format.StateHasSince, 0, 2, 120, 900),
		at(1000, format.KindStateThread, format.StateHasSince|format.StateHasWaking|format.StateHasStack, 1, 4, 1, 120, 800, 950, 2, 0, 1),
		at(1100, format.KindSample, 0, 0, 2, 1, 1),
		at(1200, format.KindFork, 0, 0, 2, 3),
		at(1250, format.KindWakeupNew, 1<<4, 0, 2, 3, 120, 1, 1),
		at(1300, format.KindSwitch, format.SwitchHasSince|format.SwitchHasStack, 1, 1, 3, 0, 120, 120, 1250, 0, 1),
		at(1400, format.KindRename, 0, 1, 4, 3),
		at(1450, format.KindExec, format.ExecHasOldTID, 1, 4, 4, 11),
		at(1500, format.KindSwitch, 0, 0, 2, 1, 1, 120, 120),
		at(1600, format.KindWaking, format.WakingHasStack, 1, 4, 2, 120, 0, 1),
		at(1700, format.KindSwitch, format.SwitchHasSince|format.SwitchHasStack, 0, 1, 2, 0, 120, 120, 1500, 1, 1),
		at(1800, format.KindLost, 0, 1, 0, 1750, 2, 1, 1),
		at(1900, format.KindLost, 0, format.AllCPUs, 0, 1850, 2, 2, 0),
		{Time: 2000, Own: 1950, Kind: format.KindSwitch, Flags: 3 | format.FlagLate, CPU: 0, Task: 2, Args: [format.MaxArgs]uint64{4, 1, 120, 120}},
		at(3000, format.KindStateCPU, format.StateHasSince, 0, 2, 120, 2500),
		at(3000, format.KindStateThread, format.StateHasSince, 1, 4, 2, 120, 2600),
		at(4000, format.KindSample, 0, 0, 2, 2, 1),
		at(5000, format.KindCPULeft, 0, 0, 2),
		at(6000, format.KindSwitch, format.SwitchHasSince, 1, 1, 4, 0, 120, 120, 2600, 2),
		at(6500, format.KindExit, 0, 1, 4, 256),
		at(7000, format.KindSwitch, 0, 1, 4, 1, uint64(format.StateDead), 120, 120),
		at(8000, format.KindFree, 0, 1, 4),
	}
}

// stream puts the parts together: a section and its epoch, and a recording that follows.
func (c *capturedBy) stream(t testing.TB) []byte {
	definitions, err := proto.Marshal(c.definitions)
	if err != nil {
		t.Fatal(err)
	}
	section := func(s *format.Session, events []format.Event, end *format.End) []byte {
		h := newHostile(t, s).define(definitions)
		block := format.NewEventBlock()
		for i := range events {
			if err := block.Add(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		header := block.Header()
		header.First, header.Last, header.Earliest = or(c.block.First, header.First), or(c.block.Last, header.Last), or(c.block.Earliest, header.Earliest)
		header.Events = or(c.block.Events, header.Events)
		h.block(header, block.AppendPayload(nil), 1)
		index, err := proto.Marshal(c.index)
		if err != nil {
			t.Fatal(err)
		}
		at := len(h.b)
		h.block(format.BlockHeader{Type: format.BlockIndex}, index, 0)
		payload, err := format.AppendEndPayload(nil, end, uint64(at), uint64(len(h.b)))
		if err != nil {
			t.Fatal(err)
		}
		return h.block(format.BlockHeader{Type: format.BlockEnd}, payload, 0).b
	}
	half := len(c.events) / 2
	first := proto.Clone(c.end).(*format.End)
	first.Last = false
	return append(section(c.session, c.events[:half], first), section(c.epoch, c.events[half:], c.end)...)
}

func or[T int64 | uint32](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// spoiled are streams in which one number is extreme, by its name.
func spoiled(t testing.TB, visit func(name string, stream []byte)) {
	t.Helper()
	messages := func(c *capturedBy) []proto.Message {
		return []proto.Message{c.session, c.epoch, c.definitions, c.end, c.index}
	}
	base := newCapture()
	visit("as it was", base.stream(t))
	for m := range messages(base) {
		for n := range numbersOf(messages(base)[m].ProtoReflect()) {
			for _, v := range extremes() {
				c := newCapture()
				one := numbersOf(messages(c)[m].ProtoReflect())[n]
				one.set(v)
				visit(fmt.Sprintf("%s = %#x", one.name, v), c.stream(t))
			}
		}
	}
	for i := range base.events {
		e := &base.events[i]
		for field := range 4 + fieldsOf(e.Kind) {
			for _, v := range extremes() {
				c := newCapture()
				name := c.spoil(i, field, v)
				visit(fmt.Sprintf("event %d, kind %d, %s = %#x", i, e.Kind, name, v), c.stream(t))
			}
		}
	}
	for _, v := range extremes() {
		for i, part := range []format.BlockHeader{{First: int64(v)}, {Last: int64(v)}, {Earliest: int64(v)}, {Events: uint32(v)}} {
			c := newCapture()
			c.block = part
			visit(fmt.Sprintf("block header, number %d = %#x", i, v), c.stream(t))
		}
	}
}

func fieldsOf(kind format.Kind) int {
	for _, k := range format.Kinds() {
		if k.Kind == kind {
			return len(k.Fields)
		}
	}
	return 0
}

// spoil makes one number of an event extreme. Events whose order would be another one then are left out.
func (c *capturedBy) spoil(i, field int, v uint64) (name string) {
	e := &c.events[i]
	switch field {
	case 0:
		e.Time = int64(v)
		var kept []format.Event
		for n, other := range c.events {
			if n < i && other.Time <= e.Time || n == i || n > i && other.Time >= e.Time {
				kept = append(kept, other)
			}
		}
		c.events = kept
		return "time"
	case 1:
		e.Own = int64(v)
		e.Flags |= format.FlagLate
		return "own time"
	case 2:
		e.CPU = uint32(v)
		return "CPU"
	case 3:
		e.Task = format.TaskID(v)
		return "task"
	}
	e.Args[field-4] = v
	return "field " + strconv.Itoa(field-4)
}

// number is a numeric field of a message, or the first of a list of numbers.
type number struct {
	name string
	set  func(uint64)
}

func numbersOf(m protoreflect.Message) (all []number) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.Kind() == protoreflect.MessageKind && f.IsList():
			for n := range m.Get(f).List().Len() {
				all = append(all, numbersOf(m.Get(f).List().Get(n).Message())...)
			}
		case f.Kind() == protoreflect.MessageKind:
			if m.Has(f) {
				all = append(all, numbersOf(m.Mutable(f).Message())...)
			}
		case valueOf(f, 0).IsValid():
			all = append(all, number{string(f.FullName()), func(v uint64) {
				if f.IsList() {
					m.Mutable(f).List().Set(0, valueOf(f, v))
				} else {
					m.Set(f, valueOf(f, v))
				}
			}})
		}
	}
	return all
}

// valueOf is a number as the value of a field; not valid of one that has none.
func valueOf(f protoreflect.FieldDescriptor, v uint64) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(v))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(v))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(v))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(v)
	}
	return protoreflect.Value{}
}

// converted is a conversion of a stream in this process. It returns what is wrong with the output.
type converted struct {
	name string
	make func(stream []byte) error
}

func conversions() []converted {
	return slices.Concat(summaries(), traces(), profiles(), records(), filters())
}

// reading is a conversion of what a Reader gets. A stream that is refused passes.
func reading(convert func(*format.Reader) error) func([]byte) error {
	return func(stream []byte) error {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			return nil
		}
		defer r.Close()
		return convert(r)
	}
}

func trace(o perfetto.Options) func([]byte) error {
	return reading(func(r *format.Reader) error {
		var out bytes.Buffer
		_, _ = perfetto.Convert(r, &out, o)
		return proto.Unmarshal(out.Bytes(), new(schema.Trace))
	})
}

func folding(o profile.Options, write func(*profile.Profile) error) func([]byte) error {
	return reading(func(r *format.Reader) error {
		p, err := profile.Collect(r, o)
		if err != nil {
			p.Close()
			return nil
		}
		defer p.Close()
		for _, t := range p.Threads {
			for _, cell := range t.Cells {
				if cell.Ns < 0 || t.Lifetime < 0 {
					return fmt.Errorf("thread %d has %d ns of %d", t.TID, cell.Ns, t.Lifetime)
				}
			}
		}
		return write(p)
	})
}

func lines(o ndjson.Options) func([]byte) error {
	return func(stream []byte) error {
		var out bytes.Buffer
		_, _ = ndjson.Write(func() (*format.Reader, error) { return format.NewReader(bytes.NewReader(stream)) }, &out, o)
		return areJSON(out.Bytes())
	}
}

func through(o filter.Options) func([]byte) error {
	return func(stream []byte) error {
		f, err := filter.New(bytes.NewReader(stream), io.Discard, false, o)
		if err == nil {
			_, _ = f.Run()
		}
		return nil
	}
}

func bound(text string) filter.Bound {
	b, err := filter.ParseBound(text)
	if err != nil {
		panic(err)
	}
	return b
}

func summaries() []converted {
	return []converted{
		{"summary", func(stream []byte) error {
			s, err := info.Summarize(bytes.NewReader(stream))
			if err != nil {
				return nil
			}
			var out bytes.Buffer
			if err := s.WriteJSON(&out, "x"); err != nil {
				return err
			}
			if err := areJSON(out.Bytes()); err != nil {
				return err
			}
			return s.Print(io.Discard, "x")
		}},
		{"check", func(stream []byte) error {
			_, _ = check.Stream(bytes.NewReader(stream), func(check.Finding) {})
			return nil
		}},
		{"dump", func(stream []byte) error { _ = textform.Dump(io.Discard, bytes.NewReader(stream)); return nil }},
	}
}

func traces() []converted {
	return []converted{
		{"perfetto", trace(perfetto.DefaultOptions())},
		{"perfetto with everything", trace(perfetto.Options{Sched: true, Threads: true, Arrows: true, Extras: true, TIDPID: true, TimerTicks: true, EmbedStacks: true})},
	}
}

func profiles() []converted {
	view := graph.View{}
	pages := profile.Options{Threads: true, Slot: 1000, MaxSlots: 1500, Stretch: true, Idle: true}
	return []converted{
		{"folded", folding(profile.Options{}, func(p *profile.Profile) error { return folded.Write(io.Discard, p, view, folded.Text{}) })},
		{"wakeup chain", folding(profile.Options{Wakes: 4, CPUs: true, Spread: true}, func(p *profile.Profile) error {
			return folded.Write(io.Discard, p, graph.View{Mode: graph.Waker, By: graph.ByCPU, States: true, Reverse: true}, folded.Text{Unit: folded.Nanoseconds})
		})},
		{"svg", folding(profile.Options{Threads: true, Idle: true}, func(p *profile.Profile) error {
			title, subtitle := graph.Caption(p, view)
			return svg.Write(io.Discard, graph.Of(p, view), svg.Picture{Title: title, Subtitle: subtitle})
		})},
		{"html", folding(pages, func(p *profile.Profile) error { return html.Write(io.Discard, p, view) })},
		{"pprof", folding(profile.Options{Threads: true, Addresses: true, CPUs: true}, func(p *profile.Profile) error { return pprof.Write(io.Discard, p, view) })},
		{"speedscope", folding(profile.Options{Threads: true, Addresses: true, Trail: true}, func(p *profile.Profile) error {
			var out bytes.Buffer
			if err := speedscope.Write(&out, p, view); err != nil {
				return err
			}
			return areJSON(out.Bytes())
		})},
		{"analysis", reading(analyse)},
		{"diff", folding(profile.Options{Threads: true}, func(p *profile.Profile) error {
			return svg.Write(io.Discard, graph.Compare(p, p, view, 1.5), svg.Picture{})
		})},
		{"buckets", folding(profile.Options{Slot: 100, MaxSlots: 10_000}, func(p *profile.Profile) error {
			for n := range p.Slots {
				if err := folded.WriteGraph(io.Discard, graph.Of(p, graph.View{From: n, To: n + 1}), folded.Text{}); err != nil {
					return err
				}
			}
			return nil
		})},
	}
}

// analyse writes the analyses of all threads, whose report must have the same time as their profile.
func analyse(r *format.Reader) error {
	c := report.NewCollector(r, report.Options{Limit: 5, Threads: true})
	p, err := profile.Collect(r, profile.Options{Threads: true, Also: c})
	if err != nil {
		return nil
	}
	defer p.Close()
	left := c.Report().TotalNs
	for _, t := range p.Threads {
		left -= t.Lifetime
		one := *p
		one.Threads = []*profile.Thread{t}
		if err := analysis.Write(io.Discard, &one, graph.View{}, c.ThreadReport(analysis.KeyOf(t))); err != nil {
			return err
		}
	}
	if left != 0 {
		return fmt.Errorf("the report has %d ns of the threads' lifetimes too many", left)
	}
	if err := analysis.Write(io.Discard, p, graph.View{}, c.Report()); err != nil {
		return err
	}
	return analysis.WriteThreads(io.Discard, p, graph.View{}, c)
}

func records() []converted {
	return []converted{
		{"lines", lines(ndjson.Options{NUMA: true})},
		{"lines of ns", lines(ndjson.Options{Nanoseconds: true, Array: true})},
		{"live lines", reading(func(r *format.Reader) error {
			var out bytes.Buffer
			_, _ = ndjson.Stream(r, &out, ndjson.Options{Stream: true}, false, true)
			return areJSON(out.Bytes())
		})},
		{"chrome", reading(func(r *format.Reader) error {
			var out bytes.Buffer
			_, _ = chrome.Write(r, &out, chrome.Options{Numa: true})
			return areJSON(out.Bytes())
		})},
		{"firefox", reading(func(r *format.Reader) error {
			var out bytes.Buffer
			_, _ = firefox.Write(r, &out, firefox.Options{})
			return areJSON(out.Bytes())
		})},
		{"columns", reading(func(r *format.Reader) error {
			_, _ = columns.Write(r, func(string) (io.Writer, error) { return io.Discard, nil }, columns.Options{NUMA: true})
			return nil
		})},
	}
}

func filters() []converted {
	return []converted{
		{"filter", through(filter.Options{Threads: filter.Spec{TIDs: []int32{10}}})},
		{"filter by family and CPU", through(filter.Options{Threads: filter.Spec{PIDs: []int32{10}, Children: true, NoIdle: true}, Start: bound("500ns"), End: bound("4us")})},
		{"filter by a far range", through(filter.Options{Start: bound("500ns"), End: bound("1000000h")})},
		{"filter by time of day", through(filter.Options{Start: bound("@2023-11-14T22:13:20.000001Z"), End: bound("@2300-01-01T00:00:00Z")})},
		{"symbolize", through(filter.Options{Frame: func(f *format.Frame, _ *format.Module, _ bool) *format.Frame { return f }})},
	}
}

// areJSON checks lines, or one value, by JSON's grammar.
func areJSON(out []byte) error {
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Whatever number a stream has in any of its fields, every output ends, with little memory and steps. A process of its own
// has limits for both, which end it; each stream goes through a few outputs, and through all with WPROF_DAMAGE_ALL.
func TestExtremeNumbersDoNoHarm(t *testing.T) {
	const file = "WPROF_EXTREMES"
	if path := os.Getenv(file); path != "" {
		everyExtreme(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "latest")
	cmd := exec.Command(os.Args[0], "-test.run=^TestExtremeNumbersDoNoHarm$", "-test.v")
	cmd.Env = append(os.Environ(), file+"="+path, "GOMEMLIMIT=1GiB", "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		latest, _ := os.ReadFile(path)
		t.Errorf("%v, at %s: %.6000s", err, latest, out)
	}
	t.Logf("%s", out)
}

// everyExtreme writes what it does into a file, for when it is ended.
func everyExtreme(t *testing.T, path string) {
	for resource, most := range map[int]uint64{syscall.RLIMIT_AS: extremesBytes, syscall.RLIMIT_CPU: extremesCPU} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			t.Fatal(err)
		}
	}
	latest, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer latest.Close()
	all := conversions()
	streams, runs := 0, 0
	spoiled(t, func(name string, stream []byte) {
		streams++
		for n, c := range all {
			if !everyVariant() && streams > 1 && (n+streams)%16 != 0 {
				continue
			}
			runs++
			if _, err := latest.WriteAt(fmt.Appendf(nil, "%-120s", c.name+": "+name), 0); err != nil {
				t.Fatal(err)
			}
			if err := c.make(stream); err != nil {
				t.Errorf("%s: %s: %v", c.name, name, err)
			}
		}
	})
	t.Logf("soak: %d streams with one extreme number each, %d outputs made of them", streams, runs)
}
