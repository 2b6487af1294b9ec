package check

import "wprof/format"

func (c *checker) eventType(d *format.EventType) {
	c.tally.Types.Add(d)
	if d.IsLost() {
		return
	}
	if problem := d.Problem(); problem != "" {
		c.found("definitions", "%s", problem) // the end of such a type has no other problem
		return
	}
	if c.types++; c.types == format.MaxSectionTypes+1 {
		c.found("definitions", "the section has more than %d event types", format.MaxSectionTypes)
	}
	c.ends(d)
	if c.version.Minor <= format.Minor {
		c.known(d)
	}
	for _, h := range []format.ValueHint{format.ValueHint_HINT_NAME, format.ValueHint_HINT_KEY, format.ValueHint_HINT_OWN, format.ValueHint_HINT_BEGAN_BY,
		format.ValueHint_HINT_EVENTS, format.ValueHint_HINT_BUCKETS, format.ValueHint_HINT_COUNTS} {
		if n := fieldsWith(d, h); n > 1 {
			c.found("definitions", "event type %d has %d fields with hint %d, of which only one may be", d.Id, n, h)
		}
	}
}

// ends checks that an end ends a begin, unless that one's definition is lost.
func (c *checker) ends(d *format.EventType) {
	if problem := d.EndProblem(!c.ids.others[d.Ends]); problem != "" {
		c.found("definitions", "%s", problem)
	}
	if !d.MayBegin() && !c.ids.has("eventtype", d.Id) {
		if c.ids.others == nil {
			c.ids.others = map[uint32]bool{}
		}
		c.ids.others[d.Id] = true
	}
}

// known checks numbers that only a newer version may have written. Readers take an unknown track or hint for 0.
func (c *checker) known(d *format.EventType) {
	if d.On > uint32(format.TypeTrack_TRACK_GLOBAL) {
		c.found("definitions", "event type %d is on an unknown track, %d", d.Id, d.On)
	}
	if d.Interrupts > uint32(format.TypeInterrupts_INTERRUPTS_SOFT) {
		c.found("definitions", "event type %d has an unknown kind of interrupt, %d", d.Id, d.Interrupts)
	}
	for _, f := range d.Fields {
		if f.Hint > uint32(format.ValueHint_HINT_COUNTS) {
			c.found("definitions", "field %q of event type %d has an unknown hint, %d", f.Name, d.Id, f.Hint)
		}
	}
}

func fieldsWith(d *format.EventType, h format.ValueHint) (n int) {
	for _, f := range d.Fields {
		if f.Hint == uint32(h) {
			n++
		}
	}
	return n
}
