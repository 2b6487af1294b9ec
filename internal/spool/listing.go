package spool

// Listing follows the lists of tasks through the headers of their chunks.
type Listing struct {
	whole    bool   // the list under way has been there from its beginning, without a hole
	end      uint64 // position up to which there are bytes
	Complete bool   // one list was there as a whole
}

// Add takes the next chunk of tasks. Some are there twice, where two generations overlap.
func (l *Listing) Add(c *Chunk) {
	switch {
	case c.Position < l.end:
		return
	case c.Flags&ChunkWhole != 0:
		l.whole = true
	case c.Position != l.end:
		l.whole = false
	}
	l.end = c.Position + uint64(c.Length)
	if c.Flags&ChunkLast != 0 {
		l.Complete = l.Complete || l.whole
	}
}
