package check

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// events checks a block of events: first each of them, then its header.
func (c *checker) events(block *format.Block) {
	h := &block.Header
	records, err := raw.NewRecords(h, block.Payload)
	if err != nil {
		c.found("events", "the block does not hold two columns of events")
		return
	}
	c.state.BeginBlock(h.Flags&format.BlockState != 0)
	var counts raw.Counts
	var e raw.Event
	for !records.Done() {
		var size int
		if size, err = records.Next(c.voc.KindInfo, &e); err != nil {
			c.found("events", "no event can be decoded after the first %d of the block, although more bytes follow", records.Events)
			break
		}
		c.seen.Events++
		if format.Kind(e.Kind) == format.KindLost && e.Lost().IsFault() {
			c.seen.Losses++
		}
		counts.Event(&e, size, &c.tally.Types)
		c.event(&e)
	}
	if err == nil && len(records.Rest) > 0 && c.version.Minor <= format.Minor {
		c.found("events", "%d bytes follow the last event of the block", len(records.Rest))
	}
	c.tally.AddEvents(records, &counts)
	c.eventsHeader(h, records)
}

func (c *checker) eventsHeader(h *format.BlockHeader, seen *raw.Records) {
	if h.Events != seen.Events {
		c.found("header", "the block claims %d events and holds %d", h.Events, seen.Events)
	}
	if seen.Events == 0 {
		c.found("header", "the block of events is empty")
		return
	}
	for _, t := range []struct {
		name        string
		claims, has int64
	}{{"first", h.First, seen.First}, {"last", h.Last, seen.Last}, {"earliest", h.Earliest, seen.Earliest}} {
		if t.claims != t.has {
			c.found("header", "the block claims %s as its %s time, but it is %s", c.when(t.claims), t.name, c.when(t.has))
		}
	}
}

// when formats a time as the text form does.
func (c *checker) when(t int64) string { return string(spell.AppendTime(nil, t, c.session.GetOpen())) }

func (c *checker) event(e *raw.Event) {
	info := c.voc.KindInfo(e.Kind)
	if e.Time < c.last {
		c.found("time", "a %s at %s stands after an event at %s", info.Name, c.when(e.Time), c.when(c.last))
	}
	c.last, c.latest = e.Time, max(c.latest, e.Time)
	if e.Flags&format.FlagsVisible == 0 {
		c.found("visibility", "neither side of the %s at %s is visible", info.Name, c.when(e.Time))
	}
	c.window(&info, e)
	c.task(&info, e, "its own task", e.Task)
	if e.Flags&format.FlagLate != 0 && e.Own >= e.Time {
		c.found("late", "the %s at %s is late, but its own time is %s", info.Name, c.when(e.Time), c.when(e.Own))
	}
	for i, f := range info.Fields {
		if f.Type != format.FieldBytes && (f.Opt == 0 || e.Flags&f.Opt != 0) {
			c.field(&info, e, f, e.Args[i])
		}
	}
	if e.Kind == format.KindSample {
		c.source(&info, e)
	}
	if e.Kind == format.KindTyped {
		c.typed(e)
	}
	if problem := c.state.Event(&e.Event, c.ids.idle[e.Task]); problem != "" {
		c.found("state", "%s at %s: %s", info.Name, c.when(e.Time), problem)
	}
}

// window checks that the event is inside the section's window.
func (c *checker) window(info *format.KindInfo, e *raw.Event) {
	if c.session == nil {
		return
	}
	if from := c.session.WindowStart(); e.Time < from {
		c.found("window", "the %s at %s is before the window, which begins at %s", info.Name, c.when(e.Time), c.when(from))
	}
	if to := c.session.WindowEnd(); to != 0 && e.Time > to {
		c.found("window", "the %s at %s is after the window, which ends at %s", info.Name, c.when(e.Time), c.when(to))
	}
}

func (c *checker) task(info *format.KindInfo, e *raw.Event, what string, id format.TaskID) {
	if id != 0 && !c.ids.has("task", uint32(id)) {
		c.found("task", "the %s at %s names task %d as %s, which is not defined before it", info.Name, c.when(e.Time), id, what)
	}
}

// field checks one field. Unknown values are wrong only if this version wrote the section.
func (c *checker) field(info *format.KindInfo, e *raw.Event, f format.Field, value uint64) {
	known := true
	switch f.Type {
	case format.FieldTask:
		if value>>32 != 0 {
			known = false
			break
		}
		c.task(info, e, f.Name, format.TaskID(value))
	case format.FieldStack:
		if known = value>>32 == 0; known && value != 0 && !c.ids.has("stack", uint32(value)) {
			c.found("stack", "the %s at %s names stack %d, which is not defined before it", info.Name, c.when(e.Time), value)
		}
	case format.FieldWait:
		if known = value>>32 == 0; known && value != 0 && !c.ids.has("wait", uint32(value)) {
			c.found("wait", "the %s at %s names wait %d, which is not defined before it", info.Name, c.when(e.Time), value)
		}
	case format.FieldEventType:
		if known = value>>32 == 0; known && !c.ids.has("eventtype", uint32(value)) {
			c.found("event type", "the %s event at %s is of event type %d, which is not defined before it", info.Name, c.when(e.Time), value)
		}
	case format.FieldTime:
		if int64(value) > e.Time {
			c.found("future", "the %s at %s has %s=%s, which is after it", info.Name, c.when(e.Time), f.Name, c.when(int64(value)))
		}
	case format.FieldState:
		known = value&^uint64(format.KnownStates()) == 0
	case format.FieldCause:
		_, known = c.voc.Causes[value]
		known = known || value == 0
	case format.FieldKind:
		_, known = c.voc.KindNames[value]
	}
	if !known && c.version.Minor <= format.Minor {
		c.found("value", "the %s at %s has %s=%s, which means nothing", info.Name, c.when(e.Time), f.Name, c.voc.AppendArg(nil, f.Type, value, nil))
	}
}

// idTable holds the ids that a section defines.
type idTable struct {
	defined map[protoreflect.Name]map[uint32]bool
	idle    map[format.TaskID]bool
	others  map[uint32]bool // event types that are not the begin of a span
}

func (t *idTable) has(word protoreflect.Name, id uint32) bool { return t.defined[word][id] }

// add enters an id, unless it is defined.
func (t *idTable) add(word protoreflect.Name, id uint32) bool {
	if t.defined == nil {
		t.defined = map[protoreflect.Name]map[uint32]bool{}
	}
	if t.defined[word] == nil {
		t.defined[word] = map[uint32]bool{}
	}
	if t.defined[word][id] {
		return false
	}
	t.defined[word][id] = true
	return true
}
