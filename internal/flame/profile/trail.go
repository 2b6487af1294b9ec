package profile

import "wprof/format"

// Piece is what a thread did for a while.
type Piece struct {
	From, To int64 // ns since About.From
	Class    Class
	State    format.State
	CPU      uint32
	Label    LabelID
	Stack    NodeID
}

// continues tells whether a piece only goes on with another one.
func (p *Piece) continues(before *Piece) bool {
	same := *before
	same.From, same.To = before.To, p.To
	return *p == same
}

// Trail is what a thread did in order of time.
type Trail interface {
	// Each calls visit with every piece. The piece is valid until visit returns.
	Each(visit func(*Piece) error) error
}
