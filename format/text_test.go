package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"wprof/test/race"
)

// undumped is the stream that a text describes.
func undumped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Undump(&b, strings.NewReader(text)); err != nil {
		t.Fatalf("undump: %v\n%s", err, text)
	}
	return b.Bytes()
}

// dumped is the text of a stream, and what Dump says about its state.
func dumped(t testing.TB, stream []byte) (string, error) {
	t.Helper()
	var b bytes.Buffer
	err := Dump(&b, bytes.NewReader(stream))
	if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
		t.Fatalf("dump: %v", err)
	}
	return b.String(), err
}

const shortText = `
section host=a boot_id=b open=1000000   # times count from here
task 1 tid=12 pid=12 comm="ping" start=5
task 2 tid=13 pid=13 comm=pong
+0 cpu0 state_cpu 1 prio=120 since=-5
+1000 cpu0 switch 1 next=2 prev_state=S prev_prio=120 next_prio=120 since=+500 next_state=DK
+1.5us cpu0 waking 2 wakee=1 prio=120
+0.000002000 lost from=+1000 count=5 cause=ring
end close=+5000
`

const canonicalText = `section id=0x1 host="a" boot_id="b" open=1000000
block definitions
  task 1 tid=12 pid=12 comm="ping" start=5
  task 2 tid=13 pid=13 comm="pong"
block events state
  +0.000000000 cpu0 state_cpu 1 prio=120 since=-0.000000005
  +0.000001000 cpu0 switch 1 next=2 prev_state=S prev_prio=120 next_prio=120 since=+0.000000500 next_state=DK
  +0.000001500 cpu0 waking 2 wakee=1 prio=120 target_cpu=0
  +0.000002000 all lost from=+0.000001000 count=5 cause=ring what=any
index
end close=+0.000005000
`

func TestShortTextBecomesCanonical(t *testing.T) {
	text, err := dumped(t, undumped(t, shortText))
	if err != nil {
		t.Errorf("dump: %v", err)
	}
	if text != canonicalText {
		t.Errorf("got\n%swant\n%s", text, canonicalText)
	}
}

// Texts that dump would write itself: both directions lose nothing.
func TestCanonicalTextsStayAsTheyAre(t *testing.T) {
	for name, text := range canonicalTexts() {
		t.Run(name, func(t *testing.T) {
			stream := undumped(t, text)
			again, _ := dumped(t, stream)
			if again != text {
				t.Fatalf("got\n%swant\n%s", again, text)
			}
			if second := undumped(t, again); !bytes.Equal(second, stream) {
				t.Errorf("the second stream differs from the first")
			}
		})
	}
}

