package format

import (
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// events looks at a block of events: first at each of them, then at what the header says of all.
func (c *checker) events(block *Block, b *textBlock) {
	h := &block.Header
	records, err := newRecordDecoder(h, block.Payload)
	if err != nil {
		c.found("events", "the block does not hold two columns of events")
		return
	}
	c.state.begin(h.Flags&BlockState != 0)
	var e textEvent
	for !records.done() {
		var size int
		if size, err = records.next(c.voc.kindInfo, &e); err != nil {
			c.found("events", "after %d events of the block comes none, though it goes on", records.events)
			break
		}
		c.seen.Events++
		if Kind(e.Kind) == KindLost {
			c.seen.Losses++
		}
		b.count(&e, size)
		c.event(&e)
	}
	if err == nil && len(records.records) > 0 && c.version.Minor <= Minor {
		c.found("events", "%d bytes follow the last event of the block", len(records.records))
	}
	b.events = *records
	c.eventsHeader(h, records)
}

func (c *checker) eventsHeader(h *BlockHeader, seen *recordCoder) {
	if h.Events != seen.events {
		c.found("header", "the block claims %d events and holds %d", h.Events, seen.events)
	}
	if seen.events == 0 {
		c.found("header", "the block of events is empty")
		return
	}
	for _, t := range []struct {
		name        string
		claims, has int64
	}{{"first", h.First, seen.first}, {"last", h.Last, seen.last}, {"earliest", h.Earliest, seen.earliest}} {
		if t.claims != t.has {
			c.found("header", "the block claims %s as its %s time, but it is %s", c.when(t.claims), t.name, c.when(t.has))
		}
	}
}

// when is a time as the text form writes it.
func (c *checker) when(t int64) string { return string(appendTextTime(nil, t, c.session.GetOpen())) }

func (c *checker) event(e *textEvent) {
	info := c.voc.kindInfo(e.Kind)
	if e.Time < c.last {
		c.found("time", "a %s at %s stands after an event at %s", info.Name, c.when(e.Time), c.when(c.last))
	}
	c.last, c.latest = e.Time, max(c.latest, e.Time)
	if e.Flags&FlagsVisible == 0 {
		c.found("visibility", "neither side of the %s at %s is visible", info.Name, c.when(e.Time))
	}
	c.window(&info, e)
	c.task(&info, e, "its own task", e.Task)
	if e.Flags&FlagLate != 0 && e.Own >= e.Time {
		c.found("late", "the %s at %s is late, but its own time is %s", info.Name, c.when(e.Time), c.when(e.Own))
	}
	for i, f := range info.Fields {
		if f.Type != FieldBytes && (f.Opt == 0 || e.Flags&f.Opt != 0) {
			c.field(&info, e, f, e.Args[i])
		}
	}
	if e.Kind == KindSample {
		c.source(&info, e)
	}
	if e.Kind == KindTyped {
		c.typed(e)
	}
	if problem := c.state.event(&e.Event, c.ids.idle[e.Task]); problem != "" {
		c.found("state", "%s at %s: %s", info.Name, c.when(e.Time), problem)
	}
}

// window looks at whether the event is inside the section's.
func (c *checker) window(info *KindInfo, e *textEvent) {
	if c.session == nil {
		return
	}
	if from := windowStart(c.session); e.Time < from {
		c.found("window", "the %s at %s is before the window, which begins at %s", info.Name, c.when(e.Time), c.when(from))
	}
	if to := windowEnd(c.session); to != 0 && e.Time > to {
		c.found("window", "the %s at %s is after the window, which ends at %s", info.Name, c.when(e.Time), c.when(to))
	}
}

func (c *checker) task(info *KindInfo, e *textEvent, what string, id TaskID) {
	if id != 0 && !c.ids.has("task", uint32(id)) {
		c.found("task", "the %s at %s names task %d as %s, which is not defined before it", info.Name, c.when(e.Time), id, what)
	}
}

// field looks at one field. What this version does not know is wrong only if this version wrote it.
func (c *checker) field(info *KindInfo, e *textEvent, f Field, value uint64) {
	known := true
	switch f.Type {
	case FieldTask:
		if value>>32 != 0 {
			known = false
			break
		}
		c.task(info, e, f.Name, TaskID(value))
	case FieldStack:
		if known = value>>32 == 0; known && value != 0 && !c.ids.has("stack", uint32(value)) {
			c.found("stack", "the %s at %s names stack %d, which is not defined before it", info.Name, c.when(e.Time), value)
		}
	case FieldEventType:
		if known = value>>32 == 0; known && !c.ids.has("eventtype", uint32(value)) {
			c.found("event type", "the %s at %s is of event type %d, which is not defined before it", info.Name, c.when(e.Time), value)
		}
	case FieldTime:
		if int64(value) > e.Time {
			c.found("future", "the %s at %s tells %s=%s, which is after it", info.Name, c.when(e.Time), f.Name, c.when(int64(value)))
		}
	case FieldState:
		known = value&^uint64(knownStates()) == 0
	case FieldCause:
		_, known = c.voc.causes[value]
		known = known || value == 0
	case FieldKind:
		_, known = c.voc.kindNames[value]
	}
	if !known && c.version.Minor <= Minor {
		c.found("value", "the %s at %s has %s=%s, which means nothing", info.Name, c.when(e.Time), f.Name, c.voc.appendArg(nil, f.Type, value, nil))
	}
}

// noState is what is wrong with a block whose events do not begin with the state that its header promises.
const noState = "the block does not begin with a state, though it says so"

// stateCheck holds the events of one state against each other.
type stateCheck struct {
	promised bool // the block says that it begins with a state
	open     bool // the events so far are a state
	at       int64
	cpus     map[uint32]bool
	threads  map[TaskID]bool
}

func (s *stateCheck) begin(promised bool) {
	if promised {
		*s = stateCheck{promised: true}
	}
	s.promised = promised
}

// event returns what contradicts the state that the event is part of.
func (s *stateCheck) event(e *Event, idle bool) string {
	if !isStateEvent(e) {
		promised := s.promised
		s.promised, s.open = false, s.open && e.Time == s.at
		if promised {
			return noState
		}
		return ""
	}
	if s.promised {
		*s = stateCheck{open: true, at: e.Time, cpus: map[uint32]bool{}, threads: map[TaskID]bool{}}
	}
	if !s.open || s.at != e.Time {
		return "" // a state event elsewhere tells of one thread only
	}
	if e.Kind == KindStateCPU {
		if s.cpus[e.CPU] {
			return "the state tells twice who runs on " + textCPU(e.CPU)
		}
		s.cpus[e.CPU] = true
	}
	if e.Task == 0 || idle {
		return ""
	}
	if s.threads[e.Task] {
		return "the state tells twice of task " + strconv.FormatUint(uint64(e.Task), 10)
	}
	s.threads[e.Task] = true
	return ""
}

// idTable knows which ids are defined in a section.
type idTable struct {
	defined map[protoreflect.Name]map[uint32]bool
	idle    map[TaskID]bool
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

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }
