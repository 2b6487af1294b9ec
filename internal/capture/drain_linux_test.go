package capture

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wprof/internal/proc"
	"wprof/internal/spool"
)

// memoryRing is a ring whose records are single bytes.
type memoryRing struct {
	written  []byte
	busyAt   uint64 // position of a record that is not committed; beyond the end for none
	consumed uint64
	log      *[]string
	name     string
}

func (r *memoryRing) Producer() uint64 {
	*r.log = append(*r.log, r.name+" position")
	return uint64(len(r.written))
}

func (r *memoryRing) Consumer() uint64 { return r.consumed }

func (r *memoryRing) Committed(limit uint64) ([]byte, uint64) {
	*r.log = append(*r.log, r.name+" read")
	return r.written[r.consumed:max(min(limit, r.busyAt), r.consumed)], r.consumed
}

func (r *memoryRing) Consume(n int) { r.consumed += uint64(n) }

type memorySink struct {
	rings  map[int]string
	side   []string
	rounds []string
	times  []int64
	fail   error
}

func (s *memorySink) Ring(ring int, from uint64, run []byte) error {
	if uint64(len(s.rings[ring])) != from {
		return fmt.Errorf("ring %d goes on at %d after %d bytes", ring, from, len(s.rings[ring]))
	}
	s.rings[ring] += string(run)
	return s.fail
}

func (s *memorySink) Sideband(records []byte) error {
	s.side = append(s.side, string(records))
	return s.fail
}

func (s *memorySink) Round(r spool.Round) error {
	s.rounds = append(s.rounds, fmt.Sprint(r.Producer, r.Drained))
	s.times = append(s.times, r.Time)
	return nil
}

func TestRoundReadsAllPositionsBeforeAnyRing(t *testing.T) {
	var log []string
	a := &memoryRing{written: []byte("aaaa"), busyAt: 9, log: &log, name: "a"}
	b := &memoryRing{written: []byte("bb"), busyAt: 9, log: &log, name: "b"}
	s := &memorySink{rings: map[int]string{}}
	d := newDrainer([]ring{a, b}, 8, s)
	fill, all, err := d.Round()
	if err != nil || !all || fill != 0.5 {
		t.Errorf("fill %v, all %v, %v; want 0.5, true", fill, all, err)
	}
	if want := []string{"a position", "b position", "a read", "a position", "b read"}; !slices.Equal(log, want) {
		t.Errorf("order %v, want %v", log, want)
	}
	if s.rings[0] != "aaaa" || s.rings[1] != "bb" {
		t.Errorf("the spool holds %v", s.rings)
	}
}

func TestBusyRecordHoldsBackItsRingAlone(t *testing.T) {
	var log []string
	a := &memoryRing{written: []byte("aaaa"), busyAt: 1, log: &log}
	b := &memoryRing{written: []byte("bb"), busyAt: 9, log: &log}
	s := &memorySink{rings: map[int]string{}}
	d := newDrainer([]ring{a, b}, 8, s)
	if _, all, err := d.Round(); all || err != nil {
		t.Errorf("all %v, %v; want false", all, err)
	}
	a.busyAt = 9
	a.written = append(a.written, "AA"...)
	if _, all, err := d.Round(); !all || err != nil {
		t.Errorf("all %v, %v; want true", all, err)
	}
	want := []string{"[4 2] [1 2]", "[6 2] [6 2]"}
	if !slices.Equal(s.rounds, want) || s.rings[0] != "aaaaAA" {
		t.Errorf("rounds %v and ring %q, want %v", s.rounds, s.rings[0], want)
	}
	if !slices.Equal(d.read, []uint64{6, 2}) {
		t.Errorf("bytes read %v", d.read)
	}
}

func TestRecordsThatTheSpoolRefusedStayInTheRing(t *testing.T) {
	var log []string
	a := &memoryRing{written: []byte("aaaa"), busyAt: 9, log: &log}
	d := newDrainer([]ring{a}, 8, &memorySink{rings: map[int]string{}, fail: fmt.Errorf("disk full")})
	if _, _, err := d.Round(); err == nil || a.consumed != 0 {
		t.Errorf("%v, consumed %d", err, a.consumed)
	}
}

// growingRing is written to while it is read.
type growingRing struct {
	memoryRing
	more []byte
}

func (r *growingRing) Committed(limit uint64) ([]byte, uint64) {
	run, from := r.memoryRing.Committed(limit)
	r.written, r.more = append(r.written, r.more...), nil
	return run, from
}

func TestFullRingIsNoticedBeforeItIsEmptied(t *testing.T) {
	const capacity = 64 << 10
	var log []string
	r := &growingRing{memoryRing{written: make([]byte, capacity/2), busyAt: 1 << 62, log: &log}, nil}
	d := newDrainer([]ring{r}, capacity, nullSink{})
	for n, c := range []struct {
		more int
		want bool
	}{{0, false}, {capacity / 2, false}, {capacity / 2, true}, {0, false}} {
		r.more = make([]byte, c.more)
		if _, _, err := d.Round(); err != nil {
			t.Fatal(err)
		}
		if got := d.wasFull(); got != c.want {
			t.Errorf("round %d: full %v, want %v", n, got, c.want)
		}
	}
}

func TestRoundsAllocateNothing(t *testing.T) {
	log := make([]string, 0, 1<<16)
	a := &memoryRing{written: []byte("aaaa"), busyAt: 9, log: &log}
	d := newDrainer([]ring{a}, 8, nullSink{})
	if n := testing.AllocsPerRun(1000, func() {
		a.consumed = 0
		log = log[:0]
		if _, _, err := d.Round(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
}

type nullSink struct{}

func (nullSink) Sideband([]byte) error          { return nil }
func (nullSink) Ring(int, uint64, []byte) error { return nil }
func (nullSink) Round(spool.Round) error        { return nil }

func TestSidebandIsReadAfterTheRingsOfARound(t *testing.T) {
	var log []string
	a := &memoryRing{written: []byte("aaaa"), busyAt: 9, log: &log, name: "a"}
	s := &memorySink{rings: map[int]string{}}
	d := newDrainer([]ring{a}, 8, s)
	reports := []string{"first", ""}
	d.side = func(b []byte) []byte {
		log = append(log, "side-band")
		b = append(b, reports[0]...)
		reports = reports[1:]
		return b
	}
	for range 2 {
		if _, _, err := d.Round(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a position", "a read", "a position", "side-band", "a position", "a read", "side-band"}; !slices.Equal(log, want) {
		t.Errorf("order %v, want %v", log, want)
	}
	if !slices.Equal(s.side, []string{"first"}) {
		t.Errorf("the spool holds %v", s.side)
	}
}

// A recorder that is killed there leaves a recording that ends with one of these rounds.
func TestRoundsAfterTheCloseHaveItsTime(t *testing.T) {
	s := &memorySink{rings: map[int]string{}}
	d := newDrainer([]ring{&memoryRing{log: new([]string)}}, 8, s)
	at := proc.Monotonic()
	d.closed(at)
	time.Sleep(time.Millisecond)
	for range 3 {
		if _, _, err := d.Round(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int64{at, at + 1, at + 2}; !slices.Equal(s.times, want) {
		t.Errorf("rounds of %v, want %v", s.times, want)
	}
}