func canonicalTexts() map[string]string {
	const head = "section id=0x1 open=0\n"
	const tail = "index\nend close=+0.000000000\n"
	return map[string]string{
		"plain": canonicalText,
		"empty": head + tail,
		"session in full": `section id=0xfedcba9876543210 host="h" boot_id="b" kernel_release="6.1" kernel_version="#1" machine="x86_64" open=5 close=+0.000000007 version="v" continues epoch=3 range_start=+0.000000001 range_end=+0.000000002 recorder_pid=77
  command "wprof-record" "-d5s" "--" "a b" "5" "6" "7" "8"
  command "9"
  history "wprof-filter -p 1"
  config key="dur" value="5s"
  metadata key="k\n" value="\"v\""
  cpu 0 node=1
  cpu 1 offline
  source 1 name="timer" period=10000000
  clock monotonic=1 boottime=2 realtime=3
index
end close=+0.000000007
`,
		"definitions in full": head + `block definitions zstd
  clock monotonic=1 boottime=-2 realtime=3
  task 4294967295 tid=-1 pid=2 comm="\xff\x1b[31m\n\"" process_comm="p" ppid=3 start=-4 flags=kthread,idle,self,unknown,0x10 continues=9 command=4294967295
  cmdline 4294967295 args="a b\x00\xff\x00" cut
  module 1 path="/x" build_id=00ff device=1 inode=2 generation=3 base=0x10 kind=file
  module 2 path="[kernel]" base=0xffffffff81000000 kind=kernel
  module 3 path="[ext4]" kind=kernel_module
  module 4 path="[vdso]" kind=vdso
  module 5 path="/tmp/perf-9.map" kind=jit
  module 6 path="//anon" kind=anon
  module 7 kind=99
  frame 1 module=1 offset=0x20 function_offset=0x4 caller
    line function="f" file="a.c" line=12
    line function="g"
  stack 1 frames=1,2,3 kernel_frames=1 cut
  probe 1 definition="uprobe:/bin/x:main"
` + tail,
		"every kind": head + `block events
  +0.000000001 cpu1 switch 1 next=2 prev_state=R+ prev_prio=-1 next_prio=0 since=-0.000000001 next_state=0x3 approx
  +0.000000002 all waking 1 wakee=2 prio=1 target_cpu=3 !subject
  +0.000000003 cpu0 wakeup_new 1 wakee=2 prio=1 target_cpu=3 !object
  +0.000000004 cpu0 fork 1 own=+0.000000003 child=4294967295
  +0.000000005 cpu0 exec 1 prev=2 old_tid=7 filename="/\xff" cut
  +0.000000006 cpu0 rename 1 prev=2
  +0.000000007 cpu0 exit 1 code=256 last
  +0.000000008 cpu0 free 0
  +0.000000009 cpu0 state_cpu 1 prio=1 open
  +0.000000010 cpu0 state_thread 1 state=S prio=1 since=+0.000000001 woken=+0.000000002 waker=2 waker_cpu=1 approx new
  +0.000000011 all lost from=+0.000000001 count=18446744073709551615 cause=99 what=200
  +0.000000012 cpu4294967294 cpu_left 1
  +0.000000013 cpu0 sample 1 stack=4294967295 source=18446744073709551615
index
end close=+0.000000013
`,
		"what a newer minor adds": "section major=1 minor=9 features=0x0 id=0x1 open=0 more=f80101\n" + `block definitions
  task 3 tid=2 more=f80101
  payload 7a0101
block 99 @origin=5
  payload 0102
block events
  +0.000000001 cpu0 kind200 3 flags=0x10 more_times=+0.000000000,-0.000000005 more=0a0b
  +0.000000001 cpu0 kind0 0
  +0.000000002 cpu0 free 3 flags=0x80000000 more_times=+0.000000009 more=0a
  payload 0301030803010308
index
end close=+0.000000002 more=f80101
`,
		"wrong headers": head + `block events zstd state @origin=3 @first=+0.000000001 @last=+0.000000001 @earliest=-0.000000001 @events=99
  +0.000000002 cpu0 free 1
block definitions @flags=0xf0
index
end close=+0.000000002
`,
		"wrong ends": head + `index @events=9
  entry header flags=1 offset=2 stored=3 raw=4 first=+0.000000001 last=+0.000000002 earliest=-0.000000003 events=5
end footer=200,100,150 raw_bytes=1 stored_bytes=2 late=3 close=-0.000000001 definitions=7
  kind switch events=1 bytes=2
  process 5 comm="x" ns=10 start=3
  loss cpu=all kind=any cause=ring count=7
  clock monotonic=1
  cost user_ns=1 system_ns=2 peak_rss=3 ring_bytes=4 spool_bytes=5
    program "p" runs=1 ns=2 recursion_misses=3
`,
		"nothing counted": head + `block events
  +0.000000001 cpu0 lost from=+0.000000000 count=1 cause=tail what=exec
index none
end raw_bytes=0 stored_bytes=0 close=+0.000000001
  kind none
  loss none
`,
		"epochs": `section id=0x5 host="a" boot_id="b" open=10
index
end close=+0.000000000 last=false
section id=0x5 host="a" boot_id="b" open=10 continues epoch=1
index
end close=+0.000000000
section id=0x6 host="c" boot_id="b" open=20
index
end close=+0.000000000
`,
		"the first and the last time": "section id=0x1 open=-2305843009213693951\nblock events\n" +
			"  +0.000000000 all free 0\n  +4611686018.427387902 all free 0\nindex\nend close=+4611686018.427387902\n",
	}
}

