package timeline

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"wprof/format"
)

// hostile is an event whose every field is taken from a list of bytes.
func hostile(b []byte, e *format.Event) []byte {
	take := func() uint64 {
		if len(b) == 0 {
			return 0
		}
		v := b[0]
		b = b[1:]
		return uint64(v)
	}
	*e = format.Event{Time: e.Time + int64(take()%50), Kind: format.Kind(take()%uint64(format.MaxKind+2) + 1), Flags: format.Flags(take() | take()<<8&0x100)}
	if e.Flags&format.FlagsVisible == 0 {
		e.Flags |= format.FlagSubject
	}
	e.CPU = uint32(take() % 5)
	if e.CPU == 4 {
		e.CPU = format.AllCPUs
	}
	e.Task = format.TaskID(take() % 12)
	e.Own = e.Time - int64(take())
	for i := range 7 {
		e.Args[i] = take() % 13
	}
	switch back := int64(take()) - 20; e.Kind {
	case format.KindSwitch:
		e.Args[format.SwitchSince] = uint64(e.Time - back)
	case format.KindStateCPU:
		e.Args[format.StateCPUSince] = uint64(e.Time - back)
	case format.KindStateThread:
		e.Args[format.StateThreadSince], e.Args[format.StateThreadWoken] = uint64(e.Time-back), uint64(e.Time-back/2)
	case format.KindLost:
		e.Args[format.LostFrom] = uint64(e.Time - back)
	}
	return b
}

// Whatever a stream holds, nothing panics and the spans of every thread lie end to end.
func FuzzSpans(f *testing.F) {
	f.Add(bytes.Repeat([]byte{9, 0, 3, 0, 2, 1, 0, 1, 2, 3, 1, 3, 1, 1, 1, 0, 3, 0, 120, 120, 2}, 8))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	defs := definitions{
		1: {Tid: 0, Flags: 2}, 2: {Tid: 1, Pid: 1, Start: 1}, 3: {Tid: 2, Pid: 1, Start: 2}, 4: {Tid: 2, Pid: 2, Start: 1009},
		6: {Tid: 7, Flags: 8}, 7: {Tid: 7, Pid: 7, Start: 1103}, 8: {Tid: -1, Pid: -5, Start: -1}, 9: {Tid: 3, Pid: 1, Start: 1 << 60},
		10: {Tid: 4, Pid: 1, Start: 1020}, 11: {Tid: 4, Pid: 4, Start: 1020, Continues: 10},
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tiles := newTiles(1000)
		var s *Spans
		s = NewSpans(defs, func(span *Span) {
			tiles.add(span)
			if span.To > s.now {
				t.Errorf("tid %d: span up to %d, but it is %d", span.Thread.TID, span.To, s.now)
			}
		})
		s.NewSection(&format.Session{})
		s.Open(1000)
		e := format.Event{Time: 1000}
		for len(b) > 0 {
			section := b[0]
			b = hostile(b, &e)
			switch section {
			case 51:
				s.NewSection(&format.Session{})
			case 52:
				s.Close(e.Time)
				tiles.check(t)
				tiles = newTiles(e.Time)
				s.NewSection(&format.Session{})
				s.Open(e.Time)
			}
			s.Apply(&e)
		}
		s.Close(e.Time + 10)
		tiles.check(t)
	})
}
