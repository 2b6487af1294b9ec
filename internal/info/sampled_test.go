package info

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"wprof/format"
	"wprof/test/fromtext"
)

const sampledText = `
section host=box open=1000000000 close=+10s id=7
  source 1 name=timer period=10000000
task 1 tid=1 pid=1 comm=a
module 1 path="/usr/bin/app" kind=1
module 2 path="/usr/lib/libc.so.6" kind=1
module 3 path="[kernel]" kind=2
frame 1 module=1 offset=1 caller
  line function=_start
frame 2 module=1 offset=2 caller
  line function=inlined file="app.c" line=3
  line function=main
frame 3 module=2 offset=3
frame 4 module=3 offset=4
  line function=read
frame 5 module=3 offset=5
frame 6 module=2 offset=6 caller
  line function=memcpy
frame 7 offset=99
stack 1 frames=1,2
stack 2 frames=1,2,3,4 kernel_frames=1
stack 3 frames=6,3
stack 4 frames=3 cut
stack 5 frames=4,5 kernel_frames=2
stack 6 frames=7,2,1
+1 cpu0 sample 1 stack=1 source=1
+2 cpu0 sample 1 stack=2 source=1
+3 cpu0 sample 1 stack=3 source=1
+4 cpu0 sample 1 stack=3 source=1
+5 cpu0 sample 1 stack=4 source=1
+6 cpu0 sample 1 stack=5 source=1
+7 cpu0 sample 1 stack=6 source=1
+8 cpu0 sample 1 stack=0 source=1
+9 cpu0 sample 1 stack=1 source=1
`

func TestSummaryOfSamples(t *testing.T) {
	got, _ := printed(t, fromtext.Stream(t, sampledText+`
end last=false
section continues close=11000000000
source 1 name=timer period=10000000
task 1 tid=1 pid=1 comm=a
module 9 path="/usr/bin/app" kind=1
frame 1 module=9 offset=1 caller
  line function=main
stack 1 frames=1
+5s cpu0 sample 1 stack=1 source=1
end
`))
	const want = `sources     timer 100 Hz
`
	if !strings.Contains(got, want) {
		t.Errorf("the sources are missing in\n%s", got)
	}
	// User frames: 2 + 3 + 2*2 + 1 + 3 + 2 + 1 = 16, of which frame 3 (1+2+1) and frame 7 (1) have no name.
	const samples = `samples     9 of 10 samples have a stack
named       66.7% of 3 kernel frames, 68.8% of 16 user frames
  4 of 6  not named  /usr/lib/libc.so.6
  1 of 3  not named  [kernel]
  1 of 1  not named  [unknown]
lines       25.0% of 16 user frames have a source line
cut stacks  62.5% of 8 user stacks lack their outer functions
  3  60.0%  /usr/lib/libc.so.6
  2  40.0%  /usr/bin/app
`
	if _, rest, _ := strings.Cut(got, "samples     "); !strings.HasPrefix("samples     "+rest, samples) {
		t.Errorf("got\n%swant\n%s", got, samples)
	}
}

