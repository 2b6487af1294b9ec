//go:build linux

package json

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/test/tools"
)

// A stream has the same header but for fields that are known only at the end, the same events, and those stacks that events name:
// each just before the first one that does.
func TestALiveStreamHasTheSameLines(t *testing.T) {
	c := theCapture(t)
	for what, out := range map[string][]byte{"file": c.write(t, "--stream"), "pipe": piped(t, read(t, c.path), "--stream")} {
		l := readLines(t, out)
		if l.header.StackCount != nil || l.header.Lost != nil || l.header.Dur == nil || *l.header.Dur != *c.lines.header.Dur {
			t.Errorf("%s: the header is %+v", what, l.header)
		}
		same(t, what, l.events, c.lines.events)
		justBefore(t, &l)
		sameStacks(t, &l, &c.lines)
	}
}

func piped(t *testing.T, stream []byte, args ...string) []byte {
	t.Helper()
	r := tools.Try(t, hang, stream, "wprof-json", args...)
	if r.Status != 0 {
		t.Fatalf("wprof-json %v: status %d: %s", args, r.Status, r.Stderr)
	}
	return r.Stdout
}

// justBefore: each stack stands before the first event that names it, with nothing but such stacks between them.
func justBefore(t *testing.T, l *lines) {
	t.Helper()
	seen, waiting := map[int64]bool{}, map[int64]bool{}
	s, e := 0, 0
	for _, kind := range l.order {
		if kind == 's' {
			id := l.stacks[s].ID
			s++
			if seen[id] {
				t.Fatalf("stack %d stands there twice", id)
			}
			seen[id], waiting[id] = true, true
			continue
		}
		for _, id := range l.events[e].stackIDs() {
			if !seen[id] {
				t.Fatalf("event %d names stack %d, which has no line yet", e, id)
			}
			delete(waiting, id)
		}
		if len(waiting) > 0 {
			t.Fatalf("before event %d stand stacks that it does not name: %v", e, slices.Collect(maps.Keys(waiting)))
		}
		e++
	}
}

func sameStacks(t *testing.T, got, all *lines) {
	t.Helper()
	byID := map[int64]string{}
	for _, s := range all.stacks {
		byID[s.ID] = strings.Join(s.Frames, ";") + strings.Join(s.Srcs, ";") + strings.Join(s.Modules, ";")
	}
	for _, s := range got.stacks {
		if text := strings.Join(s.Frames, ";") + strings.Join(s.Srcs, ";") + strings.Join(s.Modules, ";"); text != byID[s.ID] {
			t.Fatalf("stack %d is %s, else %s", s.ID, text, byID[s.ID])
		}
	}
	if len(got.stacks) == 0 {
		t.Error("there is no stack")
	}
}

func TestAPipeIsWrittenAsAFileIs(t *testing.T) {
	c := theCapture(t)
	want := c.write(t)
	if got := piped(t, read(t, c.path)); !bytes.Equal(got, want) {
		t.Error("the lines of a pipe differ from those of the file")
	}
	out := filepath.Join(t.TempDir(), "out.json")
	if got := read(t, tools.Convert(t, out, "wprof-json", c.path)); !bytes.Equal(got, want) {
		t.Error("the lines in a file differ from those on standard output")
	}
}

