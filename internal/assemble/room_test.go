package assemble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/spool"
)

// TestSectionHasRoomForWhateverIsAlive: processes that are alive when the window opens may have more to define than a reader
// takes of one section. What there is no room for is reported.
func TestSectionHasRoomForWhateverIsAlive(t *testing.T) {
	for _, c := range []struct {
		processes, args int
		full            int64
		isLost          bool
	}{{20_000, 4000, format.EpochBytes, false}, {2000, 4000, 64 << 10, true}} {
		var text strings.Builder
		text.WriteString("spool rings=1 recorder=9 cpus=1\n")
		for i := range c.processes {
			fmt.Fprintf(&text, "task at=1000 tid=%d comm=sleeper cpu=0 state=1 since=500\n", 100+i)
		}
		text.WriteString("open 2000\n")
		for i := range 100 {
			fmt.Fprintf(&text, "0: %d waking cpu=0 waker=0 wakee=%d\n", 3000+i, 100+i*(c.processes/100))
		}
		text.WriteString("round 5000\nend 6000\n")
		s, err := spool.Open(spoolFile(t, text.String()))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var stream bytes.Buffer
		f := newFinaliser(s, format.NewWriter(&stream, format.WriterOptions{Level: 1}), Options{})
		f.out.full = c.full
		for i := range c.processes {
			f.apply.commandAtStart(uint32(100+i), fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", c.args)), false)
		}
		summary, err := f.run()
		if err != nil {
			t.Fatal(err)
		}
		if lost := summary.LostByCause[format.CauseDefinition] > 0; lost != c.isLost || summary.Sections > 10 {
			t.Errorf("%d processes: %d sections, %d lost", c.processes, summary.Sections, summary.Lost)
		}
		holdReadable(t, stream.Bytes(), summary)
	}
}

// holdReadable holds that a stream is whole and has all events.
func holdReadable(t *testing.T, stream []byte, summary Summary) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wakings := uint64(0)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == format.KindWaking {
			wakings++
		}
	}
	if d := r.Damage(); d != nil || wakings != summary.Events[format.KindWaking] {
		t.Errorf("damage %+v, %d wakings, want %d", d, wakings, summary.Events[format.KindWaking])
	}
}

// TestEpochBeginsWhenClocksAreMany: a recorder notes all clocks every two seconds, for days.
func TestEpochBeginsWhenClocksAreMany(t *testing.T) {
	w, must := createSpool(t)
	must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1}))
	must(w.Open(2))
	var pos uint64
	const snapshots = 70_000
	for i := range snapshots {
		now := int64(i+1) * 2e9
		must(w.Clocks(&format.ClockSnapshot{Monotonic: now, Boottime: now, Realtime: now}))
		if i%1000 == 0 {
			ring := appendWaking(nil, now, 0, 10, 11)
			must(w.Ring(0, pos, ring))
			pos += uint64(len(ring))
		}
		must(w.Round(spool.Round{Time: now + 1, Producer: []uint64{pos}, Drained: []uint64{pos}}))
	}
	must(w.End(spool.Tail{Close: (snapshots + 1) * 2e9}))
	s, err := w.Spool()
	must(err)
	var stream bytes.Buffer
	summary, err := Finalise(s, format.NewWriter(&stream, format.WriterOptions{}), Options{})
	must(err)
	if summary.Sections != 3 {
		t.Errorf("%d sections, want 3", summary.Sections)
	}
	holdReadable(t, stream.Bytes(), summary)
}
