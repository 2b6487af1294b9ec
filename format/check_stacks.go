package format

import "math"

// moduleCheck is what the frames and stacks of a section are held against.
type moduleCheck struct {
	modules map[uint32]*Module // kind and base of each
	frames  map[uint32]part
	sources map[uint32]bool
}

func (m *moduleCheck) add(d *Module) {
	if m.modules == nil {
		m.modules = map[uint32]*Module{}
	}
	m.modules[d.Id] = &Module{Kind: d.Kind, Base: d.Base}
}

// frame looks at whether an offset can be one in its module.
func (c *checker) frame(d *Frame) {
	m := c.modules.modules[d.Module]
	if p := partOf(m); p != partEither && !c.ids.has("frame", d.Id) {
		if c.modules.frames == nil {
			c.modules.frames = map[uint32]part{}
		}
		c.modules.frames[d.Id] = p
	}
	if problem := d.Problem(m); problem != "" {
		c.found("offset", "%s", problem)
	}
}

// stack looks at whether its frames are there and in order.
func (c *checker) stack(d *Stack) {
	for _, frame := range d.Frames {
		c.refers("stack", d.Id, "frame", frame)
	}
	if problem := d.problem(func(frame uint32) part { return c.modules.frames[frame] }); problem != "" {
		c.found("definitions of stacks", "%s", problem)
	}
}

// sources looks at what the session says takes samples.
func (c *checker) sources(s *Session) {
	c.modules.sources = map[uint32]bool{}
	for _, source := range s.Sources {
		switch {
		case source.Id == 0:
			c.found("source", "a source has the id 0, which names none")
		case c.modules.sources[source.Id]:
			c.found("source", "source %d is defined twice", source.Id)
		}
		c.modules.sources[source.Id] = true
	}
}

// source looks at whether the session tells of the source of a sample, unless it was lost. What a newer version means by it is not known.
func (c *checker) source(info *KindInfo, e *textEvent) {
	id := e.Args[SampleSource]
	if id == 0 || c.session == nil || c.version.Minor > Minor || id <= math.MaxUint32 && c.modules.sources[uint32(id)] {
		return
	}
	c.found("source", "the %s at %s names source %d, which the session does not tell of", info.Name, c.when(e.Time), id)
}
