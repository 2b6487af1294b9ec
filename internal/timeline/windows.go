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
	// Open opens a window. prevClose is when the window before it closed; 0: there was none, or the time is not known.
	Open(s *format.Session, at, prevClose int64, isFirst bool) error
	// Event is called with every event in order. It is valid until the call returns.
	Event(*format.Event) error
	// Close closes the window, also where the stream ends with an error. at is 0 if the time is not known. Ids are still those of
	// the section that ends.
	Close(at int64) error
}

// Visit reads a stream to its end. An epoch of a session goes on in the same window, any other section opens one. An
// error of the stream is returned after everything before it was visited.
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
	r         *format.Reader
	v         Visitor
	sections  int
	session   *format.Session // of the window that is open
	closed    int64           // when its section ended, by its end block
	prevClose int64           // when the previous window closed
	closeErr  error           // of closing the previous window
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

// next is called before the reader enters a section: it closes the window unless the section continues it.
func (w *windows) next(s *format.Session) {
	if w.session != nil && !ContinuesWindow(s) {
		w.prevClose = w.end()
		w.closeErr = w.v.Close(w.prevClose)
	}
}

// section enters the reader's current section.
func (w *windows) section() error {
	s := w.r.Session()
	isFirst := w.session == nil
	continues := !isFirst && ContinuesWindow(s)
	if w.closeErr != nil {
		return w.closeErr
	}
	if err := w.v.NewSection(s); err != nil {
		return err
	}
	if !continues {
		if err := w.v.Open(s, s.WindowStart(), w.prevClose, isFirst); err != nil {
			return err
		}
	}
	w.sections = w.r.Sections()
	w.session, w.closed = s, 0
	return nil
}

// end returns when the open window closes; 0: not known.
func (w *windows) end() int64 {
	if w.session == nil {
		return 0
	}
	return w.session.WindowEndOr(w.closed)
}

// ContinuesWindow reports whether a section that is not the first one continues the window of the section before it. A section
// whose header is lost does.
func ContinuesWindow(s *format.Session) bool { return s.Continues || s.Open == 0 }
