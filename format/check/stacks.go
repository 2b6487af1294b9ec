package check

import (
	"math"

	"wprof/format"
	"wprof/format/internal/raw"
)

// moduleCheck is what the frames and stacks of a section are compared with.
type moduleCheck struct {
	modules map[uint32]*format.Module    // kind and base of each
	frames  map[uint32]format.ModuleKind // of the module of each
	sources map[uint32]bool
}

func (m *moduleCheck) add(d *format.Module) {
	if m.modules == nil {
		m.modules = map[uint32]*format.Module{}
	}
	m.modules[d.Id] = &format.Module{Kind: d.Kind, Base: d.Base}
}

// frame checks that an offset is possible in its module.
func (c *checker) frame(d *format.Frame) {
	m := c.modules.modules[d.Module]
	if m != nil && !c.ids.has("frame", d.Id) {
		if c.modules.frames == nil {
			c.modules.frames = map[uint32]format.ModuleKind{}
		}
		c.modules.frames[d.Id] = format.ModuleKind(m.Kind)
	}
	if problem := d.Problem(m); problem != "" {
		c.found("offset", "%s", problem)
	}
}

// stack checks that its frames are defined and in order.
func (c *checker) stack(d *format.Stack) {
	for _, frame := range d.Frames {
		c.refers("stack", d.Id, "frame", frame)
	}
	kind := func(frame uint32) format.ModuleKind { return c.modules.frames[frame] }
	if problem := d.ProblemOf(kind); problem != "" {
		c.found("definitions of stacks", "%s", problem)
	}
}

// sources checks the sources of samples that the session lists.
func (c *checker) sources(s *format.Session) {
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

// topology checks cores and caches: the CPUs of a core are on one node, and a cache is used by CPUs that the session lists.
func (c *checker) topology(s *format.Session) {
	nodes := map[uint32]int32{}
	for _, cpu := range s.Cpus {
		if cpu.Core == nil {
			continue
		}
		if node, found := nodes[*cpu.Core]; found && node != cpu.Node {
			c.found("cpu", "core %d has CPUs on the nodes %d and %d", *cpu.Core, node, cpu.Node)
		}
		nodes[*cpu.Core] = cpu.Node
	}
	for _, cache := range s.Caches {
		if len(cache.Used) != len(s.Cpus) {
			c.found("cache", "a cache of level %d lists %d CPUs, and the session has %d", cache.Level, len(cache.Used), len(s.Cpus))
		}
	}
}

// source checks that the session lists the source of a sample, unless it was lost. A newer version may give the field
// another meaning.
func (c *checker) source(info *format.KindInfo, e *raw.Event) {
	id := e.Args[format.SampleSource]
	if id == 0 || c.session == nil || c.version.Minor > format.Minor || id <= math.MaxUint32 && c.modules.sources[uint32(id)] {
		return
	}
	c.found("source", "the %s at %s names source %d, which the session does not list", info.Name, c.when(e.Time), id)
}
