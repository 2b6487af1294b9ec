package format

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"wprof/test/race"
)

// sectionOf writes one section: a task under id 1 with the given name, and events at the given times.
func sectionOf(t testing.TB, s *Session, comm string, times ...int64) []byte {
	t.Helper()
	return epochOf(t, s, true, comm, times...)
}

func epochOf(t testing.TB, s *Session, isLast bool, comm string, times ...int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	if err := w.Begin(s); err != nil {
		t.Fatal(err)
	}
	if err := w.DefineTask(&Task{Id: 1, Tid: 7, Comm: []byte(comm)}); err != nil {
		t.Fatal(err)
	}
	for _, at := range times {
		if err := w.Write(&Event{Time: at, Kind: KindFree, Flags: FlagSubject, Task: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.EndSection(&End{Close: max(s.Close, times[len(times)-1]), Last: isLast}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSectionsOfOneBootShareATimeline(t *testing.T) {
	a := sectionOf(t, &Session{Id: 1, BootId: "b", Open: 100, Close: 200}, "a", 110, 190)
	b := sectionOf(t, &Session{Id: 2, BootId: "b", Open: 200, Close: 300}, "b", 200, 290)
	stream := slices.Concat(a, b)
	for name, in := range map[string]io.Reader{"pipe": pipe(stream), "file": bytes.NewReader(stream)} {
		r, err := NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		var ends []int64
		r.OnSectionEnd(func(e *End) { ends = append(ends, e.Close) })
		var comms []string
		var sections []int
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			comms = append(comms, string(r.Task(e.Task).Comm))
			sections = append(sections, r.Sections())
		}
		if !slices.Equal(comms, []string{"a", "a", "b", "b"}) || !slices.Equal(sections, []int{1, 1, 2, 2}) {
			t.Errorf("%s: got tasks %v in sections %v", name, comms, sections)
		}
		if !slices.Equal(ends, []int64{200, 300}) || r.FirstOpen() != 100 || r.Damage() != nil {
			t.Errorf("%s: got ends %v, first opening %d, damage %+v", name, ends, r.FirstOpen(), r.Damage())
		}
	}
}

func TestSectionsThatShareNoTimelineAreRefused(t *testing.T) {
	first := &Session{Id: 1, BootId: "b", Open: 100, Close: 200}
	a := sectionOf(t, first, "a", 110, 190)
	live := sectionOf(t, &Session{Id: 1, BootId: "b", Open: 100}, "a", 110, 190)
	for name, stream := range map[string][]byte{
		"overlapping windows": slices.Concat(a, sectionOf(t, &Session{Id: 2, BootId: "b", Open: 199, Close: 300}, "b", 250)),
		"wrong order":         slices.Concat(sectionOf(t, &Session{Id: 2, BootId: "b", Open: 200, Close: 300}, "b", 250), a),
		"another boot":        slices.Concat(a, sectionOf(t, &Session{Id: 2, BootId: "c", Open: 200, Close: 300}, "b", 250)),
		"the same twice":      slices.Concat(a, a),
		"within a live one":   slices.Concat(live, sectionOf(t, &Session{Id: 2, BootId: "b", Open: 150, Close: 300}, "b", 250)),
	} {
		if _, err := NewReader(bytes.NewReader(stream)); !errors.Is(err, ErrOverlap) {
			t.Errorf("%s in a file: got %v, want ErrOverlap from NewReader", name, err)
		}
		events, _, err := readAll(pipe(stream))
		if !errors.Is(err, ErrOverlap) || len(events) == 0 {
			t.Errorf("%s in a pipe: got %v after %d events, want ErrOverlap after the first section", name, err, len(events))
		}
	}
}

func TestRangesOfOneCaptureFollowEachOther(t *testing.T) {
	base := Session{Id: 1, BootId: "b", Open: 100, Close: 200}
	early := &Session{Id: base.Id, BootId: base.BootId, Open: 100, Close: 200, RangeStart: 110, RangeEnd: 120}
	late := &Session{Id: base.Id, BootId: base.BootId, Open: 100, Close: 200, RangeStart: 150, RangeEnd: 160}
	stream := slices.Concat(sectionOf(t, early, "a", 110, 119), sectionOf(t, late, "a", 155))
	if events, _, err := readAll(bytes.NewReader(stream)); err != nil || len(events) != 3 {
		t.Errorf("got %d events and %v, want 3", len(events), err)
	}
}

func TestEpochsShareASessionAndNotTheirIds(t *testing.T) {
	session := func(epoch uint32) *Session {
		return &Session{Id: 1, BootId: "b", Open: 100, Close: 300, Epoch: epoch, Continues: epoch > 0}
	}
	stream := slices.Concat(epochOf(t, session(0), false, "zero", 110, 190), sectionOf(t, session(1), "one", 190, 250))
	for name, in := range map[string]io.Reader{"pipe": pipe(stream), "file": bytes.NewReader(stream)} {
		events, r, err := readAll(in)
		if err != nil || len(events) != 4 || r.Sections() != 2 {
			t.Fatalf("%s: got %d events in %d sections and %v", name, len(events), r.Sections(), err)
		}
		if got := string(r.Task(1).Comm); got != "one" {
			t.Errorf("%s: in the second epoch id 1 is %q, want one", name, got)
		}
	}
	// Cut anywhere, a stream reads from the next epoch on.
	events, r, err := readAll(pipe(stream[300:]))
	if err != nil || r.Damage() == nil {
		t.Fatalf("got %v and damage %+v", err, r.Damage())
	}
	if got := string(r.Task(1).Comm); got != "one" || events[len(events)-1].Time != 250 {
		t.Errorf("after a cut: id 1 is %q and the last event is %+v", got, events[len(events)-1])
	}
}

func TestLostEndOfASectionIsALossUpToItsClose(t *testing.T) {
	a := sectionOf(t, &Session{Id: 1, BootId: "b", Open: 100, Close: 200}, "a", 110, 190)
	b := sectionOf(t, &Session{Id: 2, BootId: "b", Open: 250, Close: 300}, "b", 260)
	blocks := blocksOf(t, a)
	cut := blocks[len(blocks)-1].Offset
	events, r, err := readAll(pipe(slices.Concat(a[:cut], b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 4 || events[2].Kind != KindLost || events[2].Time != 200 || events[2].Lost().From() != 190 {
		t.Errorf("got %+v, want a loss from 190 to 200 before the last event", events)
	}
	if d := r.Damage(); d == nil || d.Holes != 1 {
		t.Errorf("got damage %+v", d)
	}
}

func TestLostHeaderOfALaterSectionLosesItsNames(t *testing.T) {
	a := sectionOf(t, &Session{Id: 1, BootId: "b", Open: 100, Close: 200}, "a", 110, 190)
	b := sectionOf(t, &Session{Id: 2, BootId: "b", Open: 250, Close: 300}, "b", 260)
	blocks := blocksOf(t, b)
	// Without its header and definitions, an event of b must not take a's name for id 1.
	r, err := NewReader(pipe(slices.Concat(a, b[blocks[2].Offset:])))
	if err != nil {
		t.Fatal(err)
	}
	var last Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = *e
	}
	if last.Time != 260 || r.Task(last.Task) != nil || r.Sections() != 2 {
		t.Errorf("got event %+v with task %v in section %d, want the one at 260 without a name in section 2", last, r.Task(last.Task), r.Sections())
	}
}

// withStates writes sections with a state every hundred events. Every state event's task is defined just before it.
func withStates(t testing.TB, sections int) []byte {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Level: 1, BlockBytes: 1 << 10})
	for s := range sections {
		begin := &Session{Id: 1, BootId: "b", Close: 1 << 40, Epoch: uint32(s), Continues: s > 0}
		if err := w.Begin(begin); err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			at := int64(s*1000+i) * 10
			kind := KindFree
			if i%100 == 0 {
				kind = KindStateCPU
				if err := w.BeginState(); err != nil {
					t.Fatal(err)
				}
				if err := w.DefineTask(&Task{Id: uint32(i/100 + 1), Tid: int32(s*1000 + i + 1)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Write(&Event{Time: at, Kind: kind, Flags: FlagSubject, Task: TaskID(i/100 + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.EndSection(&End{Close: 1 << 40, Last: s == sections-1}); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestSeekLandsOnTheLastState(t *testing.T) {
	whole := withStates(t, 3)
	blocks := blocksOf(t, whole)
	noEnd := whole[:blocks[len(blocks)-2].Offset]
	for name, stream := range map[string][]byte{"indexed": whole, "truncated": noEnd} {
		r, err := NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, want := range []int64{25550, 0, 10000, 19999, 999, 29990} {
			if err := r.SeekTime(want); err != nil {
				t.Fatal(err)
			}
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != KindStateCPU || e.Time != want/1000*1000 {
				t.Errorf("%s: seek to %d: got kind %d at %d, want the state at %d", name, want, e.Kind, e.Time, want/1000*1000)
			}
			// Definitions from before the state are there too.
			for id := TaskID(1); id <= e.Task; id++ {
				tid := int32(e.Time/10000*1000) + int32(id-1)*100 + 1
				if task := r.Task(id); task.GetTid() != tid {
					t.Errorf("%s: seek to %d: task %d is %v, want tid %d", name, want, id, task, tid)
				}
			}
			if r.FirstOpen() != 0 {
				t.Errorf("%s: first opening is %d after a jump, want 0", name, r.FirstOpen())
			}
		}
		if err := r.SeekTime(5000); err != nil {
			t.Fatal(err)
		}
		if events, err := rest(r); err != nil || len(events) < 2500 || events[0].Time != 5000 {
			t.Errorf("%s: after a jump back: %d events and %v", name, len(events), err)
		}
	}
}

func TestSeekOnAPipeDoesNothing(t *testing.T) {
	r, err := NewReader(pipe(withStates(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.SeekTime(5000); err != nil {
		t.Fatal(err)
	}
	if e, err := r.Next(); err != nil || e.Time != 0 {
		t.Errorf("got %+v and %v, want the first event", e, err)
	}
}

func TestSeekBeforeTheFirstStateBeginsAtTheBeginning(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{BlockBytes: 1 << 10})
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 1500 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.SeekTime(2500); err != nil {
		t.Fatal(err)
	}
	events, err := rest(r)
	if err != nil {
		t.Fatal(err)
	}
	sameEvents(t, events, numbered(2000))
}

func TestSummaryIsTheSameWithAndWithoutFooters(t *testing.T) {
	whole := withStates(t, 3)
	want, err := ReadSummary(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	// A byte after the last footer hides it; the walk from header to header must find the same.
	got, err := ReadSummary(bytes.NewReader(append(bytes.Clone(whole), 0)), int64(len(whole)+1))
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != 3 || len(got) != 3 {
		t.Fatalf("got %d and %d sections, want 3", len(want), len(got))
	}
	for i := range want {
		w, g := want[i], got[i]
		if w.Rebuilt || !g.Rebuilt {
			t.Errorf("section %d: rebuilt %v and %v, want false and true", i, w.Rebuilt, g.Rebuilt)
		}
		if w.Offset != g.Offset || w.Size != g.Size || w.Session.Epoch != uint32(i) || g.Session.Epoch != uint32(i) || g.End == nil {
			t.Errorf("section %d: got %d+%d, want %d+%d", i, g.Offset, g.Size, w.Offset, w.Size)
		}
		if len(w.Index.Blocks) != len(g.Index.Blocks) {
			t.Fatalf("section %d: %d blocks rebuilt, want %d", i, len(g.Index.Blocks), len(w.Index.Blocks))
		}
		for j := range w.Index.Blocks {
			if w.Index.Blocks[j].String() != g.Index.Blocks[j].String() {
				t.Errorf("section %d, block %d: got %v, want %v", i, j, g.Index.Blocks[j], w.Index.Blocks[j])
			}
		}
	}
}

func TestSummaryOfDamagedFilesFindsTheRest(t *testing.T) {
	whole := withStates(t, 3)
	want, err := ReadSummary(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 61 {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x10
		got, err := ReadSummary(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			t.Fatalf("flip at %d: %v", at, err)
		}
		if last := got[len(got)-1]; int64(at) < want[2].Offset && last.Session.GetEpoch() != 2 {
			t.Fatalf("flip at %d: the last section was not found", at)
		}
	}
}

func TestFileAndPipeHaveTheSameIndex(t *testing.T) {
	// Compression is chosen by the caller; everything else of the index must agree.
	events := pingPong(20000)
	plain := encodeStream(t, events, WriterOptions{Level: 0})
	packed := encodeStream(t, events, WriterOptions{Level: 1})
	a, err := ReadSummary(bytes.NewReader(plain), int64(len(plain)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadSummary(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if len(a[0].Index.Blocks) != len(b[0].Index.Blocks) {
		t.Fatalf("got %d and %d blocks", len(a[0].Index.Blocks), len(b[0].Index.Blocks))
	}
	for i, x := range a[0].Index.Blocks {
		y := b[0].Index.Blocks[i]
		if x.Raw != y.Raw || x.First != y.First || x.Last != y.Last || x.Earliest != y.Earliest || x.Events != y.Events {
			t.Errorf("block %d: %v and %v", i, x, y)
		}
	}
}

func TestEarliestReachesBackToTheEarliestStart(t *testing.T) {
	b := NewEventBlock()
	e := Event{Time: 500, Kind: KindLost, Flags: FlagSubject, CPU: 1}
	e.Lost().SetFrom(20)
	if err := b.Add(&Event{Time: 400, Kind: KindFree, Flags: FlagSubject}); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(&e); err != nil {
		t.Fatal(err)
	}
	if h := b.Header(); h.First != 400 || h.Last != 500 || h.Earliest != 20 {
		t.Errorf("got first %d, last %d, earliest %d; want 400, 500, 20", h.First, h.Last, h.Earliest)
	}
}

func TestSkipAfterKeepsBlocksThatReachBack(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	if err := w.Begin(&Session{Open: 1}); err != nil {
		t.Fatal(err)
	}
	lost := Event{Time: 300, Kind: KindLost, Flags: FlagSubject}
	lost.Lost().SetFrom(150)
	for _, e := range []Event{{Time: 100, Kind: KindFree, Flags: 1}, {Time: 200, Kind: KindFree, Flags: 1}, lost, {Time: 400, Kind: KindFree, Flags: 1}} {
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.EndSection(&End{Last: true}); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	r.SkipAfter(200)
	events, err := rest(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 || events[0].Time != 100 || events[1].Time != 300 || r.Damage() != nil {
		t.Errorf("got %+v and damage %+v, want the events at 100 and 300", events, r.Damage())
	}
}

// What was kept of a session may reach beyond its first epoch; the events of the second one are not lost with that.
func TestWhatAnEpochHasLostEndsWithItsClose(t *testing.T) {
	a := epochOf(t, &Session{Id: 1, BootId: "b", Open: 100, RangeEnd: 900}, false, "a", 110, 190)
	b := sectionOf(t, &Session{Id: 1, BootId: "b", Open: 100, RangeEnd: 900, Continues: true, Epoch: 1}, "b", 200, 290)
	for _, block := range blocksOf(t, a) {
		if block.Header.Type == BlockEvents {
			a[block.Offset+BlockHeaderSize] ^= 1
		}
	}
	events, _, err := readAll(pipe(slices.Concat(a, b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 3 || events[0].Kind != KindLost || events[0].Time != 190 || events[1].Time != 200 || events[2].Time != 290 {
		t.Errorf("got %+v, want a loss until 190 and the events at 200 and 290", events)
	}
}

// counted counts what is read of a file.
type counted struct {
	*bytes.Reader
	calls, bytes int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.calls, c.bytes = c.calls+1, c.bytes+n
	return n, err
}

func TestSummaryOfFalseMarkersReadsTheFileOnce(t *testing.T) {
	race.Skip(t)
	header := encodeStream(t, numbered(10), WriterOptions{})[:BlockHeaderSize]
	whole := block(t, BlockHeader{Type: 99}, nil)
	for name, unit := range map[string][]byte{
		"markers":                   []byte(blockMarker),
		"headers of no payload":     append(bytes.Clone(header), make([]byte, 8)...),
		"blocks and bytes in turns": append(bytes.Clone(whole), make([]byte, 8)...),
	} {
		stream := append(encodeStream(t, numbered(10), WriterOptions{}), bytes.Repeat(unit, 4<<20/len(unit))...)
		in := &counted{Reader: bytes.NewReader(stream)}
		sections, err := ReadSummary(in, int64(len(stream)))
		if err != nil || len(sections) == 0 || sections[0].Problem == "" && len(sections) == 1 {
			t.Errorf("%s: got %d sections and %v, want one with a problem", name, len(sections), err)
		}
		if in.bytes > 2*len(stream) || in.calls > len(stream)/BlockHeaderSize {
			t.Errorf("%s: %d reads of %d bytes in all for a file of %d", name, in.calls, in.bytes, len(stream))
		}
	}
}
