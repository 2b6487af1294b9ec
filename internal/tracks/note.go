package tracks

import "wprof/format"

// NoteKind is the kind of a [Note].
type NoteKind uint8

const (
	Lost        NoteKind = iota // events are missing
	Late                        // an event comes after later ones: from when it happened to its place in the stream
	NotRecorded                 // the time between two windows
)

// Note is a slice about the recording itself. Notes come ordered by their end, and may overlap.
type Note struct {
	Kind     NoteKind
	CPU      uint32 // format.AllCPUs: of all
	From, To int64  // CLOCK_MONOTONIC ns
	Name     string
	What     string // of Lost and Late: the name of the kind or type of event, or "any"
	Cause    string // of Lost
	Count    uint64 // of Lost: events; 0: not known
}

func lostNote(e *format.Event) Note {
	l := e.Lost()
	n := Note{
		Kind: Lost, CPU: e.CPU, From: min(l.From(), e.Time), To: e.Time, What: l.What().String(), Cause: l.Cause().String(), Count: l.Count(),
	}
	if of := l.TypeName(); len(of) > 0 {
		n.What = string(of)
	}
	n.Name = "lost"
	if !l.IsFault() {
		n.Name = "left out"
	}
	if l.What() != 0 {
		n.Name += " " + n.What
	}
	n.Name += ": " + n.Cause
	return n
}

func lateNote(e *format.Event) Note {
	what := e.Kind.String()
	return Note{Kind: Late, CPU: e.CPU, From: e.Own, To: e.Time, Name: "late " + what, What: what}
}
