package records

import (
	"math"
	"slices"

	"wprof/format"
)

// counters turn what events counted into numbers in the order of the header's pmus, in which counters of later recordings follow those
// of earlier ones.
type counters struct {
	names   []string
	of      *format.Counters
	places  []int // of the session's counters in names; -1: there are too many
	counts  []format.Count
	values  []float64
	numbers []float64
}

func (c *counters) newSection(s *format.Session) {
	c.of, c.places = format.NewCounters(s), c.places[:0]
	for _, name := range counterNames(s) {
		at := slices.Index(c.names, name)
		if at < 0 && len(c.names) < maxEntries {
			at = len(c.names)
			c.names = append(c.names, name)
		}
		c.places = append(c.places, at)
	}
}

// read returns the numbers of an event, valid until the next call.
func (c *counters) read(data []byte) []float64 {
	c.counts = format.ReadCounts(c.counts[:0], data)
	c.values = c.of.AppendValues(c.values[:0], c.counts)
	c.numbers = c.numbers[:0]
	for range c.names {
		c.numbers = append(c.numbers, math.NaN())
	}
	for i, v := range c.values {
		if i < len(c.places) && c.places[i] >= 0 {
			c.numbers[c.places[i]] = v
		}
	}
	return c.numbers
}

// setCounts sets a field to what counters have counted; empty: nothing is known.
func (m *Maker) setCounts(r *Record, field int, counts []byte) {
	if len(counts) > 0 {
		r.Numbers = m.counters.read(counts)
		r.Has |= 1 << field
	}
}

// setTypedCounts is the same of the values of a typed event.
func (m *Maker) setTypedCounts(r *Record, field int, t *format.EventType) {
	if at := t.CountersField(); at >= 0 {
		m.setCounts(r, field, m.values[at].Bytes)
	}
}

// counterNames returns the names of a session's counters.
func counterNames(s *format.Session) []string {
	var names []string
	for _, c := range format.NewCounters(s).List {
		names = append(names, valid(c.GetName()))
	}
	return names
}
