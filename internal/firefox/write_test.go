package firefox

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

func convert(t testing.TB, text string) (*profileJSON, Result) {
	t.Helper()
	var out bytes.Buffer
	r, err := format.NewReader(bytes.NewReader(fromtext.Stream(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done, err := Write(r, &out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if done.Bytes != int64(out.Len()) {
		t.Errorf("%d bytes, said %d", out.Len(), done.Bytes)
	}
	return read(t, out.Bytes()), done
}

func (p *profileJSON) threadNamed(t testing.TB, name string) *threadJSON {
	t.Helper()
	for i := range p.Threads {
		if p.Threads[i].Name == name {
			return &p.Threads[i]
		}
	}
	t.Fatalf("no thread %s", name)
	return nil
}

func lines(t testing.TB, what string, got []string, want string) {
	t.Helper()
	if text := strings.Join(got, "\n"); text != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, text, strings.TrimSpace(want))
	}
}

// Busy and lazy share a CPU for 10 ms: lazy sleeps from the beginning, is woken at 4 ms, and takes the CPU at 5 ms.
const capture = `
section host=box boot_id=b kernel_release=6.18.0 machine=x86_64 open=1000000000 close=+10000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
  command wprof-record
  metadata key=job value="night \"7\""
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
task 3 tid=101 pid=100 comm=lazy process_comm=busy start=6
task 5 tid=101 pid=100 comm="\xff\"\n" process_comm=busy start=6 continues=3
module 1 path="/bin/busy" build_id=000102030405060708090a0b0c0d0e0f10111213 kind=file
module 2 path="[kernel]" kind=kernel
frame 1 module=1 offset=0x1100 function_offset=0x1a caller
  line function="work" file="work.h" line=3
  line function="main" file="busy.c" line=7
frame 2 module=2 offset=0x10
  line function="vfs_read"
frame 3 module=2 offset=0x20
  line function="schedule"
stack 1 frames=1
stack 7 frames=1,2,3 kernel_frames=2
+0 cpu0 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120 since=-1000
+2000000 cpu0 sample 2 stack=1 source=1
+3000000 cpu0 sample 2 stack=7 source=1
+4000000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0 stack=1
+5000000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-1000 next_state=S stack=7
+5500000 cpu0 rename 5 prev=3
+6000000 cpu0 switch 5 next=2 prev_state=S prev_prio=120 next_prio=120 since=+5000000 next_state=R+
+7000000 cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
+9000000 all lost from=+8000000 count=3 cause=ring what=sample
end close=+10000000
`

// Blocked time is under what the thread waited for, if that is known.
func TestSamplesNameWhatThreadsWaitedFor(t *testing.T) {
	p, _ := convert(t, strings.ReplaceAll(capture, `function="vfs_read"`, `function="kernel_wait4"`))
	first := p.samplesOf(p.threadNamed(t, "\uFFFD\"\n"))[0]
	if want := "0 [child]/Blocked < schedule/Kernel < kernel_wait4/Kernel < work/User < main/User weight=4 cpu=0"; first != want {
		t.Errorf("the first sample is %s, want %s", first, want)
	}
}

func TestProfileShowsThreadStates(t *testing.T) {
	p, done := convert(t, capture)
	if !done.Lost || done.NotUTF8 == "" {
		t.Errorf("said %+v", done)
	}
	busy, lazy := p.threadNamed(t, "busy"), p.threadNamed(t, "�\"\n")
	lines(t, "samples of busy", p.samplesOf(busy), `
0 work/User < main/User weight=2.5 cpu=0
2.5 schedule/Kernel < vfs_read/Kernel < work/User < main/User weight=2.5 cpu=2500000
5 schedule/Kernel < vfs_read/Kernel < work/User < main/User weight=0 cpu=2500000
5 [preempted]/Waiting for CPU weight=1 cpu=0
6 [not sampled]/Running weight=1 cpu=0
7 [not sampled]/Running weight=0 cpu=1000000
7 [unknown (uninterruptible)]/Blocked weight=3 cpu=0
10  weight=0 cpu=0`)
	lines(t, "samples of lazy", p.samplesOf(lazy), `
0 [unknown (interruptible)]/Blocked < schedule/Kernel < vfs_read/Kernel < work/User < main/User weight=4 cpu=0
4 [runnable]/Waiting for CPU < schedule/Kernel < vfs_read/Kernel < work/User < main/User weight=1 cpu=0
5 [not sampled]/Running weight=1 cpu=0
6 [not sampled]/Running weight=0 cpu=1000000
6 [unknown (interruptible)]/Blocked weight=4 cpu=0
10  weight=0 cpu=0`)
	lines(t, "markers of busy", p.markersOf(busy), `
4 Wakes thread=lazy 101 to run on CPU=0 CPU=0 at work/User < main/User
0-5 Running CPU=0 priority=120 left it in state=R+
5-6 Preempted waited for a CPU=1
6-7 Running CPU=0 priority=120 left it in state=D
7-10 Off CPU state=D not ended=yes`)
	lines(t, "markers of lazy", p.markersOf(lazy), `
5 Preempts thread=busy 100 CPU=0
5.5 Renames name before=lazy CPU=0
0-5 Off CPU in=vfs_read state=S woken by=busy 100 waited for a CPU=1 whole length=5.001 at schedule/Kernel < vfs_read/Kernel < work/User < main/User
5-6 Running CPU=0 priority=120 left it in state=S
6-10 Off CPU state=S not ended=yes`)
	lines(t, "markers of the recording", p.markersOf(p.threadNamed(t, "Recording")), `
8-9 lost sample: ring kind of event=sample cause=ring events=3`)
	if lazy.PID != "100" || lazy.TID != "101" || lazy.IsMainThread || !busy.IsMainThread || lazy.ProcessName != "busy" {
		t.Errorf("lazy is %s of %s", lazy.TID, lazy.PID)
	}
}

func TestProfileHasFunctionsLibrariesAndMetadata(t *testing.T) {
	p, _ := convert(t, capture)
	lib := p.Libs[0]
	if lib.Name != "busy" || lib.Path != "/bin/busy" || lib.BreakpadID != "030201000504070608090A0B0C0D0E0F0" || *lib.CodeID != "000102030405060708090a0b0c0d0e0f10111213" {
		t.Errorf("lib %+v", lib)
	}
	f, fn := &p.Shared.FrameTable, &p.Shared.FuncTable
	for i, want := range []struct {
		name, file           string
		address, depth, line int
	}{{"main", "busy.c", 0x10ff, 0, 7}, {"work", "work.h", 0x10ff, 1, 3}} {
		name, source := p.Shared.StringArray[fn.Name[f.Func[i]]], p.Shared.StringArray[p.Shared.Sources.Filename[*fn.Source[f.Func[i]]]]
		if name != want.name || source != want.file || f.Address[i] != want.address || f.InlineDepth[i] != want.depth || *f.Line[i] != want.line {
			t.Errorf("frame %d: %s in %s:%d at %#x, depth %d", i, name, source, *f.Line[i], f.Address[i], f.InlineDepth[i])
		}
	}
	m := &p.Meta
	if m.StartTime != 1700000000000 || m.Interval != 1 || m.Oscpu != "Linux 6.18.0 x86_64" || m.LogicalCPUs != 1 || m.ProfilingStartTime != 0 || m.ProfilingEndTime != 10 {
		t.Errorf("meta %+v", m)
	}
	if e := m.Extra[0].Entries; e[2].Value != "wprof-record" || e[3].Label != "metadata job" || e[3].Value != `night "7"` || e[4].Value != "yes" {
		t.Errorf("entries %+v", e)
	}
}

func TestInterruptsThatWakeAreNamed(t *testing.T) {
	p, _ := convert(t, strings.Replace(capture, "target_cpu=0 stack=1", "target_cpu=0 stack=1 interrupt", 1))
	for name, want := range map[string]string{"busy": "to run on CPU=0 woken in=interrupt", "�\"\n": "woken by=busy 100 woken in=interrupt"} {
		if got := strings.Join(p.markersOf(p.threadNamed(t, name)), "\n"); strings.Count(got, "interrupt") != 1 || !strings.Contains(got, want) {
			t.Errorf("%s has\n%s", name, got)
		}
	}
}

// A profile of a range has its edges, and times as in one of the whole.
func TestProfileOfARangeBeginsWithTheRange(t *testing.T) {
	p, _ := convert(t, strings.Replace(capture, "close=+10000000\n  cpu", "range_start=1001500000 range_end=1009500000 close=+10000000\n  cpu", 1))
	if m := p.Meta; m.StartTime != 1700000000000 || m.ProfilingStartTime != 1.5 || m.ProfilingEndTime != 9.5 {
		t.Errorf("meta %+v", m)
	}
}

// Values at the limits of floating point numbers are numbers that add up.
func TestCountersStayFinite(t *testing.T) {
	p, _ := convert(t, strings.Replace(typed, "+3100 cpu0 typed 0 type=3 .mhz=2400.5", "+3100 cpu0 typed 0 type=3 .mhz=1.7e308\n+3110 cpu0 typed 0 type=3 .mhz=-1.7e308\n+3120 cpu0 typed 0 type=3 .mhz=7", 1))
	sum := 0.0
	for i, v := range p.Counters[1].Samples.Count {
		if sum += v; i < 2 && math.Abs(sum) < 8e307 || math.IsInf(sum, 0) {
			t.Errorf("value %d: %v, sum %v", i, v, sum)
		}
	}
}

const typed = `
section host=box boot_id=b kernel_release=6.18.0 machine=x86_64 open=1000000000 close=+10000000
  cpu 0
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
task 3 tid=101 pid=100 comm=lazy process_comm=busy start=6
frame 1
  line function="work"
stack 1 frames=1
text 1 text="GET"
eventtype 1 name="request" shape=span track="requests"
  field "path" type=string hint=name
  field "method" type=text
  field "size" type=uint unit="bytes"
  field "peer" type=task
  field "wait" type=duration
  field "rest" type=int unit="entries"
  field "where" type=stack
  field "then" type=stack
eventtype 2 name="queue" on=process
  field "depth" type=int hint=counter unit="bytes"
eventtype 3 name="clock" on=cpu
  field "mhz" type=float hint=counter
eventtype 4 name="load" on=global
  field "size" type=float
+0 cpu0 state_cpu 2 prio=120
+1000 cpu0 typed 2 type=2 .depth=5
+2500 cpu0 typed 2 type=1 start=+1500 .path="/a" .method=1 .size=4096 .peer=3 .wait=7000 .rest=-1 .where=1 .then=1
+2600 cpu0 typed 2 type=1 start=+1600 .path="/\xff" .method=0 .size=0 .peer=0 .wait=0 .rest=0 .where=0 .then=0
+3000 cpu0 typed 3 type=2 .depth=-3
+3100 cpu0 typed 0 type=3 .mhz=2400.5
+3200 cpu0 typed 0 type=4 .size=0.25
end close=+10000000
`

// Fields with the same label are kept apart, also from those that every marker has.
func TestFieldsOfTheSameLabelAreApart(t *testing.T) {
	p, _ := convert(t, `section open=1000000000 close=+10000000
task 1 tid=100 pid=100 comm=busy process_comm=busy start=5
eventtype 1 name="mark"
  field "CPU" type=uint
  field "d" type=int unit="ns"
  field "d_ns" type=int unit="ns"
+1000 cpu3 typed 1 type=1 .CPU=7 .d=2000 .d_ns=3000
end close=+10000000
`)
	lines(t, "markers", p.markersOf(p.threadNamed(t, "busy")), `0.001 mark CPU=3 CPU=7 d=0.002 d=0.003`)
}

func TestTypesAndCountersAreShown(t *testing.T) {
	p, _ := convert(t, typed)
	lines(t, "markers of busy", p.markersOf(p.threadNamed(t, "busy")), `
0.0015-0.0025 /a CPU=0 method=GET size=4096 peer=lazy 101 wait=0.007 rest (entries)=-1 then=[work] at work/User
0.0016-0.0026 /� CPU=0 size=0 wait=0 rest (entries)=0
0-10 Running CPU=0 priority=120 not ended=yes`)
	lines(t, "markers of the recording", p.markersOf(p.threadNamed(t, "Recording")), `0.0032 load CPU=0 size=0.25`)
	var got []string
	for _, c := range p.Counters {
		got = append(got, fmt.Sprint(c.Name, c.Samples.TimeDeltas, c.Samples.Count, " ", c.Display.Unit))
	}
	lines(t, "counters", got, `
queue depth[0.001 0.002] [5 -8] bytes
clock mhz of CPU 0[0.0031] [2400.5] number`)
}

// Counters with one name and different units are two.
func TestCountersOfTwoUnits(t *testing.T) {
	p, _ := convert(t, `section open=1000000000 close=+10000000
eventtype 1 name="memory" on=global
  field "used" type=uint hint=counter unit="%"
eventtype 2 name="memory" on=global
  field "used" type=uint hint=counter unit="MB"
+1000 all typed 0 type=1 .used=50
+2000 all typed 0 type=2 .used=700
end close=+10000000
`)
	var got []string
	for _, c := range p.Counters {
		got = append(got, fmt.Sprint(c.Name, c.Samples.Count))
	}
	lines(t, "counters", got, `
memory used[50]
memory used[700]`)
}
