package profile

import (
	"wprof/format"
	"wprof/internal/waits"
)

// Piece is an interval in which a thread's activity did not change.
type Piece struct {
	From, To int64 // ns since About.From
	Class    Class
	State    format.State
	Wait     waits.Result // of ClassBlocked and ClassIdle
	CPU      uint32
	Label    LabelID
	Stack    NodeID
}

// continues reports whether a piece directly follows another one and differs only in its time.
func (p *Piece) continues(before *Piece) bool {
	same := *before
	same.From, same.To = before.To, p.To
	return *p == same
}

// Trail is the activity of a thread in order of time.
type Trail interface {
	// Each calls visit with every piece. The piece is valid until visit returns.
	Each(visit func(*Piece) error) error
}
