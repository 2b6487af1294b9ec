package chrome

import (
	"slices"
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/stacks"
	"wprof/internal/symbol"
	"wprof/internal/tracks"
)

// Stacks are in a table at the end of the trace, a tree of callers; an event refers to a node. The table is kept in memory until
// then. Once it has reached its bounds, events contain their whole stacks.
const (
	maxNodes    = 1 << 18
	maxTreeText = 48 << 20 // bytes
)

type tree struct {
	nodes map[node]uint32
	names map[string]uint32
	text  []byte // the table
	last  uint32
}

type node struct{ caller, name uint32 }

func newTree() tree { return tree{nodes: make(map[node]uint32), names: make(map[string]uint32)} }

// stackText holds the texts that events write for a stack.
type stackText struct {
	innermost string // its innermost function, as a JSON string; "": it has none
	end       string // what ends the arguments and names the stack
}

// endArgs ends the arguments of an event that has the stack.
func (s *stackText) endArgs(b []byte) []byte {
	if s.end == "" {
		return append(b, '}')
	}
	return append(b, s.end...)
}

// stackOf returns the texts of a stack, which may be nil.
func (c *conversion) stackOf(s *tracks.Stack) *stackText {
	if s == nil {
		return &c.noStack
	}
	text, known := s.Own.(*stackText)
	if !known {
		text = c.describe(s)
		s.Own = text
	}
	return text
}

func (c *conversion) describe(s *tracks.Stack) *stackText {
	var frames []function
	for _, f := range s.Frames {
		frames = append(frames, c.framesAt(f)...)
	}
	if len(frames) == 0 {
		return &c.noStack
	}
	text := &stackText{innermost: quoted(frames[len(frames)-1].name)}
	if leaf, fits := c.tree.add(frames, s.Cut); fits {
		text.end = `},"sf":` + strconv.FormatUint(uint64(leaf), 10)
	} else {
		text.end = inline(frames)
	}
	return text
}

// function is a function on a stack.
type function struct {
	name   string // of the function, or else of its module
	module string // path; "": not known
}

// framesAt returns the functions at one place in the code, outermost first.
func (c *conversion) framesAt(at *tracks.Frame) []function {
	if known, found := at.Own.([]function); found {
		return known
	}
	var module string
	if at.Module != nil {
		module = c.texts.Clip(at.Module.Path)
	}
	unnamed := stacks.ModuleName(&format.Module{Path: []byte(module)})
	var frames []function
	for _, l := range slices.Backward(at.Lines()) {
		f := function{unnamed, module}
		if name := l.GetFunction(); len(name) > 0 {
			f.name = c.texts.Clip([]byte(symbol.Demangle(string(name), symbol.DefaultForm)))
		}
		frames = append(frames, f)
	}
	at.Own = frames
	return frames
}

func names(frames []function) []string {
	all := make([]string, len(frames))
	for i, f := range frames {
		all[i] = f.name
	}
	return all
}

func quoted(s string) string { return string(records.AppendString(nil, s)) }

// inline returns a stack as text for its event, innermost function first, as tools show stacks.
func inline(frames []function) string {
	all := names(frames)
	slices.Reverse(all)
	return string(append(records.AppendStrings([]byte(`,"stack":`), all), "}"...))
}

// add enters a stack and returns its innermost node; false if there is no room for it.
func (t *tree) add(frames []function, cut bool) (leaf uint32, fits bool) {
	if cut {
		if leaf, fits = t.child(0, stacks.CutFrame, ""); !fits {
			return 0, false
		}
	}
	for _, f := range frames {
		if leaf, fits = t.child(leaf, f.name, f.module); !fits {
			return 0, false
		}
	}
	return leaf, true
}

// child returns the node of a function that is called from another node.
func (t *tree) child(caller uint32, name, module string) (id uint32, fits bool) {
	full := t.last >= maxNodes || len(t.text) >= maxTreeText
	key := name + "\x00" + module
	number, known := t.names[key]
	if !known {
		if full {
			return 0, false
		}
		number = uint32(len(t.names))
		t.names[key] = number
	}
	at := node{caller, number}
	if id, known = t.nodes[at]; known {
		return id, true
	}
	if full {
		return 0, false
	}
	t.last++
	t.nodes[at] = t.last
	t.write(caller, name, module)
	return t.last, true
}

// write appends the last node to the table.
func (t *tree) write(caller uint32, name, module string) {
	b := t.text
	if t.last > 1 {
		b = append(b, ",\n"...)
	}
	b = append(strconv.AppendUint(append(b, '"'), uint64(t.last), 10), `":{"name":`...)
	b = records.AppendString(b, name)
	if module != "" {
		b = records.AppendString(append(b, `,"category":`...), module)
	}
	if caller != 0 {
		b = strconv.AppendUint(append(b, `,"parent":"`...), uint64(caller), 10)
		b = append(b, '"')
	}
	t.text = append(b, '}')
}
