package textform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "wprof/format"
	"wprof/format/check"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
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

// dumped returns the text of a stream, and the error of Dump.
func dumped(t testing.TB, stream []byte) (string, error) {
	t.Helper()
	var b bytes.Buffer
	err := Dump(&b, bytes.NewReader(stream))
	if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
		t.Fatalf("dump: %v", err)
	}
	return b.String(), err
}

// checked reports what the checker finds in a stream.
func checked(t testing.TB, stream []byte) {
	t.Helper()
	if _, err := check.Stream(bytes.NewReader(stream), func(f check.Finding) { t.Errorf("%d: %s", f.Offset, f.Text) }); err != nil {
		t.Errorf("check: %v", err)
	}
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

func TestShortTextBecomesCanonical(t *testing.T) {
	text, err := dumped(t, undumped(t, shortText))
	if err != nil {
		t.Errorf("dump: %v", err)
	}
	if want := canonicalTexts(t)["plain"]; text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

// Texts that dump would write itself: both directions lose nothing.
func TestCanonicalTextsStayAsTheyAre(t *testing.T) {
	for name, text := range canonicalTexts(t) {
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

func canonicalTexts(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/canonical/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no canonical texts: %v", err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	return all
}

func TestDumpReportsDamage(t *testing.T) {
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
		{"section\n+1 cpu0 switch 1 prev_state=Q\n", `prev_state: "Q" is not a state`},
		{"section\n+1 cpu0 lost cause=rings\n", `there is no cause of loss "rings"; the nearest is ring`},
		{"section\n+1 switch 1\n", "switch needs a CPU before the kind"},
		{"section\n+1\n", "names no kind"},
		{"section\n+1.5 cpu0\n", "names no kind"},
		{"section\n+1.0000000001 cpu0 free\n", "is no time"},
		{"section\n+1x cpu0 free\n", "is no time"},
		{"section open=9223372036854775807\n+1 cpu0 free\n", "does not fit into 64 bits"},
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
		{"section\n" + strings.Repeat("x", maxLine+1), "line 2: the line is longer than 65 MiB"},
	} {
		err := Undump(io.Discard, strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80q: got error %v, want %s", c.text, err, c.want)
		}
	}
}

// The longest line that Dump can write is one that Undump takes.
func TestLongestLineIsReadBack(t *testing.T) {
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

// Streams of the Writer go through the text and come back with the same blocks, for the Reader too.
func TestWriterStreamsSurviveTheText(t *testing.T) {
	for _, level := range []int{0, 1} {
		var b bytes.Buffer
		w := NewWriter(&b, WriterOptions{Level: level, BlockBytes: 4 << 10})
		writeSample(t, w, 0)
		writeSample(t, w, 1)
		checked(t, b.Bytes())
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

// The Reader, which has another codec, returns what the text has.
func TestReaderReadsWhatTheTextDescribes(t *testing.T) {
	texts := canonicalTexts(t)
	for name, text := range texts {
		if strings.Contains(text, "@") { // wrong headers
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
			v := newVocabulary(new(raw.Types))
			for {
				e, err := r.Next()
				if err != nil {
					break
				}
				if e.Kind == KindLost && Cause(e.Args[LostCause]) == CauseDamage {
					continue
				}
				v.Open = r.Session().Open
				got.Write(append(v.appendEvent([]byte("  "), &raw.Event{Event: *e}), '\n'))
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
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := int64(epoch) * 1e6
	must(w.Begin(&Session{Id: 7, Host: "h", BootId: "b", Open: 1000, Continues: epoch > 0, Epoch: epoch}))
	must(w.DefineTask(&Task{Id: 1, Tid: 10, Pid: 10, Comm: []byte("a\n")}))
	must(w.Define(&Definitions{Clocks: []*ClockSnapshot{{Monotonic: 1, Boottime: 2, Realtime: 3}}}))
	must(w.BeginState())
	must(w.Write(&Event{Time: base + 1000, Kind: KindStateCPU, Flags: FlagSubject, Task: 1}))
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
		must(w.Write(&e))
	}
	must(w.EndSection(&End{Close: base + 5000, Last: epoch > 0}))
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
func TestTextFormHasEveryField(t *testing.T) {
	v := newVocabulary(new(raw.Types))
	file := File_wprof_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			worded := slices.ContainsFunc(v.details, func(d spell.Detail) bool { return d.Parent == m.Name() && d.Field == f.Name() })
			if isDetail(f) && !worded {
				t.Errorf("%s has no word in spell.Details", f.FullName())
			}
			if _, err := parsePlainScalar(f, "1"); !isDetail(f) && f.Kind().String() != "bool" && err != nil {
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
	for _, text := range canonicalTexts(f) {
		f.Add(text)
	}
	capture, err := os.ReadFile("../../test/damage/testdata/capture.wprof")
	if err != nil {
		f.Fatal(err)
	}
	for _, part := range [][]byte{capture[:6<<10], capture[len(capture)-10<<10:]} {
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
			return // the text has faults
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
