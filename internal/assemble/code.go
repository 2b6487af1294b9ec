package assemble

import (
	"encoding/binary"
	"slices"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/symbol"
)

// code converts addresses to the frames and stacks of the stream. Ids, and the tables of frames and stacks, are those of the
// current section.
type code struct {
	out      *stream
	maps     *sideband.Tables // as of the time that the records have reached
	defs     *stackTable
	python   *pythonTable
	load     func() kernelCode
	kernel   *kernelCode // nil: not loaded yet
	programs programs

	namer     Namer
	lines     LineFinder // nil: there are none
	queue     *nameQueue // of a live stream
	names     *nameTable
	modules   map[format.ModuleKey]*module
	byPointer map[*format.Module]*module
	nowhere   module // of addresses that are in nothing
	// interpreted are the modules of all frames of a language, unknown stand for code objects that were not read.
	interpreted  [languages]format.Module
	awaiting     format.Module // of those of Python that do not run
	unknown      [languages]pythonCode
	pythonFrames map[pythonPlace]uint32 // of this section, as indices in frames
	loops        map[*module]uint32     // of each module the frame that stands for all of the interpreter's loop, 1 + its index
	kernels      map[*symbol.KernelModule]*module

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
	indices   []uint32 // frames of a stack, innermost first
	key       []byte
	one       [1]symbol.Name
	m         format.Module
	f         format.Frame
	line      []*format.Line // used again for each frame
	s         format.Stack

	summary   codeSummary
	generated map[uint32]*GeneratedCode // by pid
}

// part is the frames of a stack that stand in user space, or in the kernel.
type part struct {
	frames []uint32 // indices in code.frames, outermost first
	kernel bool
	cut    bool
	end    format.StackEnd

	generated hasGenerated
}

type stackKey struct{ user, kernel *part }

// stack is a stack of the stream in this section.
type stack struct {
	id    uint32
	round uint32 // code.round when it was defined
	uses  uint64 // since then
}

const (
	// maxCode bounds the tables of frames and stacks; beyond it an epoch begins.
	maxCode   = 40 << 20
	frameCost = 160
	stackCost = 200
	partCost  = 160
	lineCost  = 64
	// maxLineBytes bounds the names and paths of a frame's lines. Without it one stack could fill a section.
	maxLineBytes = 32 << 10
)

func newCode(out *stream, maps *sideband.Tables, load func() kernelCode, o *Options) *code {
	c := &code{
		out: out, maps: maps, defs: newStackTable(), python: newPythonTable(), load: load, namer: o.Names, lines: o.Lines,
		names: newNameTable(), modules: make(map[format.ModuleKey]*module), kernels: make(map[*symbol.KernelModule]*module),
		byPointer: make(map[*format.Module]*module), generated: make(map[uint32]*GeneratedCode),
	}
	c.interpreted = [...]format.Module{
		ofPython: {Path: []byte("[python]"), Kind: uint32(format.ModuleKind_MODULE_PYTHON)},
		ofRuby:   {Path: []byte("[ruby]"), Kind: uint32(format.ModuleKind_MODULE_RUBY)},
	}
	c.awaiting = format.Module{Path: []byte("[python awaiting]"), Kind: uint32(format.ModuleKind_MODULE_PYTHON_AWAITING)}
	c.unknown = [...]pythonCode{ofPython: {function: unknownPython}, ofRuby: {function: unknownRuby, language: ofRuby}}
	c.beginSection()
	return c
}

// beginSection drops the definitions of the last section.
func (c *code) beginSection() {
	c.section = c.out.section
	c.frames = c.frames[:0]
	c.frameID, c.stackID, c.module, c.bytes = 0, 0, 0, 0
	c.pythonFrames, c.loops = make(map[pythonPlace]uint32), make(map[*module]uint32)
	c.parts, c.stacks = make(map[string]*part), make(map[stackKey]*stack)
	for _, m := range c.used {
		m.frames = [2]map[uint64]uint32{}
	}
	c.used = c.used[:0]
	if len(c.modules) > maxModules || c.queue != nil && c.names.full() {
		c.retire()
		c.names.clear(c.modules)
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

// stack is the id of an event's stack, which it defines if the section does not have it yet; 0: there is none, or a
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

// find returns the stack of an id; nil: there is none. It returns false if its definition is missing.
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
		c.beginSection()
	}
	u, k := c.part(user), c.part(kernel)
	if u == nil && k == nil {
		return 0
	}
	if u != nil && u.generated.any {
		c.countGenerated(user.pid, u.generated)
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

// resolve finds the frames of a stack with the current mappings.
func (c *code) resolve(t *stackDef) *part {
	c.addresses = t.addresses(c.addresses[:0])
	inner := 0
	if t.tracer {
		inner = c.tracerFrames(c.addresses)
	}
	c.indices = c.indices[:0]
	if len(t.python) > 0 {
		c.mergePython(t)
	} else {
		for i := inner; i < len(c.addresses); i++ {
			c.indices = append(c.indices, c.nativeFrame(t, i))
		}
	}
	if len(c.indices) == 0 {
		return nil
	}
	c.key = c.key[:0]
	for _, frame := range slices.Backward(c.indices) {
		c.key = binary.LittleEndian.AppendUint32(c.key, frame)
	}
	flags := byte(t.end) << 2
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
	p := &part{frames: make([]uint32, len(c.indices)), kernel: t.pid == 0, cut: t.cut, end: t.end}
	for i := range p.frames {
		p.frames[i] = binary.LittleEndian.Uint32(c.key[4*i:])
	}
	p.generated = c.generatedIn(p)
	c.parts[string(c.key)] = p
	c.bytes += partCost + 8*len(p.frames)
	return p
}

// nativeFrame is the index of the frame of c.addresses[i].
func (c *code) nativeFrame(t *stackDef, i int) uint32 {
	caller := i > 0 || t.called
	address, _ := cutMark(c.addresses[i])
	m, offset := c.locate(t.pid, address, caller)
	return c.frame(m, offset, caller)
}
