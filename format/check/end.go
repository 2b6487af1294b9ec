package check

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// end compares an end block with what the section's blocks hold.
func (c *checker) end(block *format.Block) {
	end, footer, err := format.ParseEndPayload(block.Payload)
	c.inside = false
	if err != nil {
		c.found("end", "%v", err)
		return
	}
	counted := c.tally.End()
	for _, n := range []struct {
		what        string
		claims, has uint64
	}{
		{"bytes of event payloads", end.RawBytes, counted.RawBytes},
		{"stored bytes of event payloads", end.StoredBytes, counted.StoredBytes},
		{"definitions", end.Definitions, counted.Definitions},
		{"late events", end.Late, counted.Late},
	} {
		if n.claims != n.has {
			c.found("counts", "the end block claims %d %s, but the section has %d", n.claims, n.what, n.has)
		}
	}
	c.kinds(end, counted)
	if !slices.EqualFunc(end.Types, counted.Types, func(a, b *format.TypeCount) bool { return proto.Equal(a, b) }) {
		c.found("counts", "the end block does not count the events of each type as the section has them")
	}
	c.losses(end, counted)
	if right := c.tally.Footer(len(block.Payload) - format.FooterSize); footer != right {
		c.found("footer", "the footer does not lead to the section's beginning, index and end")
	}
	if end.Close < c.latest {
		c.found("window", "the section closes at %s, but its last event is at %s", c.when(end.Close), c.when(c.latest))
	}
	if !c.hasIndex && len(c.tally.Index) < format.MaxIndexEntries {
		c.found("index", "the section has no index")
	}
	c.ended = end
	c.reach = max(c.latest, end.Close)
	if c.session != nil {
		c.reach = max(c.latest, c.session.WindowEndOr(end.Close))
	}
}

// kinds compares counts by kind.
func (c *checker) kinds(end, counted *format.End) {
	type count struct{ events, bytes uint64 }
	has := map[uint32]count{}
	for _, k := range counted.Kinds {
		has[k.Kind] = count{k.Events, k.Bytes}
	}
	for _, k := range end.Kinds {
		name := c.voc.KindNames.Text(uint64(k.Kind))
		if h := has[k.Kind]; h.events != k.Events {
			c.found("counts", "the end block claims %d events of kind %s, but the section has %d", k.Events, name, h.events)
		} else if h.bytes != k.Bytes {
			c.found("counts", "the end block claims %d bytes of kind %s, but the section has %d", k.Bytes, name, h.bytes)
		}
		delete(has, k.Kind)
	}
	for _, k := range counted.Kinds {
		if h, missing := has[k.Kind]; missing {
			c.found("counts", "the end block does not count the %d events of kind %s", h.events, c.voc.KindNames.Text(uint64(k.Kind)))
		}
	}
}

// losses compares the losses that events report with the totals. Totals may be higher: a time filter leaves losses
// out and keeps the recorder's totals, and damage is no loss of the recorder's.
func (c *checker) losses(end, counted *format.End) {
	total := map[uint32]uint64{}
	for _, l := range end.Losses {
		total[l.Cause] = format.Sum(total[l.Cause], l.Count)
	}
	counts := map[uint32]uint64{}
	for _, l := range counted.Losses {
		if format.Cause(l.Cause) != format.CauseDamage {
			counts[l.Cause] = format.Sum(counts[l.Cause], l.Count)
		}
	}
	for cause := range uint32(256) {
		if counts[cause] > total[cause] {
			c.found("counts", "events report %d losses by %s, but the end block reports %d", counts[cause], c.voc.Causes.Text(uint64(cause)), total[cause])
		}
	}
}
