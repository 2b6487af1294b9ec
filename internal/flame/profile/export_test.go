package profile

import "wprof/format"

// Bounds are what a profile keeps, see bounds.
type Bounds struct{ Nodes, Bytes, Cells, Unswept, Room int }

func UsualBounds() Bounds {
	b := defaultBounds()
	return Bounds{b.nodes, b.bytes, b.cells, b.unswept, b.room}
}

// CollectWithin is Collect with other bounds.
func CollectWithin(r *format.Reader, o Options, b Bounds) (*Profile, error) {
	c := newCollector(r, o)
	c.bounds = bounds{b.Nodes, b.Bytes, b.Cells, b.Unswept, b.Room}
	c.shrinkAt = c.bounds
	return c.p, c.collect()
}

// CollectTrails is Collect with trails, of which at most this many bytes are kept in memory.
func CollectTrails(r *format.Reader, limit int) (*Profile, error) {
	c := newCollector(r, Options{Trail: true})
	c.trails = newTrails(limit)
	return c.p, c.collect()
}
