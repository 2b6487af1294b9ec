package symbol

import (
	"encoding/binary"
	"math"
)

// goValues reads a table of values by address of a Go program: runtime's pcvalue (runtime/symtab.go). Each pair is the difference to the
// value before and for how many quanta of code the value holds.
type goValues struct {
	value   int32
	ended   bool // the table's end was read
	started bool
	rest    []byte
}

func newGoValues(table []byte) goValues { return goValues{value: -1, rest: table} }

// next goes on to the next value. It returns false at the end of the table, or where it is cut or damaged.
func (v *goValues) next() (quanta uint64, ok bool) {
	change, n := binary.Uvarint(v.rest)
	v.ended = n > 0 && change == 0 && v.started
	if n <= 0 || v.ended {
		return 0, false
	}
	quanta, m := binary.Uvarint(v.rest[n:])
	if m <= 0 || quanta > math.MaxUint32 {
		return 0, false
	}
	v.value += int32(uint32(change)>>1) ^ -int32(change&1)
	v.rest, v.started = v.rest[n+m:], true
	return quanta, true
}
