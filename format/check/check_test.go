package check

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

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	. "wprof/format"
	"wprof/format/internal/spell"
	"wprof/format/textform"
	"wprof/test/fromtext"
)

// findings returns the checker's findings in a stream, one line each.
func findings(t testing.TB, stream []byte) []string {
	t.Helper()
	var all []string
	_, err := Stream(bytes.NewReader(stream), func(f Finding) { all = append(all, fmt.Sprintf("%d: %s", f.Offset, f.Text)) })
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return all
}

// read returns the number of events that a Reader delivers, and the damage that it finds.
func read(t testing.TB, stream []byte) (events int, damage *Damage) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return events, r.Damage()
		} else if err != nil {
			t.Fatal(err)
		}
		events++
	}
}

// samples is the beginning of a capture with a stack that goes from user space into the kernel.
const samples = `section open=100 close=+100
  source 1 name=timer period=10000000
cmdline 1 args="x\x00-y\x00"
task 1 tid=1 command=1
module 1 path=/bin/x build_id=00ff kind=file
module 2 path=[kernel] base=0xffffffff81000000 kind=kernel
frame 1 module=1 offset=0x1234 function_offset=0x34 caller
  line function=inlined file=a.c line=3
  line function=main file=a.c line=9
frame 2 module=1 offset=0x2000
frame 3 module=2 offset=0x10 function_offset=0x10 caller
  line function=entry_SYSCALL_64
frame 4 offset=0xffffffffc0000000
stack 1 frames=1,2,3,4 kernel_frames=2
`

// Only a newer version may have columns behind the known ones. The reader takes the events either way.
func TestColumnsOfANewerVersionAreAccepted(t *testing.T) {
	for _, minor := range []int{Minor, Minor + 1} {
		text := fmt.Sprintf("section minor=%d\ntask 1 tid=1\nblock events\n  +1 cpu0 free 1\n  +2 cpu0 free 1\n  payload 0501080101\nend\n", minor)
		stream := fromtext.Stream(t, text)
		got := findings(t, stream)
		if minor > Minor && len(got) > 0 || minor == Minor && (len(got) != 1 || !strings.Contains(got[0], "5 bytes follow the last event")) {
			t.Errorf("minor version %d: findings %q", minor, got)
		}
		if events, damage := read(t, stream); events != 2 || damage != nil {
			t.Errorf("minor version %d: %d events, damage %v", minor, events, damage)
		}
	}
}

