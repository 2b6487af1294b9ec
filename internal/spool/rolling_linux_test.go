package spool

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/ringdata"
)

func TestFirstGenerationThatIsNeeded(t *testing.T) {
	const mb = 1 << 20
	// Generations of 10 MB and a second each; the window is 3 s, now is 10 s.
	generations := func(change func([]keptGeneration)) []keptGeneration {
		var all []keptGeneration
		for i := range int64(10) {
			all = append(all, keptGeneration{number: uint32(i), at: i * 10 * mb, based: true, listed: i*1e9 + 1e8})
		}
		change(all)
		return all
	}
	none := func([]keptGeneration) {}
	for name, c := range map[string]struct {
		kept  []keptGeneration
		limit int64
		pin   int64
		want  int
	}{
		"the window":                   {generations(none), 0, -1, 6},
		"a list that is missing":       {generations(func(g []keptGeneration) { g[6].listed = 0 }), 0, -1, 5},
		"a base that is missing":       {generations(func(g []keptGeneration) { g[6].based = false }), 0, -1, 5},
		"a list that was late":         {generations(func(g []keptGeneration) { g[6].listed = 7e9 + 1 }), 0, -1, 5},
		"enough room":                  {generations(none), 80 * mb, -1, 6},
		"little room":                  {generations(none), 40 * mb, -1, 8},
		"little room, nothing whole":   {generations(func(g []keptGeneration) { g[7].based, g[8].based, g[9].based = false, false, false }), 40 * mb, -1, 7},
		"no room":                      {generations(none), 5 * mb, -1, 9},
		"a reader":                     {generations(none), 0, 20 * mb, 2},
		"a reader of what is dropped":  {generations(none), 0, 90 * mb, 6},
		"a reader and little room":     {generations(none), 45 * mb, 20 * mb, 2},
		"a reader that takes too much": {generations(none), 39 * mb, 20 * mb, 8},
	} {
		r := &rolling{window: 3 * time.Second, limit: c.limit, kept: c.kept, pins: map[*Pin]bool{}}
		if c.pin >= 0 {
			r.pins[&Pin{from: c.pin}] = true
		}
		if got := r.firstNeeded(10e9, 100*mb); got != c.want {
			t.Errorf("%s: the first one is %d, want %d", name, got, c.want)
		}
	}
	r := &rolling{kept: generations(none)}
	if got := r.firstNeeded(10e9, 100*mb); got != 0 {
		t.Errorf("without a limit the first one is %d", got)
	}
}

// rolled writes a spool of some generations, of which it keeps a window, and calls during after each.
func rolled(t *testing.T, path string, window time.Duration, generations int, during func(w *Writer, n uint32)) *Writer {
	t.Helper()
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Begin(Header{Session: &format.Session{Id: 7}, Rings: 1}))
	must(w.Modules([]byte("a module")))
	must(w.Roll(window, 0))
	must(w.Open(1))
	w.Buffer(func() {})
	position := uint64(0)
	round := func() {
		raw := bytes.Repeat([]byte{7}, 64<<10)
		must(w.Ring(0, position, raw))
		position += uint64(len(raw))
		must(w.Round(Round{Time: proc.Monotonic(), Producer: []uint64{position}, Drained: []uint64{position}}))
	}
	for n := range uint32(generations) {
		for range 10 {
			round()
		}
		must(w.BumpGeneration(n + 1))
		round()
		round()
		must(w.Cut(&format.ClockSnapshot{Monotonic: proc.Monotonic()}))
		must(w.Base(n+1, true, false, []byte("base")))
		must(w.Base(n+1, false, true, []byte{byte(n + 1)}))
		w.BeginTasks()
		must(w.Tasks(make([]byte, ringdata.TaskSize)))
		must(w.EndTasks())
		round()
		time.Sleep(20 * time.Millisecond)
		w.Drop(proc.Monotonic())
		during(w, n+1)
	}
	return w
}

func TestDroppedGenerationsGiveBackTheirSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.part")
	w := rolled(t, path, 100*time.Millisecond, 30, func(w *Writer, _ uint32) {
		go w.Bytes() // as for a snapshot
		if got, want := w.Bytes(), w.size-w.rolling.gone(); got != want {
			t.Errorf("%d bytes were not dropped, want %d", got, want)
		}
	})
	oldest := w.Oldest()
	if err := w.End(Tail{Close: proc.Monotonic()}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if oldest < 10 {
		t.Fatalf("the first generation of 30 that is kept is %d", oldest)
	}
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	if used, limit := stat.Blocks*512, w.Bytes()+256<<10; used > limit {
		t.Errorf("%d bytes of the disk are used, want %d at most", used, limit)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.HasBeginning() || s.first.number != oldest || !s.HasList() || s.Changed() || s.Damage() != nil {
		t.Errorf("the spool begins with generation %d, want %d; list %t, changed %t, damage %v", s.first.number, oldest, s.HasList(), s.Changed(), s.Damage())
	}
	base := s.Base()
	if len(base) != 2 {
		t.Fatalf("the base has %d parts, want 2", len(base))
	}
	scan := s.Scanner(new(Damage))
	if b, err := scan.Read(&base[1]); err != nil || !bytes.Equal(b, []byte{byte(oldest)}) {
		t.Errorf("the base is that of generation %v (%v), want %d", b, err, oldest)
	}
	if b := s.pieces(chunkModules); b == nil {
		t.Error("the modules at the beginning are missing")
	}
	if got := s.Closed() - s.Window(); got != 1e8 {
		t.Errorf("the window is %d ns", got)
	}
}

func TestPinnedGenerationsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.part")
	var pin *Pin
	pinned := uint32(0)
	w := rolled(t, path, 100*time.Millisecond, 30, func(w *Writer, n uint32) {
		switch n {
		case 12:
			pinned, pin = w.Oldest(), w.Pin()
		case 25:
			if w.Oldest() != pinned {
				t.Errorf("the first generation is %d, and %d is pinned", w.Oldest(), pinned)
			}
			s, err := pin.Spool(nil, Tail{Close: 77})
			if err != nil {
				t.Fatal(err)
			}
			if s.first.number != pinned || s.Damage() != nil || len(s.Base()) != 2 || s.Closed() != 77 {
				t.Errorf("what is pinned begins with %d and closes at %d, damage %+v, base %d", s.first.number, s.Closed(), s.damage, len(s.Base()))
			}
			w.Unpin(pin)
		}
	})
	if w.Oldest() <= pinned+10 {
		t.Errorf("the first generation is still %d", w.Oldest())
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// The place where what is kept begins is noted before the space before it is given back, so that a recorder may be killed in between.
func TestSpoolIsReadBeforeSpaceIsGivenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.part")
	w := rolled(t, path, time.Hour, 20, func(*Writer, uint32) {})
	oldest := w.rolling.kept[3]
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	trim := trimmer{reader: w.file, file: w.file, headAt: w.rolling.headAt, payload: keptPayload(w.rolling.window), recording: w.recording}
	if got := trim.give(oldest.at, oldest.at, w.size); got != oldest.at {
		t.Fatalf("%d bytes are given back, want %d", got, oldest.at)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.first.number != oldest.number || s.damage.Bad != 0 {
		t.Errorf("the spool begins with %d, want %d; damage %+v", s.first.number, oldest.number, s.damage)
	}
}
