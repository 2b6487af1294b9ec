package assemble

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// code turns addresses into the frames and stacks of the stream. Ids are a section's, and so is what is remembered of
// frames and stacks.
type code struct {
	out      *stream
	maps     *sideband.Tables // as of the time that the records have reached
	defs     *stackTable
	load     func() kernelCode
	kernel   *kernelCode // nil: not looked for yet
	programs programs

	symbolize Symbolize
	namer     Namer
	queue     *nameQueue // of a live stream
	names     *nameTable
	modules   map[spool.ModuleKey]*module
	byPointer map[*format.Module]*module
	nowhere   module // of addresses that are in nothing
	kernels   map[*kernelModule]*module

	section uint32 // the one that the following are of
	frames  []frame
	frameID uint32
	parts   map[string]*part
	stacks  map[stackKey]*stack
	stackID uint32
	module  uint32 // id of the last module
	used    []*module
	bytes   int
	round   uint32 // counts the results that were taken from queue
	weight  uint64 // of a use of a stack in the summary

	addresses []uint64
	key       []byte
	one       [1]symbol.Name
	m         format.Module
	f         format.Frame
	line      format.Line
	s         format.Stack

	summary codeSummary
}

// part is the frames of a stack that stand in user space, or in the kernel.
type part struct {
	frames []uint32 // indices in code.frames, outermost first
	kernel bool
	cut    bool
}

type stackKey struct{ user, kernel *part }

// stack is a stack of the stream in this section.
type stack struct {
	id    uint32
	round uint32 // code.round when it was defined
	uses  uint64 // since then
}

const (
	// maxCode bounds what a section remembers of frames and stacks; then an epoch begins.
	maxCode   = 40 << 20
	frameCost = 160
	stackCost = 200
	partCost  = 160
)

func newCode(out *stream, maps *sideband.Tables, load func() kernelCode, o *Options) *code {
	c := &code{
		out: out, maps: maps, defs: newStackTable(), load: load, namer: o.Names, symbolize: o.Symbolize,
		names: newNameTable(), modules: make(map[spool.ModuleKey]*module), kernels: make(map[*kernelModule]*module),
		byPointer: make(map[*format.Module]*module),
	}
	c.forget()
	return c
}

// forget begins a section: nothing is defined in it yet.
func (c *code) forget() {
	c.section = c.out.section
	c.frames = c.frames[:0]
	c.frameID, c.stackID, c.module, c.bytes = 0, 0, 0, 0
	c.parts, c.stacks = make(map[string]*part), make(map[stackKey]*stack)
	for _, m := range c.used {
		m.frames = [2]map[uint64]uint32{}
	}
	c.used = c.used[:0]
	if len(c.modules) > maxModules || c.queue != nil && c.names.full() {
		c.retire()
		c.names.forget(c.modules)
		clear(c.modules)
		clear(c.kernels)
		clear(c.byPointer)
	}
}

// sampled is the id of a sample's stack. The summary counts those alone: most threads that wait do so in the same few
// functions.
func (c *code) sampled(user, kernel uint64, at int64) format.StackID {
	c.weight = 1
	id := c.stack(user, kernel, at)
	c.weight = 0
	return id
}

// stack is the id of an event's stack, which it defines if the section does not know it yet; 0: there is none, or a
// part of it was lost.
func (c *code) stack(user, kernel uint64, at int64) format.StackID {
	u, ok := c.find(user, at)
	k, ok2 := c.find(kernel, at)
	if !ok || !ok2 {
		c.summary.lost++
		return 0
	}
	return c.stackOf(u, k)
}

// find is what an id stands for; nil: there is no stack. It is false if its definition is not there.
func (c *code) find(id uint64, at int64) (*stackDef, bool) {
	if id == 0 {
		return nil, true
	}
	t := c.defs.find(id, at)
	return t, t != nil
}

// stackOf is the id of a stack of two parts, of which either may be nil.
func (c *code) stackOf(user, kernel *stackDef) format.StackID {
	if user == nil && kernel == nil {
		return 0
	}
	if c.section != c.out.section {
		c.tally()
		c.forget()
	}
	u, k := c.part(user), c.part(kernel)
	if u == nil && k == nil {
		return 0
	}
	key := stackKey{u, k}
	s := c.stacks[key]
	if s == nil {
		s = new(stack)
		c.stacks[key] = s
		c.bytes += stackCost
	}
	if s.id == 0 || s.round != c.round && c.renamed(key, s) {
		c.tallyStack(key, s)
		c.define(key, s)
	}
	s.round = c.round
	s.uses += c.weight
	return format.StackID(s.id)
}