func TestDumpTellsDamage(t *testing.T) {
	const events = "task 1 tid=1\nblock events\n+1 cpu0 free 1\nblock events\n+2 cpu0 free 1\nblock events\n+3 cpu0 free 1\nend\n"
	for _, c := range []struct{ name, text, want string }{
		{"clean", "section\n" + events, ""},
		{"header checksum", "section\nblock events bad_header_crc\n+1 cpu0 free 1\nend\n", "# damage: 83 bytes before byte 176 belong to no whole block (at byte 93: the checksum of a block header does not match)"},
		{"payload checksum", "section\nblock events bad_crc\n+1 cpu0 free 1\nend\n", "the checksum of a block does not match)"},
		{"dropped block", "section\nblock events drop\n+1 cpu0 free 1\nend\n", "block 2 of the section stands here, not block 1"},
		{"garbage", "section\nraw 00ff 89\nend\n", "# damage: 3 bytes before byte"},
		{"truncated", "section\n" + events + "cut 1\n", "bytes belong to no whole block"},
		{"no end", "section\n+1 cpu0 free 1\n", "# damage: the stream stops before the end block of its last section"},
		{"no header", "section drop\n" + events, "the header of section 1 is missing"},
		{"hostile length", "section\nblock events @raw=0xffffffff @stored=0xffffffff\nend\n", "claims 4294967295 bytes"},
		{"section within section", "section\nsection\nend\n", "a section begins before the one before it has ended"},
		{"after the end", "section\nend\nblock events\n", "a block stands after the end of its section"},
		{"back in time", "section\n+5 cpu0 free 1\n+4 cpu0 free 1\nend\n", "the next event goes back in time"},
		{"malformed events", "section\nblock 3 @events=1\npayload ffffffff00\nend\n", "malformed event block"},
		{"malformed definitions", "section\nblock 2\npayload 0aff\nend\n", "read definitions"},
		{"malformed session", "section\nblock 1\npayload 01000000000000000000000001\nend\n", "read the session"},
		{"malformed end", "section\nblock 5\npayload 01\n", "an end block is too short"},
		{"malformed index", "section\nblock 4\npayload 0a01\nend\n", "read index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream := undumped(t, c.text)
			text, err := dumped(t, stream)
			if (c.want == "") != (err == nil) || !strings.Contains(text, c.want) {
				t.Errorf("error %v, text\n%s\nwant in it %q", err, text, c.want)
			}
			if c.want == "" && strings.Contains(text, "#") {
				t.Errorf("a clean stream has comments:\n%s", text)
			}
			if again, _ := dumped(t, undumped(t, text)); !sameLines(again, text) {
				t.Errorf("the text changes when it is read back:\n%s\nto\n%s", text, again)
			}
		})
	}
}

// sameLines compares without comments: what was skipped is not written back.
func sameLines(a, b string) bool { return withoutComments(a) == withoutComments(b) }

