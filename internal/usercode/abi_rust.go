package usercode

import "errors"

// nextRust is the place of an argument of a Rust function. The language does not promise any; this is what the compiler does: numbers and
// pairs of them in registers, all else by its address.
func (c *calls) nextRust(t *typ) value {
	if t.kind != kindRecord && t.kind != kindArray {
		return c.words(t)
	}
	count, isVector := 0, false
	if err := t.scalars(0, 0, func(_ int64, s *typ) {
		count++
		isVector = isVector || s.float
	}); err != nil {
		c.err = err
		return unreadable(err)
	}
	switch {
	case t.size == 0:
		return unreadable(errEmpty)
	case isVector:
		c.err = errors.New("how Rust passes it is not known")
		return unreadable(c.err)
	case t.size <= 8:
		return c.take(1, t.size)
	case t.size <= 16 && count == 2 || t.size <= 16 && t.kind == kindArray:
		return c.take(2, t.size)
	}
	return c.pointed()
}