// part is one side of a stack; nil: it has none.
func (c *code) part(t *stackDef) *part {
	if t == nil {
		return nil
	}
	version := c.programs.version
	if t.pid != 0 {
		version = c.maps.Version(t.pid)
	}
	if t.part == nil || t.section != c.section || t.version != version {
		t.part, t.section, t.version = c.resolve(t), c.section, version
	}
	return t.part
}

// resolve finds the frames of a stack with the mappings of now.
func (c *code) resolve(t *stackDef) *part {
	c.addresses = t.addresses(c.addresses[:0])
	inner := 0
	if t.tracer {
		inner = c.tracerFrames(c.addresses)
	}
	if len(c.addresses) == inner {
		return nil
	}
	c.key = c.key[:0]
	for i := len(c.addresses) - 1; i >= inner; i-- {
		caller := i > 0 || t.called
		m, offset := c.locate(t.pid, c.addresses[i], caller)
		c.key = binary.LittleEndian.AppendUint32(c.key, c.frame(m, offset, caller))
	}
	flags := byte(0)
	if t.pid == 0 {
		flags |= 1
	}
	if t.cut {
		flags |= 2
	}
	c.key = append(c.key, flags)
	if p := c.parts[string(c.key)]; p != nil {
		return p
	}
	p := &part{frames: make([]uint32, len(c.addresses)-inner), kernel: t.pid == 0, cut: t.cut}
	for i := range p.frames {
		p.frames[i] = binary.LittleEndian.Uint32(c.key[4*i:])
	}
	c.parts[string(c.key)] = p
	c.bytes += partCost + 8*len(p.frames)
	return p
}

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

// listen begins to look names up beside a live stream, and returns what ends that.
func (c *code) listen() func() {
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

// loadKernel takes what the spool has copied of the kernel.
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
	key := spool.KeyOf(definition)
	m := c.modules[key]
	if m == nil {
		m = &module{definition: definition, wanted: c.namer != nil && c.symbolize.wants(definition)}
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

// applyNames takes the names that have come meanwhile: their frames get new ids when they are used next, and so do the
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
		a := &results[i]
		if a.err != nil && a.module.count.err == nil {
			a.module.count.err = a.err
		}
		names := a.module.names[side(a.at.Caller)]
		if _, ok := names[a.at.Offset]; !ok {
			continue // the names were forgotten since
		}
		c.names.set(a.module, a.at, &a.name)
		index, ok := a.module.frames[side(a.at.Caller)][a.at.Offset]
		if f := c.frameAt(index); ok && f != nil && f.module == a.module && f.function == "" && a.name.OK {
			f.take(&a.name)
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
			if c.frames[i].named > s.round {
				return true
			}
		}
	}
	return false
}

// define writes the definition of a stack under a new id, and before it those of its frames.
func (c *code) define(key stackKey, s *stack) {
	d := &c.s
	d.Frames, d.KernelFrames, d.Cut = d.Frames[:0], 0, false
	for _, p := range [...]*part{key.user, key.kernel} {
		if p == nil {
			continue
		}
		for _, i := range p.frames {
			d.Frames = append(d.Frames, c.defineFrame(&c.frames[i]))
		}
		d.Cut = d.Cut || p.cut
		if p.kernel {
			d.KernelFrames = uint32(len(p.frames))
		}
	}
	c.stackID++
	d.Id, s.id = c.stackID, c.stackID
	_ = c.out.w.DefineStack(d) // an error stays with the Writer, and the event's Write returns it
	if c.bytes > maxCode {
		c.out.wantEpoch()
	}
	c.out.defined()
}

func (c *code) defineFrame(f *frame) uint32 {
	if f.id != 0 {
		return f.id
	}
	d := &c.f
	c.frameID++
	f.id = c.frameID
	d.Id, d.Module, d.Offset, d.Caller = f.id, c.defineModule(f.module), f.offset, f.caller
	d.FunctionOffset, d.Lines = 0, d.Lines[:0]
	if f.function != "" {
		c.line.Function = []byte(f.function)
		d.FunctionOffset, d.Lines = f.start, append(d.Lines, &c.line)
	}
	_ = c.out.w.DefineFrame(d)
	return f.id
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
