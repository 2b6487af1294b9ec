package format

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// seeked is a Reader of a stream after a jump.
func seeked(t *testing.T, stream []byte, at int64) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SeekTime(at); err != nil {
		t.Fatal(err)
	}
	return r
}

// A jump must not hide damage: what a whole reading reports of a damaged block header, before and after the place that it
// jumps to, is reported after a jump too, with the same places in the file. So is what is damaged in a payload that the
// jump needs, or that comes after it.
func TestSeekReportsTheDamageThatItJumpsOver(t *testing.T) {
	stream := withStates(t, 3)
	r := seeked(t, stream, 15000)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	stateAt := r.current.Offset
	for _, b := range blocksOf(t, stream) {
		places := []int64{b.Offset + 16}
		if b.Header.Section > 1 && b.Header.Type != BlockEvents || b.Offset > stateAt {
			places = append(places, b.Offset+BlockHeaderSize)
		}
		for _, at := range places {
			damaged := bytes.Clone(stream)
			damaged[at] ^= 1
			what := fmt.Sprintf("byte %d, in block %d of section %d, type %d", at, b.Header.Sequence, b.Header.Section, b.Header.Type)
			_, whole, err := readAll(bytes.NewReader(damaged))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			jumped := seeked(t, damaged, 15000)
			if _, err := rest(jumped); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if want, got := whole.Damage(), jumped.Damage(); want == nil || got == nil || *got != *want {
				t.Errorf("%s: after a jump the damage is %+v, want %+v", what, got, want)
			}
		}
	}
}

// The end block's counts show whether a hole held events. A jump counts the events that it leaves out.
func TestDamageAfterAJumpIsNoLossWhereNoEventIsMissing(t *testing.T) {
	stream := withStates(t, 1)
	blocks := blocksOf(t, stream)
	for i := range blocks {
		if blocks[i].Header.Type == BlockIndex {
			stream[blocks[i].Offset+BlockHeaderSize] ^= 1
		}
	}
	r := seeked(t, stream, 5000)
	events, err := rest(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Damage() == nil {
		t.Error("the damage of the index is not reported")
	}
	for _, e := range events {
		if e.Kind == KindLost {
			t.Errorf("an event is reported as lost at %d", e.Time)
		}
	}
	if events[0].Time != 5000 {
		t.Errorf("the first event is at %d, want the state at 5000", events[0].Time)
	}
}

// A header block with an impossible session is dropped by a reader of everything. A jump must not take its session, nor
// may a summary.
func TestNoReaderAcceptsAnImpossibleSession(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	if err := w.Begin(&Session{Id: 1, BootId: "b", Close: 1000, Continues: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.BeginState(); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&Event{Time: 10, Kind: KindStateCPU, Flags: FlagSubject}); err != nil {
		t.Fatal(err)
	}
	if err := w.EndSection(&End{Close: 1000, Last: true}); err != nil {
		t.Fatal(err)
	}
	_, whole, err := readAll(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	jumped := seeked(t, out.Bytes(), 500)
	if _, err := rest(jumped); err != nil {
		t.Fatal(err)
	}
	if want, got := whole.Damage(), jumped.Damage(); want == nil || got == nil || *got != *want || !jumped.HeaderLost() {
		t.Errorf("after a jump the damage is %+v and the header lost: %v; want %+v and true", got, jumped.HeaderLost(), want)
	}
	sections, err := ReadSummary(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if s := sections[0]; s.Session != nil || !strings.Contains(s.Problem, "at byte 0: the section continues a session") {
		t.Errorf("the summary has session %v and problem %q; want none, and why", s.Session, s.Problem)
	}
}
