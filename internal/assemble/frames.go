package assemble

import (
	"wprof/format"
	"wprof/internal/symbol"
)

// locate finds the module that an address of a process, or of the kernel, stands in. Of a caller it is the one with the
// call, which may be the last instruction there.
func (c *code) locate(pid uint32, address uint64, caller bool) (*module, uint64) {
	back := uint64(0)
	if caller && address > 0 {
		back = 1
	}
	if pid == 0 {
		m, offset := c.locateKernel(address - back)
		return m, offset + back
	}
	definition, offset := c.maps.Resolve(pid, address-back)
	if definition == nil {
		return &c.nowhere, address
	}
	return c.moduleOf(definition), offset + back
}

// startNaming begins to look names up beside a live stream, and returns a function that ends it.
func (c *code) startNaming() func() {
	if c.namer == nil {
		return func() {}
	}
	c.queue = newNameQueue(c.namer)
	return func() {
		c.queue.end()
		<-c.queue.done
	}
}

// tracerFrames is how many of the innermost frames are the recorder's own.
func (c *code) tracerFrames(addresses []uint64) int {
	c.loadKernel()
	return c.kernel.tracerFrames(addresses)
}

// loadKernel reads the kernel's symbols and modules from the spool.
func (c *code) loadKernel() {
	if c.kernel == nil {
		kernel := c.load()
		c.kernel = &kernel
	}
}

func (c *code) locateKernel(address uint64) (*module, uint64) {
	if p := c.programs.find(address); p != nil {
		return p.module, address - p.module.definition.Base
	}
	c.loadKernel()
	k := c.kernel.find(address)
	if k == nil && address < c.kernel.base {
		return &c.nowhere, address // arm64 has memory for generated code there
	}
	m := c.kernels[k]
	if m == nil {
		m = c.moduleOf(c.kernel.definition(k))
		c.kernels[k] = m
	}
	return m, address - m.definition.Base
}

// moduleOf is the module of a definition. The first definition of the same code stays.
func (c *code) moduleOf(definition *format.Module) *module {
	if m := c.byPointer[definition]; m != nil {
		return m
	}
	key := definition.Key()
	m := c.modules[key]
	if m == nil {
		m = &module{definition: definition, wanted: c.namer != nil && canHaveNames(definition)}
		c.modules[key] = m
	}
	if len(c.byPointer) >= maxModules {
		clear(c.byPointer)
	}
	c.byPointer[definition] = m
	return m
}

// frame is the index of a frame in this section.
func (c *code) frame(m *module, offset uint64, caller bool) uint32 {
	frames := &m.frames[side(caller)]
	if i, ok := (*frames)[offset]; ok {
		return i
	}
	if m.frames[0] == nil && m.frames[1] == nil {
		c.used = append(c.used, m)
	}
	if *frames == nil {
		*frames = make(map[uint64]uint32)
	}
	i := uint32(len(c.frames))
	c.frames = append(c.frames, frame{module: m, offset: offset, caller: caller})
	(*frames)[offset] = i
	c.bytes += frameCost
	c.name(&c.frames[i])
	return i
}

// name gives a frame its name, or, in a live stream, requests it.
func (c *code) name(f *frame) {
	m := f.module
	if m.loaded {
		f.function, f.start = c.programs.function(m, f)
	}
	if !m.wanted {
		return
	}
	at := symbol.Address{Offset: f.offset, Caller: f.caller}
	f.line = m.lines[at]
	ref, noted := m.names[side(f.caller)][f.offset]
	switch {
	case noted && ref.name != pendingName:
		f.function, f.start = c.names.strings[ref.name], uint64(ref.start)
	case c.queue != nil:
		if !noted && !c.names.full() && c.queue.add(nameRequest{m, at}) {
			c.names.note(m, at)
		}
	default:
		c.one[0] = symbol.Name{}
		if err := c.namer.Names(m.definition, []symbol.Address{at}, c.one[:]); err != nil && m.count.err == nil {
			m.count.err = err
		}
		f.take(&c.one[0])
	}
}

func (f *frame) take(name *symbol.Name) {
	if name.OK {
		f.function, f.start = name.Function, name.Offset
	}
}

// applyNames takes the names that were looked up meanwhile: their frames get new ids when they are used next, and so do the
// stacks that hold them.
func (c *code) applyNames() {
	if c.queue == nil {
		return
	}
	results := c.queue.take()
	if len(results) == 0 {
		return
	}
	c.round++
	for i := range results {
		r := &results[i]
		if r.err != nil && r.module.count.err == nil {
			r.module.count.err = r.err
		}
		names := r.module.names[side(r.at.Caller)]
		if _, ok := names[r.at.Offset]; !ok {
			continue // the names were dropped since
		}
		c.names.set(r.module, r.at, &r.name)
		index, ok := r.module.frames[side(r.at.Caller)][r.at.Offset]
		if f := c.frameAt(index); ok && f != nil && f.module == r.module && f.function == "" && r.name.OK {
			f.take(&r.name)
			f.id, f.named = 0, c.round
		}
	}
}

func (c *code) frameAt(i uint32) *frame {
	if int(i) < len(c.frames) {
		return &c.frames[i]
	}
	return nil
}

// renamed reports whether a frame of a stack has got its name since the stack was defined.
func (c *code) renamed(key stackKey, s *stack) bool {
	for _, p := range [...]*part{key.user, key.kernel} {
		if p == nil {
			continue
		}
		for _, i := range p.frames {
			f := &c.frames[i]
			if f.named > s.round || f.loop != 0 && c.frames[f.loop-1].named > s.round {
				return true
			}
		}
	}
	return false
}
