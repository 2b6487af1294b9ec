package chrome

import (
	"slices"
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/stacks"
)

// Stacks stand in a table at the end of the trace: the tree of callers, of which an event names a node. It is kept until
// then. Where it has grown to its bounds, an event tells its stack itself.
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

// stackText is what events write of a stack.
type stackText struct {
	blocked   string // the name of a slice of a thread that is blocked with it, as a JSON string; "": no function is known
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

// stackOf is what is written of a stack.
func (c *conversion) stackOf(id format.StackID) *stackText {
	if id == 0 || c.options.NoStacks {
		return &c.noStack
	}
	if text, found := c.stackTexts.Get(id); found {
		return text
	}
	text := c.describe(c.stacks.Get(c.stacks.ID(id)))
	c.stackTexts.Put(id, text)
	return text
}

func (c *conversion) describe(s *records.Stack) *stackText {
	if s == nil || len(s.Frames) == 0 {
		return &c.noStack
	}
	text := &stackText{innermost: quoted(name(&s.Frames[len(s.Frames)-1]))}
	if in := blockedIn(s.Frames); in != "" {
		text.blocked = quoted(stacks.BlockedName(in, 0))
	}
	if leaf, fits := c.tree.add(s); fits {
		text.end = `},"sf":` + strconv.FormatUint(uint64(leaf), 10)
	} else {
		text.end = inline(s)
	}
	return text
}

func quoted(s string) string { return string(records.AppendString(nil, s)) }

// name is what a frame is called: by its function, or else by what it is in.
func name(f *records.Frame) string {
	if f.Function != "" {
		return f.Function
	}
	return stacks.ModuleName(&format.Module{Path: []byte(f.Module)})
}

// blockedIn is the function that tells best what a thread waits for; "": there is none.
func blockedIn(frames []records.Frame) string {
	names := make([]string, len(frames))
	for i := range frames {
		names[i] = name(&frames[i])
	}
	user := slices.IndexFunc(frames, func(f records.Frame) bool { return f.Place == records.Kernel })
	if user < 0 {
		user = len(frames)
	}
	return stacks.BlockedIn(names[:user], names[user:])
}

// inline is a stack that stands in its event, innermost function first, as tools show stacks.
func inline(s *records.Stack) string {
	b := []byte(`,"stack":[`)
	for i := len(s.Frames) - 1; i >= 0; i-- {
		b = append(records.AppendString(b, name(&s.Frames[i])), ',')
	}
	return string(append(b[:len(b)-1], "]}"...))
}

// add enters a stack and returns its innermost node; false if there is no room for it.
func (t *tree) add(s *records.Stack) (leaf uint32, fits bool) {
	if s.Cut {
		if leaf, fits = t.under(0, stacks.CutFrame, ""); !fits {
			return 0, false
		}
	}
	for i := range s.Frames {
		f := &s.Frames[i]
		if leaf, fits = t.under(leaf, name(f), f.Module); !fits {
			return 0, false
		}
	}
	return leaf, true
}

// under is the node of a function that is called from another node.
func (t *tree) under(caller uint32, name, module string) (id uint32, fits bool) {
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
