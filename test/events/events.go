// Package events compares the events of a stream that was made of a damaged spool with those of the whole one.
package events

import (
	"bytes"
	"fmt"
	"slices"

	"wprof/format"
	"wprof/format/check"
)

// Contents is what a stream made of a spool contains.
type Contents struct {
	open, close int64
	events      map[happening]int
	lost        []loss
	execs       map[int32]int32 // of threads that called exec without being the leader: their tid after it, by the one before
}

// happening is an event without what its definitions add: those may be in what is missing.
type happening struct {
	time            int64
	kind            format.Kind
	cpu             uint32
	thread, another int32
}

type loss struct {
	from, to int64
	what     format.Kind // 0: any
}

// Of reads a stream, which must be sound.
func Of(stream []byte) (*Contents, error) {
	var findings []string
	if _, err := check.Stream(bytes.NewReader(stream), func(f check.Finding) { findings = append(findings, f.Text) }); err != nil || len(findings) > 0 {
		return nil, fmt.Errorf("the result is not sound: %v %q", err, findings)
	}
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := &Contents{open: r.Session().Open, close: r.Session().Close, events: map[happening]int{}, execs: map[int32]int32{}}
	last := out.open
	for {
		e, err := r.Next()
		if err != nil {
			return out, nil //nolint:nilerr // the end; that the stream is sound has been checked
		}
		if e.Time < last {
			return nil, fmt.Errorf("an event of %d after one of %d", e.Time, last)
		}
		last = e.Time
		out.add(r, e)
	}
}

func (s *Contents) add(r *format.Reader, e *format.Event) {
	tid := func(id uint64) int32 {
		if task := r.Task(format.TaskID(id)); task != nil {
			return task.Tid
		}
		return -1
	}
	d := happening{time: e.Time, kind: e.Kind, cpu: e.CPU, thread: tid(uint64(e.Task))}
	if e.Flags&format.FlagLate != 0 {
		d.time = e.Own
	}
	switch e.Kind {
	case format.KindLost:
		s.lost = append(s.lost, loss{e.Lost().From(), e.Time, e.Lost().What()})
		return
	case format.KindStateCPU, format.KindStateThread:
		return // at edges of the window, which may be others
	case format.KindExec:
		if before, changed := e.Exec().OldTID(); changed {
			s.execs[int32(before)] = d.thread
		}
	case format.KindSwitch:
		d.another = tid(e.Args[format.SwitchNext])
	case format.KindWaking, format.KindWakeupNew, format.KindFork:
		d.another = tid(e.Args[0])
	}
	s.events[d]++
}

// missing reports whether a loss covers an event.
func (s *Contents) missing(d *happening) bool {
	return slices.ContainsFunc(s.lost, func(l loss) bool {
		return l.from <= d.time && d.time <= l.to && (l.what == 0 || l.what == d.kind)
	})
}

// merged returns the events with one tid for the two threads that exchange theirs when one of them calls exec. The exec is reported later than that:
// until then, only who knows both threads can say which one an event is of.
func (s *Contents) merged(execs map[int32]int32) map[happening]int {
	if len(execs) == 0 {
		return s.events
	}
	all := make(map[happening]int, len(s.events))
	for d, n := range s.events {
		for _, tid := range [...]*int32{&d.thread, &d.another} {
			if leader, exchanged := execs[*tid]; exchanged {
				*tid = leader
			}
		}
		all[d] += n
	}
	return all
}

// Within returns what this stream has and the whole one has not, or what it lacks without reporting a loss; "": nothing.
func (s *Contents) Within(whole *Contents) string {
	have, want := s.merged(whole.execs), whole.merged(whole.execs)
	for d, n := range have {
		if n > want[d] {
			return fmt.Sprintf("%+v is there %d times, want %d", d, n, want[d])
		}
	}
	for d, n := range want {
		if d.time >= s.open && d.time < s.close && have[d] < n && !s.missing(&d) {
			return fmt.Sprintf("%+v is missing, %.6f s after the opening and %.6f s before the close", d, float64(d.time-s.open)/1e9, float64(s.close-d.time)/1e9)
		}
	}
	return ""
}

// Number is the number of the events.
func (s *Contents) Number() int { return len(s.events) }
