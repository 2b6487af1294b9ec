package format

// slab hands out short slices of long ones, so that a hundred thousand definitions are not a million allocations.
type slab[T any] struct {
	free []T
	size int // of the long slice that free is the rest of
}

// slabLength bounds what of a slab may stay unused.
const slabLength = 1 << 13

// take is a slice of n zero elements that nobody else has, with no room beyond them.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		if n > slabLength/8 {
			return make([]T, n)
		}
		s.size = min(max(2*s.size, 64, n), slabLength)
		s.free = make([]T, s.size)
	}
	taken := s.free[:n:n]
	s.free = s.free[n:]
	return taken
}
