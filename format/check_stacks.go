package format

import "math"

// moduleCheck is what the frames and stacks of a section are held against.
type moduleCheck struct {
	modules map[uint32]moduleSide
	frames  map[uint32]part
	sources map[uint32]bool
}

// moduleSide is what is kept of a module.
type moduleSide struct {
	part part
	kind ModuleKind
	base uint64
}

// part is the part of a stack that a frame may stand in.
type part uint8

const (
	partEither part = iota // nothing says
	partUser
	partKernel
)

func (p part) String() string { return [...]string{"either", "user", "kernel"}[p] }

func (m *moduleCheck) add(d *Module) {
	side := moduleSide{kind: ModuleKind(d.Kind), base: d.Base}
	for _, k := range ModuleKinds() {
		switch {
		case k.Kind == side.kind && k.Kernel:
			side.part = partKernel
		case k.Kind == side.kind && k.User:
			side.part = partUser
		}
	}
	if m.modules == nil {
		m.modules = map[uint32]moduleSide{}
	}
	m.modules[d.Id] = side
}

// frame looks at whether an offset can be one in its module.
func (c *checker) frame(d *Frame) {
	m := c.modules.modules[d.Module]
	if m.part != partEither && !c.ids.has("frame", d.Id) {
		if c.modules.frames == nil {
			c.modules.frames = map[uint32]part{}
		}
		c.modules.frames[d.Id] = m.part
	}
	switch {
	case m.kind == ModuleKind_MODULE_FILE && d.Offset > math.MaxInt64:
		c.found("offset", "frame %d stands at %#x of a file, which no file is long enough for", d.Id, d.Offset)
	case m.part == partKernel && d.Offset+m.base < m.base:
		c.found("offset", "frame %d stands at %#x from %#x, which is beyond all addresses", d.Id, d.Offset, m.base)
	case m.kind == ModuleKind_MODULE_VDSO && d.Offset > math.MaxUint32:
		c.found("offset", "frame %d stands at %#x of the vDSO, which is not so long", d.Id, d.Offset)
	}
	switch {
	case len(d.Lines) == 0 && d.FunctionOffset != 0:
		c.found("offset", "frame %d is %d bytes into a function, but has none", d.Id, d.FunctionOffset)
	case m.part != partEither && d.FunctionOffset > d.Offset:
		c.found("offset", "frame %d stands at %#x, but %d bytes into its function", d.Id, d.Offset, d.FunctionOffset)
	case d.Caller && d.Offset == 0 && m.part != partKernel:
		c.found("offset", "frame %d is a return address, but nothing stands before it", d.Id)
	}
}

// stack looks at whether its frames are there and in order.
func (c *checker) stack(d *Stack) {
	user := len(d.Frames) - int(d.KernelFrames)
	if user < 0 {
		c.found("definitions", "stack %d has %d frames, of which it says %d are the kernel's", d.Id, len(d.Frames), d.KernelFrames)
	}
	for i, frame := range d.Frames {
		if frame == 0 {
			c.found("definitions", "stack %d names frame 0, which is none", d.Id)
		}
		c.refers("stack", d.Id, "frame", frame)
		should := partUser
		if i >= user {
			should = partKernel
		}
		if is := c.modules.frames[frame]; user >= 0 && is != partEither && is != should {
			c.found("order of frames", "frame %d of stack %d stands among the %s frames, but it is a %s frame", frame, d.Id, should, is)
		}
	}
	if len(d.Frames) == 0 && !d.Cut {
		c.found("definitions", "stack %d has no frames", d.Id)
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
