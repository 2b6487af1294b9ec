package timeline

import (
	"errors"
	"io"

	"wprof/format"
)

// Visitor receives a stream from [Visit].
type Visitor interface {
	// NewSection is called when the ids of events change their meaning.
	NewSection(*format.Session) error
	// Open opens a window. before is when the one before it closed, if there was one.
	Open(s *format.Session, at int64, before int64, isFirst bool) error
	// Event is called with every event in order. It is valid until the call returns.
	Event(*format.Event) error
	// Close closes the window, however the stream ended; 0: the time is not known. Ids still have their meaning in the section that
	// ends.
	Close(at int64) error
}

// Visit reads a stream to its end. An epoch of a session goes on in the same window, any other section opens one. Errors
// of the stream come back after everything before them was visited.
func Visit(r *format.Reader, v Visitor) error {
	w := windows{r: r, v: v}
	r.OnSectionEnd(func(end *format.End) { w.closed = end.Close })
	r.OnNextSection(w.next)
	err := w.events()
	if closeErr := v.Close(w.end()); err == nil {
		err = closeErr
	}
	return err
}

type windows struct {
	r        *format.Reader
	v        Visitor
	sections int
	session  *format.Session // of the window that is open
	closed   int64           // when its section ended, by its end block
	before   int64           // when the window before the next one closed
	failed   error           // of closing that one
}

func (w *windows) events() error {
	if err := w.section(); err != nil {
		return err
	}
	for {
		e, err := w.r.Next()
		if w.r.Sections() != w.sections {
			if err := w.section(); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := w.v.Event(e); err != nil {
			return err
		}
	}
}

// next closes the window unless the next section continues it.
func (w *windows) next(s *format.Session) {
	if w.session != nil && !GoesOn(s) {
		w.before = w.end()
		w.failed = w.v.Close(w.before)
	}
}

// section begins with the reader's current section.
func (w *windows) section() error {
	s := w.r.Session()
	isFirst := w.session == nil
	continues := !isFirst && GoesOn(s)
	if w.failed != nil {
		return w.failed
	}
	if err := w.v.NewSection(s); err != nil {
		return err
	}
	if !continues {
		if err := w.v.Open(s, s.WindowStart(), w.before, isFirst); err != nil {
			return err
		}
	}
	w.sections = w.r.Sections()
	w.session, w.closed = s, 0
	return nil
}

// end returns when the open window closes; 0: that is not known.
func (w *windows) end() int64 {
	if w.session == nil {
		return 0
	}
	return w.session.WindowEndOr(w.closed)
}

// GoesOn reports whether a section that is not the first one continues the window of the one before it. One whose header is
// lost counts as such.
func GoesOn(s *format.Session) bool { return s.Continues || s.Open == 0 }
