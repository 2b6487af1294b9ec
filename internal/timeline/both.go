package timeline

import (
	"errors"

	"wprof/format"
)

// Both returns a Visitor that passes everything on to two others.
func Both(a, b Visitor) Visitor { return both{a, b} }

type both struct{ a, b Visitor }

func (v both) NewSection(s *format.Session) error {
	return errors.Join(v.a.NewSection(s), v.b.NewSection(s))
}

func (v both) Open(s *format.Session, at, prevClose int64, isFirst bool) error {
	return errors.Join(v.a.Open(s, at, prevClose, isFirst), v.b.Open(s, at, prevClose, isFirst))
}

func (v both) Event(e *format.Event) error {
	if err := v.a.Event(e); err != nil {
		return err
	}
	return v.b.Event(e)
}

func (v both) Close(at int64) error { return errors.Join(v.a.Close(at), v.b.Close(at)) }