func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestUndumpRefusesInOneSentence(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"+1 cpu0 free 1\n", "line 1: an event stands before the first section"},
		{"section\nsektion\n", `line 2: there is no line "sektion"; the nearest is section`},
		{"section hots=a\n", `line 1: there is no field of session "hots"; the nearest is host`},
		{"section\n\n+1 cpu0 swich 1\n", `line 3: there is no event kind "swich"; the nearest is switch`},
		{"section\n+1 cpu0 switch 1 nxt=2\n", `there is no field of switch "nxt"; the nearest is next`},
		{"section\n+1 cpu0 switch 1 aprox\n", `the nearest is approx`},
		{"section\n+1 cpu0 switch 1 next\n", "next has no value; write next=VALUE"},
		{"section\n+1 cpu0 switch 1 next=1 next=2\n", `"next" stands twice`},
		{"section\n+1 cpu0 switch 1 prev_state=Q\n", `prev_state: "Q" is no state`},
		{"section\n+1 cpu0 lost cause=rings\n", `there is no cause of loss "rings"; the nearest is ring`},
		{"section\n+1 switch 1\n", "switch needs a CPU before the kind"},
		{"section\n+1\n", "names no kind"},
		{"section\n+1.5 cpu0\n", "names no kind"},
		{"section\n+1.0000000001 cpu0 free\n", "is no time"},
		{"section\n+1x cpu0 free\n", "is no time"},
		{"section open=9223372036854775807\n+1 cpu0 free\n", "beyond what 64 bits hold"},
		{"section\ntask 1 tid=99999999999\n", "tid: \"99999999999\" is no number from -2147483648 to 2147483647"},
		{"section\ntask 1 comm=\"x\n", "does not end"},
		{"section\ntask 1 comm=\"x\"y\n", "write a space after"},
		{"section\ntask 1 comm=\xff\n", "the line is not UTF-8"},
		{"section host=\"\\xff\"\n", "host: this field holds UTF-8 only"},
		{"section\nblock evnts\n", `there is no block type "evnts"; the nearest is events`},
		{"section\nblock header\n", "by the word section"},
		{"section\nblock events @sq=1\n", "the nearest is @seq"},
		{"section\nblock events sate\n", "the nearest is state"},
		{"section\nloss count=1\n", "loss belongs to end; write it after that"},
		{"section\nline line=1\n", "line belongs to frame; write it after that"},
		{"section\ncut 1000\n", "so 1000 cannot be cut"},
		{"section\nraw 0\n", "pairs of hexadecimal digits"},
		{"payload 00\n", "payload stands outside of a block"},
		{"section\nend footer=1\n", "write none, or the distances"},
		{"section\n\"x\"\n", "a line begins with"},
		{"section offline=\n", "there is no field"},
		{"section\ncpu 1 offline=no\n", "write true or false"},
		{"section\n" + strings.Repeat("x", maxTextLine+1), "line 2: the line is longer than 65 MiB"},
	} {
		err := Undump(io.Discard, strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80q: got error %v, want %s", c.text, err, c.want)
		}
	}
}

// The longest line that Dump can write is one that Undump takes.
func TestLongestLineIsTakenBack(t *testing.T) {
	race.Skip(t)
	var b bytes.Buffer
	b.WriteString("section id=1\nblock events zstd\n+1 cpu0 exec 0 filename=\"")
	b.WriteString(strings.Repeat(`\xff`, MaxBlockBytes-100))
	b.WriteString("\"\nend\n")
	stream := undumped(t, b.String())
	text, err := dumped(t, stream)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(undumped(t, text), stream) {
		t.Error("the stream changes")
	}
}

func TestTextTimes(t *testing.T) {
	const open = 1_000_000_000
	for text, want := range map[string]int64{
		"5": 5, "5ns": 5, "1.5us": 1500, "2ms": 2_000_000, "0.25": 250_000_000, "3s": 3_000_000_000,
		"+5": open + 5, "-5": open - 5, "+0.000000001": open + 1, "+1.000250000": 2_000_250_000, "+1000250ns": open + 1_000_250,
		"0xffffffffffffffff": -1, "-1s": 0,
	} {
		if got, err := parseTextTime(text, open); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "+", "-", ".5", "5.", "+5.", "1e3", "1_000", "+-5", "++5", "5m", "0x", "1.5ns", "9223372036854775808", "9999999999s"} {
		if got, err := parseTextTime(bad, open); err == nil {
			t.Errorf("%q is taken as %d", bad, got)
		}
	}
	for _, at := range []int64{math.MinInt64, -1, 0, 1, open, math.MaxInt64} {
		for _, from := range []int64{math.MinInt64, -1, 0, open, math.MaxInt64} {
			text := string(appendTextTime(nil, at, from))
			if back, err := parseTextTime(text, from); back != at || err != nil {
				t.Errorf("%d from %d is %s and comes back as %d, %v", at, from, text, back, err)
			}
		}
	}
}

