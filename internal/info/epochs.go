package info

import (
	"fmt"

	"wprof/format"
)

// epochs joins sections to recordings, one after the other, and keeps only what the summary needs.
type epochs struct {
	recordings []Recording
	damage     []string
	withHeader *format.SectionSummary // the last section whose header was read
	prev       *format.SectionSummary // the last section
}

// add adds the next section; nil: none. Like every tool, it refuses recordings that
// share no timeline.
func (e *epochs) add(s *format.SectionSummary) error {
	if s == nil {
		return nil
	}
	e.follow(s)
	if s.Session != nil {
		if e.withHeader != nil {
			if err := format.CheckTimeline([]format.SectionSummary{*e.withHeader, *s}); err != nil {
				return err
			}
		}
		e.withHeader = s
	}
	if s.Problem != "" {
		e.damage = append(e.damage, s.Problem)
	}
	session := s.Session
	if session == nil {
		e.damage = append(e.damage, fmt.Sprintf("at byte %d: the header of a section is missing", s.Offset))
		session = &format.Session{}
	}
	if s.End == nil {
		e.damage = append(e.damage, fmt.Sprintf("the section at byte %d has no end block: it was cut", s.Offset))
	}
	last := len(e.recordings) - 1
	if last < 0 || !format.SameRecording(e.recordings[last].Session, session) {
		e.recordings = append(e.recordings, Recording{Session: session})
		last++
	}
	e.recordings[last].add(session, s)
	return nil
}

// follow checks whether next, or the end if it is nil, may come after the previous section.
func (e *epochs) follow(next *format.SectionSummary) {
	if e.prev != nil && e.prev.LacksEpoch(next) {
		e.damage = append(e.damage, fmt.Sprintf("the section at byte %d is not the last of its recording, and none follows", e.prev.Offset))
	}
	e.prev = next
}

func (e *epochs) summary(bytes int64, damage []string) *Summary {
	e.follow(nil)
	for i := range e.recordings {
		e.recordings[i].sort()
	}
	return &Summary{Bytes: bytes, Damage: append(damage, e.damage...), Recordings: e.recordings}
}