func TestNothingIsFoundInCleanStreams(t *testing.T) {
	texts := map[string]string{"nearly empty": "section\nend\n"}
	for _, name := range []string{"plain", "empty", "what-a-newer-minor-adds", "epochs"} {
		canonical, err := os.ReadFile("../textform/testdata/canonical/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(canonical)
	}
	texts["news of one thread"] = "section\ntask 1 tid=1\nblock events\n+1 cpu0 state_thread 1\n+1 cpu0 state_cpu 1\n+2 cpu0 free 1\nend\n"
	texts["two states"] = "section open=1\ntask 1 tid=0\ntask 2 tid=2\n" +
		"+0 cpu0 state_cpu 1\n+0 cpu1 state_cpu 1\n+0 cpu0 state_thread 2\n+1 cpu0 free 2\n" +
		"+9 cpu0 state_cpu 2\n+9 cpu1 state_cpu 1\n+9 cpu1 state_cpu 1 open\nend\n"
	texts["epochs before a time range"] = "section boot_id=b open=5\nend last=false\nsection continues epoch=7 range_start=+2\nend\n"
	texts["samples"] = samples + "+1 cpu0 sample 1 stack=1 source=1\n+2 cpu0 sample 1 source=1\nend\n"
	texts["source of a newer version"] = "section minor=99\ntask 1 tid=1\n+1 cpu0 sample 1 source=7\nend\n"
	for name, text := range texts {
		stream := fromtext.Stream(t, text)
		if got := findings(t, stream); len(got) > 0 {
			t.Errorf("%s: %s", name, strings.Join(got, "\n"))
		}
		if _, damage := read(t, stream); damage != nil {
			t.Errorf("%s: the Reader finds damage: %v", name, damage)
		}
	}
}

func TestFindings(t *testing.T) {
	const tasks = "section open=100 close=+100\ntask 1 tid=1\ntask 2 tid=2\n"
	for _, c := range []struct{ name, text, want string }{
		{"payload checksum", tasks + "block events bad_crc\n+1 cpu0 free 1\nend", "the checksum of a block does not match"},
		{"header checksum", tasks + "block events bad_header_crc\n+1 cpu0 free 1\nend", "checksum of a block header does not match"},
		{"garbage", tasks + "raw 0011\nend", "2 bytes before here belong to no whole block"},
		{"truncated", tasks + "end\ncut 1", "bytes belong to no whole block"},
		{"no end", tasks, "stops before the end block"},
		{"dropped block", tasks + "block events drop\n+1 cpu0 free 1\nend", "block 3 of the section stands here, but block 2 should"},
		{"no header", strings.Replace(tasks, "close=+100", "drop", 1) + "end", "the header block of section 1 is missing"},
		{"after the end", "section\nend\nblock definitions", "a block stands after the end of its section"},
		{"section within section", "section\nsection\nend", "a section begins before the one before it has ended"},
		{"malformed session", "section\nend\nblock 1\npayload 00", "a header block is too short"},
		{"header's number", "section @seq=3\nend", "the header block has the number 3, not 0"},
		{"window", "section open=100 close=50\nend close=60", "the window closes before it opens"},
		{"malformed definitions", tasks + "block 2\npayload 0aff\nend", "read definitions"},
		{"malformed events", tasks + "block 3 @events=1\npayload ff\nend", "does not hold two columns of events"},
		{"malformed event", tasks + "+1 cpu0 free 1\npayload 05\nend", "1 bytes follow the last event of the block"},
		{"malformed end", "section\nblock 5\npayload 00", "an end block is too short"},
		{"malformed index", "section\nblock 4\npayload 0a\nend", "read index"},
		{"back in time", tasks + "+5 cpu0 free 1\n+4 cpu0 free 1\nend", "a free at +0.000000004 stands after an event at +0.000000005"},
		{"back in time, next block", tasks + "+5 cpu0 free 1\nblock events\n+4 cpu0 free 1\nend", "a free at +0.000000004 stands after an event at"},
		{"undefined task", tasks + "+5 cpu0 free 3\nend", "the free at +0.000000005 names task 3 as its own task, which is not defined before it"},
		{"undefined other side", tasks + "+5 cpu0 fork 1 child=3\nend", "names task 3 as child"},
		{"defined too late", tasks + "+5 cpu0 free 3\ntask 3\nend", "names task 3 as its own task"},
		{"id of another section", "section close=5\ntask 1\nend close=5\nsection open=5 close=9\n+1 cpu0 free 1\nend", "names task 1 as its own task"},
		{"defined twice", tasks + "task 1\nend", "task 1 is defined twice"},
		{"defined as 0", tasks + "task 0\nend", "task 0 is defined, but 0 names none"},
		{"continues nothing", tasks + "task 3 continues=4\nend", "task 3 names task 4, which is not defined before it"},
		{"frame's module", tasks + "frame 1 module=1\nend", "frame 1 names module 1"},
		{"stack's frame", tasks + "stack 1 frames=1\nend", "stack 1 names frame 1"},
		{"task's command", tasks + "task 3 command=4\nend", "task 3 names cmdline 4, which is not defined before it"},
		{"sample's stack", samples + "+1 cpu0 sample 1 stack=9 source=1\nend", "the sample at +0.000000001 names stack 9, which is not defined before it"},
		{"stack defined too late", samples + "+1 cpu0 sample 1 stack=9 source=1\nstack 9 frames=1,2,3,4\nend", "names stack 9, which is not"},
		{"frame defined too late", samples + "stack 2 frames=9\nframe 9\nend", "stack 2 names frame 9, which is not defined before it"},
		{"frame 0", samples + "stack 2 frames=1,0\nend", "stack 2 lists frame 0, which does not exist"},
		{"no frames", samples + "stack 2\nend", "stack 2 has no frames"},
		{"kernel first", samples + "stack 2 frames=3,1 kernel_frames=1\nend", "frame 3 of stack 2 is among the user frames, but is a kernel frame"},
		{"user last", samples + "stack 2 frames=1,2 kernel_frames=1\nend", "frame 2 of stack 2 is among the kernel frames, but is a user frame"},
		{"kernel frames not counted", samples + "stack 2 frames=1,3\nend", "frame 3 of stack 2 is among the user frames"},
		{"source", samples + "+1 cpu0 sample 1 source=2\nend", "names source 2, which the session does not list"},
		{"source not listed", samples + "+1 cpu0 sample 1 source=3\nend", "names source 3, which the session does not list"},
		{"core on two nodes", "section\n  cpu 0 core=3\n  cpu 1 core=3 node=1\nend", "core 3 has CPUs on the nodes 0 and 1"},
		{"cache of other CPUs", "section\n  cpu 0\n  cache level=2 used=1,1\nend", "a cache of level 2 lists 2 CPUs, and the session has 1"},
		{"source twice", "section\n  source 1\n  source 1\nend", "source 1 is defined twice"},
		{"source defined as 0", "section\n  source 0\nend", "a source has the id 0"},
		{"offset in file", samples + "frame 9 module=1 offset=0x8000000000000000\nend", "frame 9 has offset 0x8000000000000000"},
		{"offset in kernel", samples + "frame 9 module=2 offset=0x8000000000000000\nend", "which is no address"},
		{"offset in vDSO", samples + "module 9 kind=vdso\nframe 9 module=9 offset=0x7fff00000000\nend", "beyond the end of the vDSO"},
		{"function offset", samples + "frame 9 module=1 offset=0x10 function_offset=0x11\n  line function=f\nend", "has offset 0x10, but is 17 bytes into its function"},
		{"function offset without a function", samples + "frame 9 module=1 offset=0x10 function_offset=0x1\nend", "is 1 bytes into a function, but has no function"},
		{"caller at 0", samples + "frame 9 module=1 caller\nend", "frame 9 is a return address at offset 0"},
		{"kernel frames", tasks + "frame 1\nstack 1 frames=1 kernel_frames=2\nend", "stack 1 has 1 frames, but claims 2"},
		{"invisible", tasks + "+1 cpu0 fork 1 child=2 !subject !object\nend", "neither side of the fork at +0.000000001 is visible"},
		{"before the window", tasks + "-1 cpu0 free 1\nend", "is before the window, which begins at +0.000000000"},
		{"after the window", tasks + "+101 cpu0 free 1\nend", "is after the window, which ends at +0.000000100"},
		{"after the close", "section\ntask 1\n+5 cpu0 free 1\nend close=+4", "closes at +0.000000004, but its last event is at +0.000000005"},
		{"outside the kept range", "section range_start=+5 range_end=+8\n+4 all lost from=+4\nend", "is before the window, which begins at +0.000000005"},
		{"future", tasks + "+5 cpu0 state_cpu 1 since=+6\nend", "has since=+0.000000006, which is after it"},
		{"late", tasks + "+5 cpu0 free 1 own=+5\nend", "is late, but its own time is +0.000000005"},
		{"unknown state", tasks + "+5 cpu0 switch 1 next=2 prev_state=0x10000\nend", "has prev_state=0x10000, which means nothing"},
		{"unknown cause", tasks + "+5 all lost from=+4 cause=99\nend", "has cause=99, which means nothing"},
		{"no state", tasks + "block events state\n+5 cpu0 free 1\nend", "the block does not begin with a state, although its header says so"},
		{"CPU twice", tasks + "+0 cpu0 state_cpu 1\n+0 cpu0 state_cpu 2\nend", "the state reports two threads on cpu0"},
		{"CPU twice around another event", tasks + "block events state\n+0 cpu0 state_cpu 1\n+0 cpu0 rename 1\n+0 cpu0 state_cpu 2\nend", "the state reports two threads on cpu0"},
		{"thread twice", tasks + "+0 cpu0 state_cpu 1\n+0 cpu0 state_thread 1\nend", "the state reports task 1 twice"},
		{"first", tasks + "block events @first=+4\n+5 cpu0 free 1\nend", "claims +0.000000004 as its first time, but it is +0.000000005"},
		{"last", tasks + "block events @last=+6\n+5 cpu0 free 1\nend", "as its last time, but it is +0.000000005"},
		{"earliest", tasks + "block events @earliest=+5\n+5 cpu0 state_cpu 1 since=+2\nend", "as its earliest time, but it is +0.000000002"},
		{"number of events", tasks + "block events @events=2\n+5 cpu0 free 1\nend", "the block claims 2 events and holds 1"},
		{"no events", tasks + "block events\nend", "the block of events is empty"},
		{"times of definitions", tasks + "block definitions @last=5\nend", "the header of a block without events has events, or times of them"},
		{"no index", tasks + "index none\nend", "the section has no index"},
		{"index entry", tasks + "index\nentry header offset=5\nend", "entry 0 of the index lists a block where none begins"},
		{"index of other blocks", tasks + "index\nentry header stored=7\nend", "entry 0 of the index differs from its block"},
		{"short index", tasks + "index\nentry none\nend", "the index does not list the block at byte 0"},
		{"footer", tasks + "end footer=300,200,150", "the footer does not lead to"},
		{"no footer", tasks + "end footer=none\npayload 0000000000000000000000000000000000000000000000000000000000000000000000000000000000", "no footer here"},
		{"kind count", tasks + "+1 cpu0 free 1\nend\nkind free events=2 bytes=6", "claims 2 events of kind free, but the section has 1"},
		{"kind bytes", tasks + "+1 cpu0 free 1\nend\nkind free events=1 bytes=1", "claims 1 bytes of kind free"},
		{"kind missing", tasks + "+1 cpu0 free 1\nend\nkind none", "does not count the 1 events of kind free"},
		{"raw bytes", tasks + "end raw_bytes=1", "claims 1 bytes of event payloads"},
		{"stored bytes", tasks + "end stored_bytes=1", "claims 1 stored bytes of event payloads"},
		{"definitions", tasks + "end definitions=1", "claims 1 definitions, but the section has 2"},
		{"late events", tasks + "end late=1", "claims 1 late events"},
		{"losses", tasks + "+5 all lost from=+4 count=7 cause=ring\nend\nloss count=6 cause=ring cpu=all", "events report 7 losses by ring, but the end block reports 6"},
		{"overlap", "section close=9\nend\nsection open=5\nend", "sections do not share a timeline"},
		{"other boot", "section boot_id=a\nend\nsection boot_id=b\nend", "different boots"},
		{"epoch after the last", "section\nend\nsection continues\nend", "an epoch of a session follows after its last one"},
		{"epoch missing", "section\nend last=false\nsection continues epoch=2\nend", "epoch 2 follows after epoch 0"},
		{"epoch expected", "section\nend last=false\nsection\nend", "an epoch of the one before it should follow"},
		{"first epoch continues", "section continues\nend", "as its first epoch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := findings(t, fromtext.Stream(t, c.text))
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("got %q\nwant among them %s", got, c.want)
			}
		})
	}
}