func TestTextStates(t *testing.T) {
	for s := range State(1 << 12) {
		text := textState(s)
		if back, err := parseTextState(text); back != s || err != nil {
			t.Errorf("%#x is %s and comes back as %#x, %v", uint32(s), text, uint32(back), err)
		}
	}
}

// Streams of the Writer go through the text and come back with the same blocks, for the Reader too.
func TestWriterStreamsSurviveTheText(t *testing.T) {
	for _, level := range []int{0, 1} {
		var b bytes.Buffer
		w := NewWriter(&b, WriterOptions{Level: level, BlockBytes: 4 << 10})
		writeSample(t, w, 0)
		writeSample(t, w, 1)
		text, err := dumped(t, b.Bytes())
		if err != nil {
			t.Fatalf("level %d: dump: %v", level, err)
		}
		for _, word := range []string{"kind ", "@", "footer", "entry", "raw_bytes", "definitions="} {
			if strings.Contains(text, word) {
				t.Errorf("level %d: the text counts otherwise than the Writer: it has %q", level, word)
			}
		}
		stream := undumped(t, text)
		if !bytes.Equal(stream, b.Bytes()) {
			t.Errorf("level %d: the stream that comes back differs", level)
		}
		if got, want := textOfEvents(t, stream), textOfEvents(t, b.Bytes()); got != want {
			t.Errorf("level %d: the Reader gets\n%swant\n%s", level, got, want)
		}
	}
}

// The Reader, which has a codec of its own, gets what the text says.
func TestReaderGetsWhatTheTextSays(t *testing.T) {
	texts := canonicalTexts()
	for name, text := range texts {
		if strings.Contains(text, "@") { // headers that lie
			delete(texts, name)
		}
	}
	texts["threads that come back"] = `section id=0x1 open=0
block events
  +0.000000001 cpu0 switch 1 next=2 prev_state=S prev_prio=1 next_prio=1 since=-0.000000001 next_state=S
  +0.000000003 cpu0 switch 2 next=1 prev_state=S prev_prio=1 next_prio=1 since=+0.000000001 next_state=S
  +0.000000007 cpu0 switch 1 next=2 prev_state=S prev_prio=1 next_prio=1 since=+0.000000004 next_state=S
  +0.000000009 cpu0 switch 2 next=1025 prev_state=S prev_prio=1 next_prio=1 since=+0.000000005 next_state=S
block events
  +0.000000011 cpu0 switch 1 next=2 prev_state=S prev_prio=1 next_prio=1 since=+0.000000009 next_state=S
`
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(undumped(t, text)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got, want strings.Builder
			v := newTextVocabulary()
			for {
				e, err := r.Next()
				if err != nil {
					break
				}
				if e.Kind == KindLost && Cause(e.Args[LostCause]) == CauseDamage {
					continue
				}
				v.open = r.Session().Open
				got.Write(append(v.appendEvent([]byte("  "), &textEvent{Event: *e}), '\n'))
			}
			for line := range strings.Lines(text) {
				word := strings.TrimLeft(line, " ")
				if strings.HasPrefix(word, "0x") || strings.Contains(word, "cause=99") {
					continue // times and values that cannot be true are damage to the Reader
				}
				if word[0] == '+' || word[0] == '-' {
					want.WriteString(line)
				}
			}
			if got.String() != want.String() {
				t.Errorf("got\n%swant\n%s", got.String(), want.String())
			}
		})
	}
}

