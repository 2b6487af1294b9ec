package perfetto

import (
	"slices"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// Fields of InternedData.
const (
	internFunctions  = 5
	internFrames     = 6
	internCallstacks = 7
	internBuildIDs   = 16
	internPaths      = 17
	internSources    = 18
	internMappings   = 19
)

// interned holds what a sequence has described since its last reset. It grows with the definitions of one section.
type interned struct {
	stacks    map[tracks.Key]uint64 // the zero value: all whose definitions are missing
	notes     map[string]uint64     // frames that are no place in the code
	frames    map[tracks.Key]frames
	modules   map[tracks.Key]uint64 // the zero value: what is in no known one
	functions map[string]uint64
	sources   map[string]uint64 // paths of source files
	frameIDs  uint64            // given so far
	memory    int               // bytes that all of it takes, about
	chain     []uint64          // frames of the current stack; reused
}

// The memory of a map entry besides its text, and the most that all sequences of samples may take. A sequence that reaches
// its share is reset.
const (
	perEntry  = 64
	maxMemory = 32 << 20
)

// frames are the Perfetto frames of one place in the code: the function there is the first one, and what is inlined
// into it follows.
type frames struct{ first, count uint64 }

func newInterned() interned {
	return interned{
		stacks: make(map[tracks.Key]uint64), notes: make(map[string]uint64), frames: make(map[tracks.Key]frames),
		modules: make(map[tracks.Key]uint64), functions: make(map[string]uint64), sources: make(map[string]uint64),
	}
}

// known is the number of a stack that was described.
func (t *interned) known(s *tracks.Stack) (number uint64, found bool) {
	number, found = t.stacks[stackKey(s)]
	return number, found
}

func stackKey(s *tracks.Stack) tracks.Key {
	if s.Def == nil {
		return tracks.Key{}
	}
	return s.Key
}

// internStack appends a stack, and those of its frames that were not described yet.
func (t *interned) internStack(out []byte, s *tracks.Stack) ([]byte, uint64) {
	chain := t.chain[:0]
	note := ""
	if s.Def == nil {
		note = stacks.LostFrame
	} else if s.Cut {
		note = stacks.CutFrame
	}
	if note != "" {
		var number uint64
		out, number = t.internNote(out, note)
		chain = append(chain, number)
	}
	for _, f := range s.Frames {
		var known frames
		out, known = t.internFrame(out, f)
		for i := range known.count {
			chain = append(chain, known.first+i)
		}
	}
	t.chain = chain
	number := uint64(len(t.stacks)) + 1
	t.stacks[stackKey(s)] = number
	t.memory += perEntry
	out, body := begin(out, internCallstacks)
	out = appendUint(out, 1, number)
	for _, frame := range chain {
		out = appendUint(out, 2, frame)
	}
	end(out, body)
	return out, number
}

// internFrame appends a place in the code with what is inlined there.
func (t *interned) internFrame(out []byte, f *tracks.Frame) ([]byte, frames) {
	if known, found := t.frames[f.Key]; found {
		return out, known
	}
	if f.Def == nil {
		out, note := t.internNote(out, stacks.LostFrame)
		return out, frames{note, 1}
	}
	out, mapping := t.internModule(out, tracks.Key{Section: f.Section, ID: f.Def.Module}, f.Module)
	lines := f.Lines()
	known := frames{t.frameIDs + 1, uint64(len(lines))}
	t.frames[f.Key] = known
	t.memory += perEntry
	for _, l := range slices.Backward(lines) {
		name := l.GetFunction()
		if len(name) == 0 {
			name = []byte(stacks.ModuleName(f.Module))
		}
		var source uint64
		out, source = t.internSource(out, l.GetFile())
		out = t.appendFrame(out, name, mapping, f.Def.Offset, source, l.GetLine())
	}
	return out, known
}

// internNote appends a frame that is no place in the code.
func (t *interned) internNote(out []byte, name string) ([]byte, uint64) {
	if known, found := t.notes[name]; found {
		return out, known
	}
	out, mapping := t.internModule(out, tracks.Key{}, nil)
	out = t.appendFrame(out, []byte(name), mapping, 0, 0, 0)
	t.notes[name] = t.frameIDs
	return out, t.frameIDs
}

// internSource appends the path of a source file; 0: it is not known.
func (t *interned) internSource(out, file []byte) ([]byte, uint64) {
	if len(file) == 0 {
		return out, 0
	}
	number, known := t.sources[string(file)]
	if !known {
		number = uint64(len(t.sources)) + 1
		t.sources[string(file)] = number
		t.memory += perEntry + len(file)
		out = appendInterned(out, internSources, number, stacks.Clipped(stacks.Printable(file, stacks.Unnamed)))
	}
	return out, number
}

func (t *interned) appendFrame(out, function []byte, mapping, offset, source uint64, line uint32) []byte {
	name, known := t.functions[string(function)]
	if !known {
		name = uint64(len(t.functions)) + 1
		t.functions[string(function)] = name
		t.memory += perEntry + len(function)
		out = appendInterned(out, internFunctions, name, stacks.Clipped(stacks.Printable(function, stacks.Unnamed)))
	}
	t.frameIDs++
	out, body := beginShort(out, internFrames)
	out = appendUint(out, 1, t.frameIDs)
	out = appendUint(out, 2, name)
	out = appendUint(out, 3, mapping)
	out = appendUint(out, 4, offset)
	if source != 0 {
		out = appendUint(out, 5, source)
	}
	if line != 0 {
		out = appendUint(out, 6, uint64(line))
	}
	endShort(out, body)
	return out
}

// internModule appends a module as a mapping. The interface leaves frames without one out, so what is in no known
// module has one of its own.
func (t *interned) internModule(out []byte, id tracks.Key, m *format.Module) ([]byte, uint64) {
	if m == nil {
		m, id = &format.Module{Path: []byte(stacks.ModuleName(nil))}, tracks.Key{}
	}
	if known, found := t.modules[id]; found {
		return out, known
	}
	number := uint64(len(t.modules)) + 1
	t.modules[id] = number
	t.memory += perEntry
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
