package format

import (
	"fmt"
	"strconv"
)

// Damage is what a Reader found damaged. Tools report it and exit with status 4.
type Damage struct {
	Holes     int64  // places where something is missing
	Blocks    int64  // missing blocks, by the sequence numbers
	Bytes     int64  // bytes that belong to no whole block
	Truncated bool   // the stream stops before its end block
	Detail    string // the first thing that was wrong
}

// Missing describes how much is missing: "1 hole, 2 blocks and 70000 bytes are".
func (d *Damage) Missing() string {
	counted := func(n int64, what string) string {
		if n != 1 {
			what += "s"
		}
		return strconv.FormatInt(n, 10) + " " + what
	}
	return fmt.Sprintf("%s, %s and %s are", counted(d.Holes, "hole"), counted(d.Blocks, "block"), counted(d.Bytes, "byte"))
}

// damaged records a hole: events may be missing from here on, until the next good one.
func (r *Reader) damaged(detail string) {
	if !r.hole {
		r.damage.Holes++
	}
	r.hole, r.section.holed = true, true
	if r.damage.Detail == "" {
		r.damage.Detail = detail
	}
}

// Damage returns what was found damaged so far; nil: nothing.
func (r *Reader) Damage() *Damage {
	if r.damage == (Damage{}) {
		return nil
	}
	d := r.damage
	return &d
}