func writeSample(t *testing.T, w *Writer, epoch uint32) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := int64(epoch) * 1e6
	check(w.Begin(&Session{Id: 7, Host: "h", BootId: "b", Open: 1000, Continues: epoch > 0, Epoch: epoch}))
	check(w.DefineTask(&Task{Id: 1, Tid: 10, Pid: 10, Comm: []byte("a\n")}))
	check(w.Define(&Definitions{Clocks: []*ClockSnapshot{{Monotonic: 1, Boottime: 2, Realtime: 3}}}))
	check(w.BeginState())
	check(w.Write(&Event{Time: base + 1000, Kind: KindStateCPU, Flags: FlagSubject, Task: 1}))
	for i := range int64(2000) {
		e := Event{Time: base + 1001 + i, Kind: KindSwitch, Flags: FlagsVisible, Task: 1, CPU: uint32(i % 3)}
		e.Switch().SetNext(1)
		e.Switch().SetPrevPrio(-1)
		if i%2 == 0 {
			e.Switch().SetSince(base + 900)
		}
		if i%100 == 0 {
			e.Flags |= FlagLate
			e.Own = base + 500
		}
		check(w.Write(&e))
	}
	check(w.EndSection(&End{Close: base + 5000, Last: epoch > 0}))
}

// textOfEvents is what the Reader delivers, as text.
func textOfEvents(t *testing.T, stream []byte) string {
	t.Helper()
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	defer r.Close()
	var b strings.Builder
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			fmt.Fprintf(&b, "damage %v\n", r.Damage())
			return b.String()
		}
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		fmt.Fprintf(&b, "%v %v\n", *e, r.Task(e.Task))
	}
}

// Every field of every message must be expressible, or a capture would lose it on the way through the text.
func TestTextFormKnowsEveryField(t *testing.T) {
	v := newTextVocabulary()
	file := File_wprof_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			worded := slices.ContainsFunc(v.details, func(d textDetail) bool { return d.parent == m.Name() && d.field == f.Name() })
			if isTextDetail(f) && !worded {
				t.Errorf("%s has no word in textDetails", f.FullName())
			}
			if _, err := parsePlainScalar(f, "1"); !isTextDetail(f) && f.Kind().String() != "bool" && err != nil {
				t.Errorf("%s: %v", f.FullName(), err)
			}
		}
	}
}

func TestUndumpIsAnOrdinaryWriter(t *testing.T) {
	want := errors.New("disk full")
	err := Undump(fullDisk{want}, strings.NewReader(shortText))
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v in it", err, want)
	}
	err = Dump(fullDisk{want}, bytes.NewReader(undumped(t, shortText)))
	if !errors.Is(err, want) {
		t.Errorf("dump: got %v, want %v in it", err, want)
	}
}

type fullDisk struct{ err error }

func (w fullDisk) Write([]byte) (int, error) { return 0, w.err }

// FuzzUndump holds the parser, and both directions against each other.
func FuzzUndump(f *testing.F) {
	f.Add(shortText)
	for _, text := range canonicalTexts() {
		f.Add(text)
	}
	for _, part := range captureParts(f) {
		text, _ := dumped(f, part) // it is cut
		f.Add(text[:min(len(text), 8<<10)])
	}
	f.Add("section\nblock events bad_crc drop\nraw 00\ncut 1\nblock 3\npayload 00\nend footer=none\n")
	f.Fuzz(func(t *testing.T, text string) {
		var stream bytes.Buffer
		if err := Undump(&stream, strings.NewReader(text)); err != nil {
			return
		}
		var first bytes.Buffer
		if err := Dump(&first, bytes.NewReader(stream.Bytes())); err != nil {
			return // faults were asked for
		}
		if strings.ContainsFunc(first.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
			t.Errorf("control characters in the text of %q", text)
		}
		back := undumped(t, first.String())
		if second, err := dumped(t, back); second != first.String() {
			t.Errorf("%v: the text\n%s\nbecomes\n%s", err, first.String(), second)
		}
	})
}
