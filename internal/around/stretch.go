package around

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"wprof/format"
	"wprof/internal/spill"
	"wprof/internal/timeline"
)

// MaxStretches bounds the sections of the output: each has a header, the definitions that it needs, and the state of all threads twice.
const MaxStretches = 1 << 17

// Stretch is a part of a capture that is kept.
type Stretch struct {
	From, To int64        // CLOCK_MONOTONIC ns; To is excluded
	later    *spill.Chain // what later events show of its end; nil: nothing
}

// Section identifies a section of the input.
type Section struct {
	ID         uint64
	Epoch      uint32
	RangeStart int64
}

// SectionOf returns what identifies a session's section.
func SectionOf(s *format.Session) Section { return Section{s.Id, s.Epoch, s.RangeStart} }

// Later is what an event after a stretch shows of its end.
type Later struct {
	Section Section
	IsEvent bool
	// Event began before the end. Of another one only the stack with which a thread had left its CPU before the end is of interest, and
	// what it waited for.
	Event  format.Event
	Thread timeline.Key
	Since  int64 // when the thread left
	Stack  format.StackID
	Wait   format.WaitID
}

// stretches are those that were found, in order of time.
type stretches struct {
	all      []Stretch
	first    int // of the window
	store    *spill.Store
	sections []Section
}

var errTooMany = fmt.Errorf("the conditions hold in more than %d places that are apart: give a higher limit, or more time with --before and --after", MaxStretches)

// add adds a stretch that ends later than all before it, and joins it with those that it touches.
func (s *stretches) add(from, to int64) error {
	for n := len(s.all); n > s.first && s.all[n-1].To >= from; n-- {
		from, to = min(from, s.all[n-1].From), max(to, s.all[n-1].To)
		s.all = s.all[:n-1]
	}
	if len(s.all) == MaxStretches {
		return errTooMany
	}
	s.all = append(s.all, Stretch{From: from, To: to})
	return nil
}

// clip ends the last stretch with the window. Events at its close are within.
func (s *stretches) clip(at int64) {
	if n := len(s.all); n > s.first {
		s.all[n-1].To = min(s.all[n-1].To, at+1)
	}
}

// crossed calls visit with the stretches that end after one time and not after another.
func (s *stretches) crossed(after, until int64, visit func(*Stretch) error) error {
	n := len(s.all)
	if n == s.first || s.all[n-1].To <= after { // nearly always
		return nil
	}
	end := sort.Search(n, func(i int) bool { return s.all[i].To > until })
	for i := end - 1; i >= s.first && s.all[i].To > after; i-- {
		if err := visit(&s.all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *stretches) enter(session *format.Session) {
	s.sections = append(s.sections, SectionOf(session))
}

const (
	recordEvent = iota + 1
	recordWait
)

// keepEvent keeps an event for the end of a stretch.
func (s *stretches) keepEvent(of *Stretch, e *format.Event) error {
	b := s.begin(of, recordEvent)
	b = binary.AppendVarint(b, e.Time)
	b = binary.AppendVarint(b, e.Own)
	b = append(b, byte(e.Kind))
	for _, n := range [...]uint64{uint64(e.Flags), uint64(e.CPU), uint64(e.Task)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range e.Args {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Data)))
	return of.later.Commit(append(b, e.Data...))
}

// keepWait keeps where a thread was, and what it waited for, at the end of a stretch.
func (s *stretches) keepWait(of *Stretch, l *Later) error {
	b := s.begin(of, recordWait)
	b = binary.AppendVarint(b, int64(l.Thread.TID))
	b = binary.AppendVarint(b, l.Thread.Start)
	b = binary.AppendVarint(b, l.Since)
	b = binary.AppendUvarint(b, uint64(l.Stack))
	return of.later.Commit(binary.AppendUvarint(b, uint64(l.Wait)))
}

func (s *stretches) begin(of *Stretch, record byte) []byte {
	if of.later == nil {
		of.later = s.store.Chain()
	}
	return binary.AppendUvarint(append(of.later.Buffer(), record), uint64(len(s.sections)-1))
}

// Later visits what later events show of the end of a stretch, in their order. The argument is valid until visit returns.
func (p *Plan) Later(of *Stretch, visit func(*Later) error) error {
	if of.later == nil {
		return nil
	}
	return of.later.Each(func(b []byte) error {
		d := decoder{b: b}
		for len(d.b) > 0 && !d.bad {
			var l Later
			record := d.byte()
			section := d.uint()
			l.IsEvent = record == recordEvent
			if l.IsEvent {
				d.event(&l.Event)
			} else {
				l.Thread = timeline.Key{TID: int32(d.int()), Start: d.int()}
				l.Since, l.Stack, l.Wait = d.int(), format.StackID(d.uint()), format.WaitID(d.uint())
			}
			if d.bad || section >= uint64(len(p.sections)) {
				break
			}
			l.Section = p.sections[section]
			if err := visit(&l); err != nil {
				return err
			}
		}
		if d.bad {
			return errChanged
		}
		return nil
	})
}

// decoder reads records back from the temporary file.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) event(e *format.Event) {
	e.Time, e.Own, e.Kind = d.int(), d.int(), format.Kind(d.byte())
	e.Flags, e.CPU, e.Task = format.Flags(d.uint()), uint32(d.uint()), format.TaskID(d.uint())
	for i := range e.Args {
		e.Args[i] = d.uint()
	}
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return
	}
	e.Data, d.b = slices.Clone(d.b[:n]), d.b[n:]
}
