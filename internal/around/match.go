package around

import (
	"slices"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/glob"
	"wprof/internal/label"
	"wprof/internal/timeline"
)

// matcher evaluates conditions. Names are compared once for each event type and each thread.
type matcher struct {
	r          *format.Reader
	conditions []Condition
	found      func(condition int, from, to int64, ended bool) error
	types      byid.Table[*typeMatch]
	kinds      [format.MaxKind + 1][]int // conditions on kinds
	spans      *timeline.Spans           // nil: no condition is on threads
	values     []format.Value
	text       []byte
	named      []bool // conditions that a type of the capture may meet
	has        Names
	failed     error
}

// typeMatch has the conditions that the events of a type may meet.
type typeMatch struct {
	spans, events []int
	byValue       []valueMatch
}

// Names are those that conditions can have in a capture, some of them if there are very many.
type Names struct {
	Spans, Events []string // those of user-defined probes first
}

const maxNames = 64 // besides those of probes

func (n *Names) add(def *format.EventType, isSpan bool) {
	if isSpan {
		n.Spans = with(n.Spans, def)
	}
	n.Events = with(n.Events, def)
}

func with(names []string, def *format.EventType) []string {
	name, at := string(def.Probe), 0
	if name == "" {
		name, at = string(def.Name), min(len(names), maxNames)
	}
	if at == maxNames || slices.Contains(names, name) {
		return names
	}
	return slices.Insert(names, at, name)
}

// valueMatch is a condition that a value decides.
type valueMatch struct {
	condition, field int
}

// threadMatch has the conditions on a thread's name. It is stored in Thread.Own.
type threadMatch struct {
	def            *format.Task
	blocked, waits []int
}

func newMatcher(r *format.Reader, conditions []Condition, found func(condition int, from, to int64, ended bool) error) *matcher {
	m := &matcher{r: r, conditions: conditions, found: found, named: make([]bool, len(conditions))}
	for i := range conditions {
		c := &conditions[i]
		switch c.What {
		case WhatOffCPU, WhatRunq:
			m.named[i] = true
			if m.spans == nil {
				m.spans = timeline.NewSpans(r, m.span)
			}
		case WhatExit:
			m.named[i] = true
			m.kinds[format.KindExit] = append(m.kinds[format.KindExit], i)
		case WhatEvent:
			m.addKind(i, c.Name)
		}
	}
	return m
}

func (m *matcher) addKind(condition int, name string) {
	if k, isKind := kindNamed(name); isKind {
		m.kinds[k.Kind] = append(m.kinds[k.Kind], condition)
		m.named[condition] = true
	}
}

func (m *matcher) newSection(s *format.Session) {
	m.types.Clear()
	if m.spans != nil {
		m.spans.NewSection(s)
	}
}

func (m *matcher) event(e *format.Event) error {
	if m.spans != nil {
		m.spans.Apply(e)
		if m.failed != nil {
			return m.failed
		}
	}
	if e.Kind == format.KindTyped {
		return m.typed(e)
	}
	if e.Kind > format.MaxKind {
		return nil
	}
	for _, i := range m.kinds[e.Kind] {
		if m.conditions[i].What == WhatExit && !isKilled(e) {
			continue
		}
		if err := m.found(i, e.Happened(), e.Happened(), true); err != nil {
			return err
		}
	}
	return nil
}

// isKilled reports whether a signal has ended a process: one event of it counts.
func isKilled(e *format.Event) bool {
	_, signal := e.Exit().Status()
	return signal != 0 && e.Flags&format.ExitLast != 0
}

func (m *matcher) typed(e *format.Event) error {
	t := m.typeMatch(e.TypeID())
	for _, i := range t.events {
		if err := m.found(i, e.Happened(), e.Happened(), true); err != nil {
			return err
		}
	}
	if len(t.spans)+len(t.byValue) == 0 {
		return nil
	}
	from, isSpan := e.Start()
	if !isSpan {
		return nil
	}
	ended := e.Flags&format.FlagOpen == 0
	for _, i := range t.spans {
		if err := m.found(i, from, e.Happened(), ended); err != nil {
			return err
		}
	}
	if len(t.byValue) == 0 {
		return nil
	}
	var ok bool
	if m.values, ok = m.r.EventType(e.TypeID()).AppendValues(m.values[:0], e); !ok {
		return nil
	}
	for _, v := range t.byValue {
		m.text = label.AppendValue(m.text[:0], &m.values[v.field], e, m.r, maxName)
		if !glob.Match(m.conditions[v.condition].Name, m.text) {
			continue
		}
		if err := m.found(v.condition, from, e.Happened(), ended); err != nil {
			return err
		}
	}
	return nil
}

