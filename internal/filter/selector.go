package filter

import "wprof/format"

// Selector evaluates a [Spec] for the threads of a stream that is read as a whole, for tools that report on some threads and need the
// others to explain what these do.
type Selector struct {
	spec   Spec
	defs   TaskDefinitions
	family *family // nil without Spec.Children
}

// TaskDefinitions looks up threads of the current section; a [format.Reader] has them.
type TaskDefinitions interface {
	Task(format.TaskID) *format.Task
	Text(uint32) *format.Text // the path of its cgroup
}

// NewSelector returns a Selector; nil: there is no condition.
func NewSelector(spec Spec, defs TaskDefinitions) *Selector {
	if !spec.IsAny() {
		return nil
	}
	s := &Selector{spec: spec, defs: defs}
	if spec.Children {
		s.family = newFamily(&s.spec)
	}
	return s
}

// NewSection is called when ids change their meaning.
func (s *Selector) NewSection() {
	if s.family != nil {
		s.family.scanned = 0
	}
}

// Fork is called with each fork, before its child is looked up.
func (s *Selector) Fork(e *format.Event) {
	if s.family != nil {
		s.family.read(s.defs, e.Fork().Child())
		s.family.fork(s.defs.Task(e.Task), s.defs.Task(e.Fork().Child()))
	}
}

// Selects reports whether the thread of a definition is selected. nil: the definition is lost.
func (s *Selector) Selects(d *format.Task) bool {
	if d == nil {
		return !s.spec.allows()
	}
	if s.family == nil {
		return s.spec.keeps(d, s.defs, false)
	}
	s.family.read(s.defs, format.TaskID(d.Id))
	return s.spec.keeps(d, s.defs, s.family.has(d))
}
