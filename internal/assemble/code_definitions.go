package assemble

import (
	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/stacks"
)

// define writes the definition of a stack under a new id, and before it those of its frames.
func (c *code) define(key stackKey, s *stack) {
	d := &c.s
	d.Frames, d.KernelFrames, d.Cut, d.UserEnd = d.Frames[:0], 0, false, 0
	for _, p := range [...]*part{key.user, key.kernel} {
		if p == nil {
			continue
		}
		c.settleEnd(p)
		for _, i := range p.frames {
			d.Frames = append(d.Frames, c.defineFrame(&c.frames[i]))
		}
		d.Cut = d.Cut || p.cut
		if p.kernel {
			d.KernelFrames = uint32(len(p.frames))
		} else {
			d.UserEnd = uint32(p.end)
		}
	}
	c.stackID++
	d.Id, s.id = c.stackID, c.stackID
	_ = c.out.w.DefineStack(d) // an error stays with the Writer, and the event's Write returns it
	if c.bytes > maxCode {
		c.out.requestEpoch()
	}
	c.out.defined()
}

// settleEnd makes a stack whole that is so by name.
func (c *code) settleEnd(p *part) {
	if stacks.IsWholeByName(p.end, []byte(c.frames[p.frames[0]].function)) {
		p.end, p.cut = format.StackEnd_STACK_END_ROOT, false
	}
}

func (c *code) defineFrame(f *frame) uint32 {
	loop := uint32(0)
	if f.loop != 0 {
		loop = c.defineFrame(&c.frames[f.loop-1])
	}
	if f.id != 0 && f.loopID == loop {
		return f.id
	}
	d := &c.f
	c.frameID++
	f.id = c.frameID
	d.Id, d.Module, d.Offset, d.Caller = f.id, c.defineModule(f.module), f.offset, f.caller
	d.Loop, f.loopID = loop, loop
	d.FunctionOffset, d.Lines = 0, d.Lines[:0]
	if f.function != "" {
		d.FunctionOffset, d.Lines = f.start, c.linesOf(f)
	}
	_ = c.out.w.DefineFrame(d)
	return f.id
}

// linesOf returns the functions of a frame that has a name, which is of its last one. They are valid until the next call. Once
// the section is full, which it may be before the next event, a frame has only its name.
func (c *code) linesOf(f *frame) []*format.Line {
	n, bytes := 0, 0
	for l := f.line; l != nil; l = l.Outer {
		n++
		bytes += len(l.Function) + len(l.File)
	}
	if n == 0 || bytes > maxLineBytes || c.bytes > maxCode || c.out.w.DefinitionBytes() > c.out.full {
		line := c.lineAt(0)
		line.Function, line.File, line.Line = []byte(f.function), nil, 0
		return c.line[:1]
	}
	c.bytes += n * lineCost
	for i, l := 0, f.line; l != nil; i, l = i+1, l.Outer {
		line, function := c.lineAt(i), l.Function
		if l.Outer == nil {
			function = f.function
		}
		line.Function, line.File, line.Line = []byte(function), []byte(l.File), l.Line
	}
	return c.line[:n]
}

func (c *code) lineAt(i int) *format.Line {
	if i == len(c.line) {
		c.line = append(c.line, new(format.Line))
	}
	return c.line[i]
}

func (c *code) defineModule(m *module) uint32 {
	if m.definition == nil || m.section == c.section {
		return m.id
	}
	c.module++
	m.id, m.section = c.module, c.section
	d, from := &c.m, m.definition
	proto.Reset(d)
	d.Id, d.Path, d.BuildId, d.Device, d.Inode = m.id, from.Path, from.BuildId, from.Device, from.Inode
	d.Generation, d.Base, d.Kind = from.Generation, from.Base, from.Kind
	d.Size, d.Mtime, d.Ctime = from.Size, from.Mtime, from.Ctime
	_ = c.out.w.DefineModule(d)
	return m.id
}
