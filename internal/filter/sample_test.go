package filter

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

// sampled is a capture in which three threads are sampled, after testTasks.
const sampled = `
cmdline 5 args="ping\x00::1\x00"
cmdline 6 args="pong\x00"
task 12 tid=20 pid=20 comm=ping process_comm=ping start=5 continues=2 command=5
task 13 tid=30 pid=30 comm=pong process_comm=pong start=6 continues=3 command=6
module 3 path=/bin/ping build_id=aa kind=file
module 4 path=[kernel] base=0x1000 kind=kernel
module 5 path=/bin/pong build_id=bb kind=file
frame 1 module=3 offset=0x10 caller
frame 2 module=4 offset=0x20
frame 3 module=5 offset=0x10
frame 4 offset=0x40
frame 9 module=3 offset=0x90
stack 7 frames=1,2 kernel_frames=1
stack 8 frames=3
stack 9 frames=4,4,2 kernel_frames=1 cut
stack 10 frames=9
100 cpu0 sample 12 stack=7 source=1
200 cpu1 sample 13 stack=8 source=1
300 cpu0 sample 12 stack=9 source=1
400 cpu0 sample 12 stack=7 source=1
500 cpu0 sample 12 source=1
600 cpu1 sample 12 stack=10 source=2`

func TestSampleIsKeptWithWhatItNeeds(t *testing.T) {
	o := pids(20)
	o.CPUs, _ = ParseCPUs([]string{"0"})
	o.End = Bound{set: true, offset: 500}
	expect(t, sampled, o, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  cmdline 5 args="ping\x00::1\x00"
  task 12 tid=20 pid=20 comm="ping" process_comm="ping" start=5 continues=2 command=5
  module 3 path="/bin/ping" build_id=aa kind=file
  frame 1 module=3 offset=0x10 caller
  module 4 path="[kernel]" base=0x1000 kind=kernel
  frame 2 module=4 offset=0x20
  stack 7 frames=1,2 kernel_frames=1
  frame 4 offset=0x40
  stack 9 frames=4,4,2 kernel_frames=1 cut
block events
  +0100 cpu0 sample 12 stack=7 source=1
  +0300 cpu0 sample 12 stack=9 source=1
  +0400 cpu0 sample 12 stack=7 source=1
`)
}

func TestSamplesAreAKind(t *testing.T) {
	only := Options{Kinds: MakeKindSet([]string{"sample"}, nil)}
	if got := filterText(t, testTasks+sampled+"\n700 cpu0 exit 2\nend", only); strings.Count(got, " sample ") != 6 || strings.Contains(got, "exit") {
		t.Errorf("samples alone:\n%s", got)
	}
	none := Options{Kinds: MakeKindSet(nil, []string{"sample"})}
	got := filterText(t, testTasks+sampled+"\n700 cpu0 exit 12\nend", none)
	if strings.Contains(got, "sample") || strings.Contains(got, "stack") || strings.Contains(got, "module") || !strings.Contains(got, "cmdline 5") {
		t.Errorf("without samples:\n%s", got)
	}
}

// If only a sample shows a thread's new name, threads are selected by that name, and by the old one if it appears again.
func TestSampleIsFilteredByItsNewName(t *testing.T) {
	expect(t, `
task 12 tid=20 pid=20 comm=other process_comm=other start=5 continues=2
100 cpu0 sample 2
200 cpu0 sample 12
300 cpu0 sample 2
400 cpu0 waking 2 wakee=3`, Options{Threads: Spec{Names: []string{"ping"}}}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
block events
  +0100 cpu0 sample 2 stack=0 source=0
  +0300 cpu0 sample 2 stack=0 source=0
  +0400 cpu0 waking 2 wakee=3 prio=0 target_cpu=0 !object
`)
}

// Definitions that were lost to damage are written as placeholders: the output is complete.
func TestStacksLostToDamageAreWrittenAsLost(t *testing.T) {
	for name, lost := range map[string]string{
		"stack": "stack 7 frames=1,2 kernel_frames=1", "frame": "frame 1 module=3 offset=0x10 caller",
		"module": "module 3 path=/bin/ping build_id=aa kind=file", "command": `cmdline 5 args="ping\x00::1\x00"`,
		"task":                    "task 12 tid=20 pid=20 comm=ping process_comm=ping start=5 continues=2 command=5",
		"what the task continues": "task 2 tid=20 pid=20 comm=ping process_comm=ping start=5",
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(testTasks+sampled, lost+"\n") {
				t.Fatal("the capture does not have it")
			}
			text := strings.Replace(testTasks+sampled+"\nend close=10000", lost+"\n", "block definitions bad_crc\n"+lost+"\nblock definitions\n", 1)
			var out bytes.Buffer
			f, err := New(bytes.NewReader(fromtext.Stream(t, text)), &out, false, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if result, err := f.Run(); err != nil || result.Damage == nil {
				t.Fatalf("%v, damage %v", err, result.Damage)
			}
			checkFindings(t, 0, out.Bytes())
			if again := read(t, filtered(t, out.Bytes(), true, pids(20))); again.Damage() != nil {
				t.Errorf("the next filter finds damage: %v", again.Damage())
			}
		})
	}
}

