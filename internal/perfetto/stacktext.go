package perfetto

import (
	"strings"

	"wprof/internal/tracks"
)

// stackText holds the ids of a stack's texts.
type stackText struct {
	text      uint64 // its functions, innermost first; 0: none
	callstack uint64
}

// stackOf returns the ids of a stack's texts, which it describes if they are new; for nil all are 0.
func (w *view) stackOf(s *tracks.Stack) (of stackText) {
	if s == nil {
		return of
	}
	if known, found := w.seq.stacks[s.Key]; found {
		return known
	}
	w.out = w.seq.describe(w.out, func(out []byte) []byte {
		out, of.callstack = w.seq.interned.internStack(out, s)
		return out
	})
	if functions := s.Shown(); len(functions) > 0 {
		of.text = w.text(strings.Join(functions, "\n"))
	}
	w.seq.stacks[s.Key] = of
	return of
}

// annotateStack gives the current event a stack: as a text, and in the form from which engines after v52 make flame graphs.
func (w *view) annotateStack(of stackText) {
	if of.text != 0 {
		w.seq.value(annStack, of.text)
	}
	if of.callstack != 0 {
		w.seq.body = appendUint(w.seq.body, eventCallstack, of.callstack)
	}
}
