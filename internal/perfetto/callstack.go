package perfetto

import (
	"wprof/format"
	"wprof/internal/stacks"
)

// Fields of InternedData.
const (
	internFunctions  = 5
	internFrames     = 6
	internCallstacks = 7
	internBuildIDs   = 16
	internPaths      = 17
	internMappings   = 19
)

// interned is what a sequence was told since its last reset, by the ids of the stream and by names. It grows with the
// definitions of one section.
type interned struct {
	stacks    map[format.StackID]uint64 // 0: one whose definition is missing
	notes     map[string]uint64         // frames that are no place in the code
	frames    map[uint32]frames
	modules   map[uint32]uint64
	functions map[string]uint64
	frameIDs  uint64 // given so far
	weight    int    // bytes of memory that all of it takes, about
}

// What a map's entry takes in memory besides its text, and how much all sequences of samples may take. A sequence that takes
// its share is reset.
const (
	perEntry  = 64
	maxWeight = 32 << 20
)

// frames are the Perfetto frames of one place in the code: the function there is the first one, and what is inlined
// into it follows.
type frames struct{ first, count uint64 }

func newInterned() interned {
	return interned{
		stacks: make(map[format.StackID]uint64), notes: make(map[string]uint64), frames: make(map[uint32]frames),
		modules: make(map[uint32]uint64), functions: make(map[string]uint64),
	}
}

// internStack appends a stack and all of it that Perfetto has not been told.
func (e *Encoder) internStack(out []byte, told *interned, id format.StackID, stack *format.Stack) []byte {
	chain := e.samples.callstack[:0]
	if stack == nil {
		var lost uint64
		out, lost = e.internNote(out, told, stacks.LostFrame)
		chain = append(chain, lost)
	} else {
		out, chain = e.internFrames(out, told, stack, chain)
	}
	e.samples.callstack = chain
	number := uint64(len(told.stacks)) + 1
	told.stacks[id] = number
	told.weight += perEntry
	out, body := begin(out, internCallstacks)
	out = appendUint(out, 1, number)
	for _, frame := range chain {
		out = appendUint(out, 2, frame)
	}
	end(out, body)
	return out
}

// internFrames appends the frames of a stack, outermost first.
func (e *Encoder) internFrames(out []byte, told *interned, stack *format.Stack, chain []uint64) ([]byte, []uint64) {
	ids := stack.Frames
	cut := stack.Cut
	if len(ids) > stacks.MaxFrames {
		ids, cut = ids[len(ids)-stacks.MaxFrames:], true
	}
	if cut {
		var note uint64
		out, note = e.internNote(out, told, stacks.CutFrame)
		chain = append(chain, note)
	}
	for _, id := range ids {
		var known frames
		out, known = e.internFrame(out, told, id)
		for i := range known.count {
			chain = append(chain, known.first+i)
		}
	}
	return out, chain
}

// internFrame appends a place in the code with what is inlined there.
func (e *Encoder) internFrame(out []byte, told *interned, id uint32) ([]byte, frames) {
	if known, found := told.frames[id]; found {
		return out, known
	}
	f := e.defs.Frame(id)
	if f == nil {
		out, note := e.internNote(out, told, stacks.LostFrame)
		return out, frames{note, 1}
	}
	out, mapping := e.internModule(out, told, f.Module)
	lines := f.Lines[:min(len(f.Lines), stacks.MaxInlined)]
	if len(lines) == 0 {
		lines = []*format.Line{{}}
	}
	known := frames{told.frameIDs + 1, uint64(len(lines))}
	told.frames[id] = known
	told.weight += perEntry
	for i := len(lines) - 1; i >= 0; i-- {
		name := lines[i].GetFunction()
		if len(name) == 0 {
			name = []byte(stacks.ModuleName(e.defs.Module(f.Module)))
		}
		out = told.appendFrame(out, name, mapping, f.Offset)
	}
	return out, known
}

// internNote appends a frame that is no place in the code.
func (e *Encoder) internNote(out []byte, told *interned, name string) ([]byte, uint64) {
	if known, found := told.notes[name]; found {
		return out, known
	}
	out, mapping := e.internModule(out, told, 0)
	out = told.appendFrame(out, []byte(name), mapping, 0)
	told.notes[name] = told.frameIDs
	return out, told.frameIDs
}

func (t *interned) appendFrame(out, function []byte, mapping, offset uint64) []byte {
	name, known := t.functions[string(function)]
	if !known {
		name = uint64(len(t.functions)) + 1
		t.functions[string(function)] = name
		t.weight += perEntry + len(function)
		out = appendInterned(out, internFunctions, name, stacks.Clipped(stacks.Printable(function, stacks.Unnamed)))
	}
	t.frameIDs++
	out, body := beginShort(out, internFrames)
	out = appendUint(out, 1, t.frameIDs)
	out = appendUint(out, 2, name)
	out = appendUint(out, 3, mapping)
	out = appendUint(out, 4, offset)
	endShort(out, body)
	return out
}

// internModule appends a module as a mapping. The interface leaves frames without one out, so what is in no known
// module has one of its own.
func (e *Encoder) internModule(out []byte, told *interned, id uint32) ([]byte, uint64) {
	m := e.defs.Module(id)
	if m == nil {
		m, id = &format.Module{Path: []byte(stacks.ModuleName(nil))}, 0
	}
	if known, found := told.modules[id]; found {
		return out, known
	}
	number := uint64(len(told.modules)) + 1
	told.modules[id] = number
	told.weight += perEntry
	out = appendInterned(out, internPaths, number, stacks.Clipped(stacks.Printable(m.Path, stacks.Unnamed)))
	if len(m.BuildId) > 0 {
		out = appendInterned(out, internBuildIDs, number, m.BuildId[:min(len(m.BuildId), 64)])
	}
	out, body := beginShort(out, internMappings)
	out = appendUint(out, 1, number)
	if len(m.BuildId) > 0 {
		out = appendUint(out, 2, number)
	}
	out = appendUint(out, 7, number)
	endShort(out, body)
	return out, number
}

func appendInterned(out []byte, field, id uint64, text []byte) []byte {
	out, body := begin(out, field)
	out = appendUint(out, 1, id)
	out = appendString(out, 2, text)
	end(out, body)
	return out
}
