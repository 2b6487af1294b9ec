package records

import "wprof/format"

// Window is the time that a stream covers, in ns.
type Window struct {
	Start, End int64
	Closed     bool // End is known
}

// Length is the length of the window, if known.
func (w Window) Length() int64 { return max(0, w.End-w.Start) }

// About merges the descriptions of all recordings of a stream, and their windows: from the opening of
// the first to the closing of the last. Windows that a time range has left empty do not count. Its methods are called like those of
// a [timeline.Visitor].
type About struct {
	Session
	window    Window
	opened    int64 // opening of the current window
	hasWindow bool
	hasTime   bool // one of the windows is not empty
}

// Open adds the opening of a window.
func (a *About) Open(s *format.Session, at int64) {
	a.opened = at
	if a.hasWindow {
		a.Session.Add(Describe(s))
		return
	}
	a.hasWindow, a.Session = true, Describe(s)
	a.window.Start, a.window.End = at, at
}

// Close adds its closing; 0: not known.
func (a *About) Close(at int64) {
	a.window.Closed = at != 0
	if at != 0 && at <= a.opened {
		return
	}
	if !a.hasTime {
		a.hasTime, a.window.Start = true, a.opened
	}
	a.window.End = max(a.window.End, at)
}

// Window returns the merged window, with times relative to from.
func (a *About) Window(from int64) Window {
	return Window{a.window.Start - from, a.window.End - from, a.window.Closed}
}
