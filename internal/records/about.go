package records

import "wprof/format"

// Window is the time that a stream covers, in ns.
type Window struct {
	Start, End int64
	Closed     bool // End is known
}

// Length is the length of the window, if known.
func (w Window) Length() int64 { return max(0, w.End-w.Start) }

// About puts together what all recordings of a stream say about themselves, and their windows to one: from the opening of
// the first to the closing of the last. Windows of which a time range has left nothing do not count. It is told what a
// [timeline.Visitor] is told.
type About struct {
	Session
	window      Window
	opened      int64 // when the current window did
	begun, some bool  // there is a window; one that is not empty
}

// Open is the opening of a window.
func (a *About) Open(s *format.Session, at int64) {
	a.opened = at
	if a.begun {
		a.Session.Add(Describe(s))
		return
	}
	a.begun, a.Session = true, Describe(s)
	a.window.Start, a.window.End = at, at
}

// Close is its closing; 0: nobody tells when that was.
func (a *About) Close(at int64) {
	a.window.Closed = at != 0
	if at != 0 && at <= a.opened {
		return
	}
	if !a.some {
		a.some, a.window.Start = true, a.opened
	}
	a.window.End = max(a.window.End, at)
}

// Window is the time that was told of, from another moment.
func (a *About) Window(from int64) Window {
	return Window{a.window.Start - from, a.window.End - from, a.window.Closed}
}