// Two recordings one after the other: one header, times on from the first one's, ids that never repeat.
func TestRecordingsAreWrittenOneAfterTheOther(t *testing.T) {
	c := theCapture(t)
	second := tools.Record(t, filepath.Join(t.TempDir(), "second.wprof"), []string{"-S+timer", "-S+waker", "--offcpu-min", "0"}, func() {
		busy(t, "pingpong 50")
		busy(t, "storm 8")
	})
	alone := readLines(t, tools.Run(t, "wprof-json", second))
	both := readLines(t, tools.Run(t, "wprof-json", c.path, second))
	apart := ns(readDump(t, tools.Run(t, "wprof-info", "--dump", second)).open - c.dump.open)
	if want := apart + *alone.header.Dur; *both.header.Dur != want {
		t.Errorf("both last for %d, want %d", *both.header.Dur, want)
	}
	n := len(c.lines.stacks)
	if *both.header.StackCount != n+len(alone.stacks) || len(both.stacks) != n+len(alone.stacks) {
		t.Fatalf("stack_cnt %d, %d lines of stacks, want %d and %d", *both.header.StackCount, len(both.stacks), n, len(alone.stacks))
	}
	inSections(t, &both)
	consistent(t, &both)
	base := both.stacks[n].ID - alone.stacks[0].ID
	want := slices.Clone(c.lines.events)
	closed := *c.lines.header.Dur
	for i, e := range both.events {
		if e.T == "gap" {
			if i != len(want) || e.TS != apart || *e.StartTS != closed || *e.Dur != apart-closed {
				t.Errorf("line %d has a gap from %d to %d, it is from %d to %d behind %d lines", i, *e.StartTS, e.TS, closed, apart, len(want))
			}
			want = append(want, e)
		}
	}
	if len(want) != len(c.lines.events)+1 {
		t.Errorf("%d gaps, want 1", len(want)-len(c.lines.events))
	}
	for _, e := range alone.events {
		want = append(want, e.later(apart, base))
	}
	same(t, "two recordings", both.events, want)
	streamed := readLines(t, tools.Run(t, "wprof-json", "--stream", c.path, second))
	same(t, "two recordings with --stream", streamed.events, want)
	justBefore(t, &streamed)
	sameStacks(t, &streamed, &both)
	theSame := theSchema(t)
	allValid(t, theSame, "two recordings", tools.Run(t, "wprof-json", "--stream", c.path, second))
}

// later is an event as a second recording has it: apart from the first, with ids that follow the first one's.
func (e event) later(apart ns, base int64) event {
	e.TS += apart
	moved := func(at *ns) *ns {
		if at == nil {
			return nil
		}
		sum := *at + apart
		return &sum
	}
	other := func(id *int64) *int64 {
		if id == nil {
			return nil
		}
		sum := *id + base
		return &sum
	}
	e.WakingTS, e.StartTS = moved(e.WakingTS), moved(e.StartTS)
	e.StackID, e.WakerStackID, e.OffCPUStackID = other(e.StackID), other(e.WakerStackID), other(e.OffCPUStackID)
	return e
}

// What happens is on standard output soon, also when nothing follows: events that nothing else would flush.
func TestALiveRecordingIsWrittenWhileItRuns(t *testing.T) {
	tools.NeedPrivilege(t)
	record := exec.Command(tools.Path("wprof-record"), "--live", "-d300s", "-v")
	convert := exec.Command(tools.Path("wprof-json"), "--stream", "-k", "task_rename,exec")
	var out, said, warned tools.Buffer
	from, err := record.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	record.Stderr, convert.Stdin, convert.Stdout, convert.Stderr = &said, from, &out, &warned
	for _, cmd := range []*exec.Cmd{convert, record} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	until(t, "the window to open", func() bool { return strings.Contains(said.String(), "window open") })
	for i := range 3 {
		// Its last rename is "name 19". There is no other event of these kinds then but what the machine does by itself.
		w := exec.Command(tools.Path("busy"), "names")
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		until(t, "the last rename to be written", func() bool { return strings.Count(out.String(), `"comm":"name 19"`) > i })
		if !strings.Contains(out.String(), `/busy"`) {
			t.Error("the exec is not there, but the rename after it is")
		}
	}
	if err := record.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := record.Wait(); err != nil {
		t.Errorf("the recorder: %v: %s", err, said.String())
	}
	if err := convert.Wait(); err != nil {
		t.Errorf("wprof-json: %v: %s", err, warned.String())
	}
	l := readLines(t, []byte(out.String()))
	if l.header.Dur != nil || l.header.StackCount != nil || l.header.Lost != nil {
		t.Errorf("the header is %+v", l.header)
	}
	allValid(t, theSchema(t), "live", []byte(out.String()))
}

// until waits for something that takes a moment: the limit is one for machines that do a hundred other things.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