func TestRangeThatMissesTheWindowIsEmpty(t *testing.T) {
	const closed = "section boot_id=b open=1000 close=9000\ntask 2 tid=20 pid=20\n2000 cpu0 exit 2\nend close=9000"
	const narrowed = "section boot_id=b open=1000 close=9000 range_start=3000 range_end=4000\ntask 2 tid=20 pid=20\n3500 cpu0 exit 2\nend close=4000"
	const live = "section boot_id=b open=1000\ntask 2 tid=20 pid=20\n2000 cpu0 exit 2\nend close=9000"
	for _, c := range []struct {
		name, text string
		o          Options
		from, to   int64 // of the window that is left
		missed     Miss
	}{
		{"start after the window", closed, Options{Start: ms(20000)}, 9000, 9000, MissLate},
		{"range after the window", closed, Options{Start: ms(20000), End: ms(30000)}, 9000, 9000, MissLate},
		{"start where the window closes", closed, Options{Start: ms(8000)}, 9000, 9000, MissLate},
		{"start after the kept range", narrowed, Options{Start: ms(5000)}, 4000, 4000, MissLate},
		{"end before the window", closed, Options{End: ms(-500)}, 1000, 1000, MissEarly},
		{"end before the kept range", narrowed, Options{End: ms(1500)}, 3000, 3000, MissEarly},
		{"live, start after the window", live, Options{Start: ms(20000)}, 21000, 21000, MissLate},
		{"inside", closed, Options{Start: ms(500), End: ms(1500)}, 1500, 2500, MissNone},
	} {
		for _, isPipe := range []bool{false, true} {
			var out bytes.Buffer
			var in io.Reader = bytes.NewReader(fromtext.Stream(t, c.text))
			if isPipe {
				in = io.MultiReader(in)
			}
			f, err := New(in, &out, isPipe, c.o)
			if err != nil {
				t.Fatal(err)
			}
			result, err := f.Run()
			if err != nil || result.Missed != c.missed || (c.missed != MissNone) != (result.Kept == 0) {
				t.Errorf("%s: %v, %+v", c.name, err, result)
			}
			checkFindings(t, 0, out.Bytes())
			r := read(t, out.Bytes())
			s := r.Session()
			from, to := max(s.Open, s.RangeStart), s.RangeEnd
			if to == 0 {
				to = s.Close
			}
			if to == 0 {
				to = r.End().Close
			}
			if from != c.from || to != c.to || r.End().Close < from {
				t.Errorf("%s: the window is %d to %d, closed at %d; want %d to %d", c.name, from, to, r.End().Close, c.from, c.to)
			}
		}
	}
}

// Samples with any definitions give a complete stream.
func FuzzDefinitions(f *testing.F) {
	blocks := format.NewBlockReader(bytes.NewReader(fromtext.Stream(f, testTasks+sampled+"\nend")))
	for {
		b, err := blocks.Next()
		if err != nil {
			break
		}
		if b.Header.Type == format.BlockDefinitions {
			f.Add(bytes.Clone(b.Payload))
		}
	}
	head := fromtext.Stream(f, "section boot_id=b open=1\n")
	f.Fuzz(func(t *testing.T, payload []byte) {
		stream, err := format.AppendBlock(bytes.Clone(head), format.BlockHeader{Type: format.BlockDefinitions, Section: 1, Sequence: 1}, payload, 0)
		if err != nil {
			t.Fatal(err)
		}
		events := format.NewEventBlock()
		for i := range format.StackID(12) {
			e := format.Event{Time: 5, Kind: format.KindSample, Flags: format.FlagSubject, Task: format.TaskID(i)}
			e.Sample().SetStack(i)
			if err := events.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
		h := events.Header()
		h.Section, h.Sequence = 1, 2
		if stream, err = format.AppendBlock(stream, h, events.AppendPayload(nil), 0); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		filter, err := New(bytes.NewReader(stream), &out, false, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := filter.Run(); err != nil {
			t.Skip(err)
		}
		if d := read(t, out.Bytes()).Damage(); d != nil {
			t.Fatalf("damage: %+v", d)
		}
	})
}
