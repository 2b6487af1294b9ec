package spool

// listing follows the lists of tasks through the headers of their chunks.
type listing struct {
	whole    bool   // the list under way has been there from its beginning, without a hole
	end      uint64 // position up to which there are bytes
	complete bool   // one list was there as a whole
}

// add takes the next chunk of tasks. Some are there twice, where two generations overlap.
func (l *listing) add(c *chunk) {
	switch {
	case c.position < l.end:
		return
	case c.flags&chunkWhole != 0:
		l.whole = true
	case c.position != l.end:
		l.whole = false
	}
	l.end = c.position + uint64(c.length)
	if c.flags&chunkLast != 0 {
		l.complete = l.complete || l.whole
	}
}
