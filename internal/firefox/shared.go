package firefox

import (
	"hash/maphash"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/records"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// shared holds the tables that all threads share. It keeps the indices of recently used rows; a row whose index was dropped and is
// needed again is added again, which only makes the profile larger.
type shared struct {
	p *profile

	strings, libs, sources, funcs, frames, nodes table

	stringIndex *bounded.Map[[2]uint64, int32] // by two hashes
	libIndex    *bounded.Map[libKey, int32]
	sourceIndex *bounded.Map[int32, int32] // by the string with the file's name
	funcIndex   *bounded.Map[funcKey, int32]
	frameIndex  *bounded.Map[frameKey, int32]
	nodeIndex   *bounded.Map[nodeKey, int32]
	seeds       [2]maphash.Seed

	labels map[string]int32 // frames that are no functions
	states map[format.State]int32
}

// Bounds of the indices that are kept for each table.
const (
	knownStrings = 1 << 17
	knownLibs    = 1 << 12
	knownFuncs   = 1 << 17
	knownFrames  = 1 << 17
	knownNodes   = 1 << 18
)

const none = -1

type libKey struct{ path, buildID int32 }

type funcKey struct{ name, lib, source int32 }

type frameKey struct {
	fn, line    int32
	address     int64
	depth       uint8
	category    category
	subcategory uint8
}

// nodeKey is a frame that is called from a node of the tree of stacks.
type nodeKey struct{ caller, frame int32 }

func newShared(p *profile) shared {
	return shared{
		p: p, strings: p.table(), libs: p.table(), sources: p.table(), funcs: p.table(), frames: p.table(), nodes: p.table(),
		stringIndex: bounded.NewMap[[2]uint64, int32](knownStrings), libIndex: bounded.NewMap[libKey, int32](knownLibs),
		sourceIndex: bounded.NewMap[int32, int32](knownFuncs), funcIndex: bounded.NewMap[funcKey, int32](knownFuncs),
		frameIndex: bounded.NewMap[frameKey, int32](knownFrames), nodeIndex: bounded.NewMap[nodeKey, int32](knownNodes),
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		labels: make(map[string]int32), states: make(map[format.State]int32),
	}
}

// string returns the index of a valid string.
func (s *shared) string(text string) int32 {
	key := [2]uint64{maphash.String(s.seeds[0], text), maphash.String(s.seeds[1], text)}
	i, known := s.stringIndex.Get(key)
	if !known {
		s.strings.addText(s.p, records.AppendString(nil, text))
		i = int32(s.strings.rows - 1)
		s.stringIndex.Put(key, i)
	}
	return i
}

// clean returns the index of a text of any bytes.
func (s *shared) clean(raw []byte) int32 { return s.string(s.p.texts.Clip(raw)) }

// lib returns the index of a module.
func (s *shared) lib(m *format.Module) int32 {
	if m == nil || len(m.Path) == 0 {
		return none
	}
	id := m.BuildId[:min(len(m.BuildId), maxBuildID)]
	key := libKey{s.clean(m.Path), s.string(hexOf(id))}
	i, known := s.libIndex.Get(key)
	if !known {
		name := s.p.texts.Clean([]byte(stacks.ModuleName(m)))
		if name[0] == '[' && m.Path[0] != '[' {
			name = name[1 : len(name)-1]
		}
		s.libs.addText(s.p, appendLib(nil, name, s.p.texts.Clip(m.Path), s.p.machine.arch, id), int64(s.string(name)))
		i = int32(s.libs.rows - 1)
		s.libIndex.Put(key, i)
	}
	return i
}

func (s *shared) source(file []byte) int32 {
	if len(file) == 0 {
		return none
	}
	name := s.clean(file)
	i, known := s.sourceIndex.Get(name)
	if !known {
		i = s.sources.add(s.p, int64(name))
		s.sourceIndex.Put(name, i)
	}
	return i
}

func (s *shared) function(k funcKey) int32 {
	i, known := s.funcIndex.Get(k)
	if !known {
		i = s.funcs.add(s.p, int64(k.name), int64(k.lib), int64(k.source))
		s.funcIndex.Put(k, i)
	}
	return i
}

func (s *shared) frame(k frameKey) int32 {
	i, known := s.frameIndex.Get(k)
	if !known {
		i = s.frames.add(s.p, k.address, int64(k.depth), int64(k.category), int64(k.subcategory), int64(k.fn), int64(k.line))
		s.frameIndex.Put(k, i)
	}
	return i
}

// child returns the node of a frame that is called from another node, or from none.
func (s *shared) child(caller, frame int32) int32 {
	k := nodeKey{caller, frame}
	i, known := s.nodeIndex.Get(k)
	if !known {
		i = s.nodes.add(s.p, int64(frame), int64(caller))
		s.nodeIndex.Put(k, i)
	}
	return i
}

// label returns the node of a frame that is no function, below a stack or none. Frames with the same name have the same category.
func (s *shared) label(caller int32, name string, c category, subcategory uint8) int32 {
	frame, known := s.labels[name]
	if !known {
		fn := s.function(funcKey{s.string("[" + name + "]"), none, none})
		frame = s.frame(frameKey{fn: fn, line: none, address: none, category: c, subcategory: subcategory})
		s.labels[name] = frame
	}
	return s.child(caller, frame)
}

// state returns the string of a state.
func (s *shared) state(of format.State) int32 {
	i, known := s.states[of]
	if !known {
		i = s.string(of.String())
		if len(s.states) < 1<<12 { // all that are; a hostile stream may have more
			s.states[of] = i
		}
	}
	return i
}

// known is a stack of the stream in the tables.
type known struct {
	node      int32 // of its innermost frame; none: it has no frames
	blockedIn int32 // string; none: there is no function
}

// stack adds a stack, which may be nil, to the tables.
func (s *shared) stack(of *tracks.Stack) *known {
	if of == nil {
		return &known{none, none}
	}
	if k, ok := of.Own.(*known); ok {
		return k
	}
	k := &known{none, none}
	of.Own = k
	if of.Def == nil {
		k.node = s.label(none, "lost", categoryOther, 0)
		return k
	}
	if of.Cut {
		k.node = s.label(none, "cut", categoryOther, 0)
	}
	for i, f := range of.Frames {
		c := categoryUser
		switch {
		case i >= len(of.Frames)-of.Kernel:
			c = categoryKernel
		case f.Module.IsAwaiting():
			c = categoryAwaiting
		case f.IsPython():
			c = categoryPython
		case f.IsRuby():
			c = categoryRuby
		}
		for _, one := range s.framesOf(f, c) {
			k.node = s.child(k.node, one)
		}
	}
	if in := of.BlockedIn(); in != "" {
		k.blockedIn = s.string(in)
	}
	return k
}

// place is a frame of the stream in the tables: the function and those inlined into it, innermost last.
type place struct {
	category category
	frames   []int32
}

func (s *shared) framesOf(f *tracks.Frame, c category) []int32 {
	if known, ok := f.Own.(*place); ok && known.category == c {
		return known.frames
	}
	at := &place{category: c}
	f.Own = at
	lib, address := s.lib(f.Module), addressOf(f)
	names := f.Functions()
	for depth, name := range names {
		k := frameKey{line: none, address: address, depth: uint8(depth), category: c}
		fn := funcKey{s.string(name), lib, none}
		if f.Def != nil && len(f.Def.Lines) >= len(names) { // innermost first
			line := f.Def.Lines[len(names)-1-depth]
			fn.source = s.source(line.File)
			if line.Line != 0 && line.Line < 1<<31 {
				k.line = int32(line.Line)
			}
		}
		k.fn = s.function(fn)
		at.frames = append(at.frames, s.frame(k))
	}
	return at.frames
}

// addressOf returns a frame's offset in its module as the format requires it: within the instruction of a call, and below 4 GiB.
func addressOf(f *tracks.Frame) int64 {
	if f.Def == nil || f.Module == nil {
		return none
	}
	switch format.ModuleKind(f.Module.Kind) {
	case format.ModuleKind_MODULE_FILE, format.ModuleKind_MODULE_KERNEL, format.ModuleKind_MODULE_KERNEL_MODULE, format.ModuleKind_MODULE_VDSO:
	default:
		return none
	}
	address := f.Def.Offset
	if f.Def.Caller && address > 0 {
		address--
	}
	if address >= 1<<32 {
		return none
	}
	return int64(address)
}