// A stack that is cut is too deep, or did not reach the function that began its thread.
func TestCutStacksAreTooDeepOrMissTheirRoot(t *testing.T) {
	for frames, wantCut := range map[string]uint64{"1": 1, "1,2,3": 1, strings.Repeat("1,", 126) + "3": 0} {
		text := strings.Split(sampledText, "stack 1 ")[0] + "stack 1 frames=" + frames + " cut\n+1 cpu0 sample 1 stack=1 source=1\nend\n"
		s, err := Summarize(bytes.NewReader(fromtext.Stream(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Recordings[0].Sampled; got == nil || got.UserStacks.Cut != wantCut || got.TooDeep != 1-wantCut {
			t.Errorf("frames %.20s: got %+v, want %d cut", frames, got, wantCut)
		}
	}
}

// A frame in no module is no caller, but one that was lost to damage is.
func TestStacksThatLookCut(t *testing.T) {
	for frames, want := range map[string]uint64{"7,2,3": 1, "7,7,2,3": 1, "7,1,3": 0, "42,2,3": 0, "8,2,3": 0, "2,7,3": 0} {
		text := strings.Split(sampledText, "stack 1 ")[0] + "frame 8\n  line function=(lost)\nstack 1 frames=" + frames + "\n+1 cpu0 sample 1 stack=1 source=1\nend\n"
		s, err := Summarize(bytes.NewReader(fromtext.Stream(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Recordings[0].Sampled; got == nil || got.UserStacks.All != 1 || got.UserStacks.Cut != want {
			t.Errorf("frames %s: got %+v, want %d cut", frames, got, want)
		}
	}
}

// Each recording of a stream has its own.
func TestSamplesOfTwoRecordings(t *testing.T) {
	second := strings.NewReplacer("id=7", "id=8", "open=1000000000", "open=20000000000", "/usr/lib/libc.so.6", "/usr/lib/other").Replace(sampledText)
	s, err := Summarize(bytes.NewReader(fromtext.Stream(t, sampledText+"end\n"+second+"+20 cpu0 sample 1 stack=1 source=1\nend\n")))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		samples uint64
		worst   string
	}{{9, "/usr/lib/libc.so.6"}, {10, "/usr/lib/other"}} {
		got := s.Recordings[i].Sampled
		if got == nil || !got.All || got.Samples != want.samples || got.Modules[0].Path != want.worst {
			t.Errorf("recording %d: got %+v, want %+v", i, got, want)
		}
	}
}

// Statistics of a part of the samples are marked as such.
func TestPartOfTheSamples(t *testing.T) {
	var b bytes.Buffer
	w := format.NewWriter(&b, format.WriterOptions{})
	if err := w.Begin(&format.Session{Id: 1, Open: 1}); err != nil {
		t.Fatal(err)
	}
	w.DefineTask(&format.Task{Id: 1})
	e := format.Event{Kind: format.KindSample, Flags: format.FlagSubject, Task: 1}
	for i := range 5000 {
		e.Time = int64(i + 1)
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.EndSection(&format.End{Close: 5001, Last: true}); err != nil {
		t.Fatal(err)
	}
	got := readEvents(bytes.NewReader(b.Bytes()), time.Now().Add(-time.Hour))
	if len(got) != 1 || got[0].All || got[0].Samples != 1023 {
		t.Fatalf("got %+v", got)
	}
	got = readEvents(bytes.NewReader(b.Bytes()), time.Time{})
	if len(got) != 1 || !got[0].All || got[0].Samples != 5000 {
		t.Fatalf("without a deadline: %+v", got)
	}
}

func TestNothingIsWiderThanThePage(t *testing.T) {
	long := strings.Repeat("/a/long/path/of/some/file", 8)
	args := strings.Repeat(` "an argument"`, 30)
	got, _ := printed(t, fromtext.Stream(t, `
section host=`+strings.Repeat("h", 60)+` kernel_release=`+strings.Repeat("6", 60)+` open=1 close=+5s
  command wprof-record`+args+`
  history "wprof-filter`+strings.Repeat(" -p 12", 40)+`"
  metadata key=why value="`+strings.Repeat("because of it ", 20)+`"
task 1 tid=1
module 1 path="`+long+`"
frame 1 module=1
stack 1 frames=1
+1 cpu0 sample 1 stack=1
end
  process 12345678 comm="\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02\x03\x04\x05\x06\x07" ns=123456789012345
  cost user_ns=1500000000000 system_ns=25000000000000 peak_rss=123456789 ring_bytes=8388608 spool_bytes=123456789
    program "`+strings.Repeat("p", 200)+`" runs=123456789 ns=1234567890 recursion_misses=12345
`))
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > pageWidth {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if !strings.Contains(got, `'an argument' \`+"\n            'an argument'") {
		t.Errorf("the command cannot be copied:\n%s", got)
	}
}

// Reading samples from a file and from a pipe works with any stream.
func TestSamplesOfDamagedStreams(t *testing.T) {
	stream := fromtext.Stream(t, sampledText+"end\n")
	path := filepath.Join(t.TempDir(), "x.wprof")
	for at := range stream {
		broken := bytes.Clone(stream)
		broken[at] ^= 0x55
		for what, input := range map[string][]byte{"flipped": broken, "cut": stream[:at]} {
			if _, err := Summarize(bytes.NewReader(input)); err != nil && at > 300 {
				t.Fatalf("%s at %d: %v", what, at, err)
			}
		}
		if at%16 != 0 {
			continue
		}
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Summarize(f); err == nil {
			if err := s.WriteJSON(new(bytes.Buffer), "x"); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
}

func TestRates(t *testing.T) {
	for period, want := range map[int64]string{
		1e7: "100 Hz", 1e6: "1000 Hz", 10101010: "99 Hz", 3e6: "333.33 Hz", 1e9: "1 Hz", 2e9: "every 2.000 s", 0: "at an unknown rate",
	} {
		if got := rate(period); got != want {
			t.Errorf("%d: got %s, want %s", period, got, want)
		}
	}
}

// Where it was recorded why stacks end, that decides, and not how they look.
func TestReasonsOfStackEnds(t *testing.T) {
	for end, want := range map[format.StackEnd]string{
		format.StackEnd_STACK_END_ROOT:       "0.0% of 1 user stack lack their outer functions\n",
		format.StackEnd_STACK_END_DEPTH:      "0.0% of 1 user stack lack their outer functions\n",
		format.StackEnd_STACK_END_NO_CODE:    "100.0% of 1 user stack lack their outer functions (1 no code)\n",
		format.StackEnd_STACK_END_NO_FRAME:   "100.0% of 1 user stack lack their outer functions (1 no frame)\n",
		format.StackEnd_STACK_END_UNREADABLE: "100.0% of 1 user stack lack their outer functions (1 unreadable)\n",
		format.StackEnd_STACK_END_NO_TABLE:   "100.0% of 1 user stack lack their outer functions (1 no table)\n",
	} {
		text := strings.Split(sampledText, "stack 1 ")[0] + fmt.Sprintf("stack 1 frames=1 user_end=%d\n+1 cpu0 sample 1 stack=1 source=1\nend\n", end)
		s, err := Summarize(bytes.NewReader(fromtext.Stream(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		s.Recordings[0].Sampled.printCut(&b)
		if !strings.Contains(b.String(), want) {
			t.Errorf("%v: got %q, want %q", end, b.String(), want)
		}
	}
}