// maxName is how much of a value is compared, bytes.
const maxName = 1024

func (m *matcher) typeMatch(id uint32) *typeMatch {
	if t := m.types.Get(id); t != nil {
		return t
	}
	t := m.matchType(m.r.EventType(id))
	if id != 0 {
		m.types.Put(id, t)
	}
	return t
}

func (m *matcher) matchType(def *format.EventType) *typeMatch {
	t := new(typeMatch)
	if def.IsLost() || def.Entry {
		return t
	}
	isSpan := def.Shape == uint32(format.TypeShape_SHAPE_SPAN)
	m.has.add(def, isSpan)
	for i := range m.conditions {
		c := &m.conditions[i]
		switch {
		case c.What == WhatEvent && names(c.Name, def):
			t.events = append(t.events, i)
			m.named[i] = true
		case c.What == WhatSpan && isSpan && names(c.Name, def):
			t.spans = append(t.spans, i)
			m.named[i] = true
		case c.What == WhatSpan && isSpan && len(def.Probe) > 0:
			m.byField(t, i, def, func(f *format.TypeField) bool { return string(f.Name) == "func" && f.Is(format.ValueType_VALUE_ENUM) })
		case c.What == WhatSource && isSpan && len(def.Probe) == 0 && (string(def.Group) == c.Word || string(def.Name) == c.Word):
			if glob.Match(c.Name, def.Name) {
				t.spans = append(t.spans, i)
				m.named[i] = true
				continue
			}
			m.byField(t, i, def, func(f *format.TypeField) bool { return f.Hint == uint32(format.ValueHint_HINT_NAME) && !f.List })
		}
	}
	return t
}

// byField makes a value decide about a condition, if the type has such a field.
func (m *matcher) byField(t *typeMatch, condition int, def *format.EventType, is func(*format.TypeField) bool) {
	at := slices.IndexFunc(def.Fields, is)
	if at < 0 {
		return
	}
	f := def.Fields[at]
	if f.Is(format.ValueType_VALUE_ENUM) && !slices.ContainsFunc(f.Names, func(n *format.EnumName) bool { return glob.Match(m.conditions[condition].Name, n.Name) }) {
		return
	}
	t.byValue = append(t.byValue, valueMatch{condition, at})
	m.named[condition] = true
}

// names reports whether a glob describes a type: its probe, its name, or its group.
func names(g string, t *format.EventType) bool {
	return len(t.Probe) > 0 && glob.Match(g, t.Probe) || glob.Match(g, t.Name) || len(t.Group) > 0 && glob.Match(g, t.Group)
}

// span evaluates what a thread has done.
func (m *matcher) span(s *timeline.Span) {
	if s.Kind != timeline.SpanBlocked && s.Kind != timeline.SpanRunnable || s.Thread.Idle() || m.failed != nil {
		return
	}
	t := m.threadMatch(s.Thread)
	of := t.blocked
	if s.Kind == timeline.SpanRunnable {
		of = t.waits
	}
	from := s.From
	if s.SinceKnown {
		from = min(from, s.Since)
	}
	for _, i := range of {
		if m.failed = m.found(i, from, s.To, !s.Open); m.failed != nil {
			return
		}
	}
}

func (m *matcher) threadMatch(of *timeline.Thread) *threadMatch {
	t, _ := of.Own.(*threadMatch)
	if t != nil && t.def == of.Def {
		return t
	}
	t = &threadMatch{def: of.Def}
	for i := range m.conditions {
		c := &m.conditions[i]
		if !c.needsThreads() || !glob.Match(c.Name, of.Def.GetComm()) {
			continue
		}
		if c.What == WhatOffCPU {
			t.blocked = append(t.blocked, i)
		} else {
			t.waits = append(t.waits, i)
		}
	}
	of.Own = t
	return t
}