// What follows from a hole is not reported again as something else.
func TestHolesAreReportedOnce(t *testing.T) {
	got := findings(t, fromtext.Stream(t, "section\ntask 1\n+1 cpu0 free 1\nblock events bad_crc\n+2 cpu0 free 1\nend raw_bytes=11 stored_bytes=11\nkind free events=1 bytes=7\n"))
	if len(got) != 2 || !strings.Contains(got[0], "the checksum of a block does not match") || !strings.Contains(got[1], "block 4 of the section") {
		t.Errorf("got %q", got)
	}
}

func TestRepetitionsAreSummed(t *testing.T) {
	text := "section\n" + strings.Repeat("+1 cpu0 free 7\n", 100) + "end\n"
	got := findings(t, fromtext.Stream(t, text))
	if len(got) != sameFindings+1 || !strings.Contains(got[sameFindings], "95 more findings") {
		t.Errorf("got %d findings, the last %s", len(got), got[len(got)-1])
	}
}

func TestDefinitionsAreBounded(t *testing.T) {
	var got []string
	c := &checker{voc: spell.NewVocabulary(), words: map[protoreflect.Name]string{"tasks": "task", "texts": "text"}, report: func(f Finding) { got = append(got, f.Text) }}
	c.members = MaxSectionDefinitions
	payload, err := proto.Marshal(&Definitions{Tasks: []*Task{{Id: 1}, {Id: 2}}, Texts: []*Text{{Id: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	c.definitions(&Block{Payload: payload})
	if len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("more than %d definitions", MaxSectionDefinitions)) || c.ids.has("task", 1) || c.ids.has("text", 1) {
		t.Errorf("got %q", got)
	}
}

// Sections may have 64 MiB of event types, and all of them count.
func TestManyEventTypesAreChecked(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		var stream bytes.Buffer
		w := NewWriter(&stream, WriterOptions{})
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.Begin(&Session{Id: 1, Open: 1}))
		name := bytes.Repeat([]byte("x"), 256)
		field := &TypeField{Name: []byte("n"), Type: uint32(ValueType_VALUE_ENUM), Names: slices.Repeat([]*EnumName{{Name: name}}, 900)}
		const types = 40
		for id := uint32(1); id <= types; id++ {
			must(w.DefineType(&EventType{Id: id, Name: fmt.Appendf(nil, "type %d", id), Fields: []*TypeField{field}}))
		}
		for id := range uint64(types) {
			e := &Event{Kind: KindTyped, Flags: FlagSubject, Time: 2, Data: []byte{0}}
			if wrong && id+1 == types {
				e.Data = []byte{0, 0}
			}
			e.Typed().SetType(id + 1)
			must(w.Write(e))
		}
		must(w.EndSection(&End{Close: 3, Last: true}))
		got := findings(t, stream.Bytes())
		if len(got) != 0 && !wrong || wrong && (len(got) != 1 || !strings.Contains(got[0], "do not match its type, 40")) {
			t.Errorf("wrong values %v: got %q", wrong, got)
		}
	}
}

func TestDefinitionsThatAreTooLongAreFound(t *testing.T) {
	name := strings.Repeat("x", 250)
	for want, text := range map[string]string{
		"event type 1 has more than 262144 bytes": "eventtype 1 name=x\n" + strings.Repeat("field n type=uint\n"+strings.Repeat("enum 1 name="+name+"\n", 1000), 2),
		"text 1 has more than 65536 bytes":        "text 1 text=" + strings.Repeat("x", 64<<10+1) + "\n",
	} {
		got := findings(t, fromtext.Stream(t, "section\n"+text+"end\n"))
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
	if got := findings(t, fromtext.Stream(t, "section\ntext 1 text="+strings.Repeat("x", 64<<10)+"\nend\n")); len(got) != 0 {
		t.Errorf("a text of 64 KiB: %q", got)
	}
}

func TestInputThatCannotBeChecked(t *testing.T) {
	for want, from := range map[error]string{ErrNewer: "section major=2\nend\n", ErrNotStream: "raw 00\n"} {
		if _, err := Stream(bytes.NewReader(fromtext.Stream(t, from)), func(Finding) {}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// FuzzBlocks checks blocks whose checksums are right and whose payloads are anything.
func FuzzBlocks(f *testing.F) {
	texts, err := filepath.Glob("../textform/testdata/canonical/*.txt")
	if err != nil || len(texts) == 0 {
		f.Fatalf("no canonical texts: %v", err)
	}
	for _, file := range append(texts, "../../test/damage/testdata/capture.wprof") {
		stream, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if strings.HasSuffix(file, ".txt") {
			stream = fromtext.Stream(f, string(stream))
		}
		for blocks := NewBlockReader(bytes.NewReader(stream[max(0, len(stream)-10<<10):])); ; {
			b, err := blocks.Next()
			if err != nil {
				break
			}
			f.Add(byte(b.Header.Type), b.Header.First, b.Header.Events, slices.Clone(b.Payload))
		}
	}
	head := fromtext.Stream(f, "section id=1 open=5\ntask 1\n")
	f.Fuzz(func(t *testing.T, typ byte, first int64, events uint32, payload []byte) {
		h := BlockHeader{Type: BlockType(typ), Section: 1, Sequence: 2, First: first, Last: first, Earliest: first, Events: events}
		stream, err := AppendBlock(slices.Clone(head), h, payload, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = Stream(bytes.NewReader(stream), func(f Finding) {
			if strings.ContainsAny(f.Text, "\n\x1b") {
				t.Errorf("control characters in %q", f.Text)
			}
		})
		var once, twice bytes.Buffer
		if err := textform.Dump(&once, bytes.NewReader(stream)); errors.Is(err, ErrNewer) {
			return
		}
		_ = textform.Dump(&twice, bytes.NewReader(fromtext.Stream(t, once.String())))
		if withoutComments(twice.String()) != withoutComments(once.String()) {
			t.Errorf("the text\n%s\nbecomes\n%s", once.String(), twice.String())
		}
	})
}

// withoutComments drops the comments about damage: what was skipped is not written back.
func withoutComments(dumped string) string {
	var b strings.Builder
	for line := range strings.Lines(dumped) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}
