package tracks

import (
	"wprof/format"
	"wprof/internal/stacks"
)

// Maker makes items of events of plain kinds and of event types.
type Maker struct {
	resolver
	plain plainItems
	typed typedItems
}

// NewMaker returns a Maker that looks definitions up in defs.
func NewMaker(defs Definitions) *Maker {
	m := &Maker{resolver: resolver{defs: defs, waits: newWaitResolver(defs)}}
	m.plain = newPlainItems(&m.resolver)
	m.typed = newTypedItems(&m.resolver)
	m.typed.open.OnDrop = m.typed.drop
	m.typed.counted.OnDrop = m.typed.dropCounts
	return m
}

// ShowPython sets how stacks are shown that have functions of Python. It must be called before the stream is read.
func (m *Maker) ShowPython(v stacks.PythonView) { m.python = v }

// NewSection is called when ids change their meaning.
func (m *Maker) NewSection(s *format.Session) {
	m.resolver.newSection()
	m.typed.types.clear()
	m.typed.names.NewSection()
	m.typed.counting.newSection(s)
}

// Items returns the items that an event completes, valid until the next call, and whether the event's kind is drawn as items.
func (m *Maker) Items(e *format.Event) (items []Item, ok bool) {
	if e.Kind == format.KindTyped {
		return m.typed.of(e), true
	}
	return m.plain.of(e)
}

// Close returns the spans that are still open, ended at a time, and counters that had to wait for their next value. They are valid until the next call.
func (m *Maker) Close(at int64) []Item { return m.typed.close(at) }
