package profile

import (
	"encoding/hex"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// Frames that stand for missing stacks.
const (
	notSampled = "[not sampled]" // on-CPU time without a sample
	noStack    = "[no stack]"    // no stack was taken, or it is empty
	MoreStacks = "[more stacks]" // stacks beyond the limit
)

// interner interns frames and stacks: within a section by id, across sections by content.
type interner struct {
	r            *format.Reader
	p            *Profile
	exact        bool // Options.Addresses
	inline       bool // Options.Inline, or exact
	lines        bool // Options.Lines, or exact
	kernelFrames bool // Options.KernelFrames
	python       stacks.PythonView
	ids          []uint32 // reused for each stack
	frames       map[string]FrameID
	nodes        map[nodeKey]NodeID
	names        map[string]string // one copy of each
	bytes        int               // of names and keys
	closed       bool              // no new stacks are added
	key          []byte
	walk         []stackFrame        // reused for each stack
	byFrame      byid.Table[FrameID] // of the current section
	byStack      byid.Table[resolved]
	byWait       byid.Table[resolved] // of off-CPU intervals
	byWaker      byid.Table[resolved] // of their wakers

	notSampled, noStack, more NodeID
}

type nodeKey struct {
	parent NodeID
	frame  FrameID
}

// resolved is a stack of the current section.
type resolved struct {
	node         NodeID
	known        bool
	hasUser, cut bool // it has a user part, and that looks cut
	interrupt    bool // of a waker's and a sample's: it is the stack of an interrupt
}

func newInterner(r *format.Reader, p *Profile, o *Options) *interner {
	s := &interner{r: r, p: p, exact: o.Addresses, inline: o.Addresses || o.Inline, lines: o.Addresses || o.Lines, kernelFrames: o.KernelFrames, python: o.Python}
	s.reset()
	return s
}

// reset drops everything.
func (s *interner) reset() {
	p := s.p
	s.frames, s.nodes, s.names, s.bytes = make(map[string]FrameID), make(map[nodeKey]NodeID), make(map[string]string), 0
	s.newSection()
	p.Frames, p.Nodes = make([]Frame, 1), make([]Node, 1)
	s.notSampled = s.child(0, s.note(notSampled))
	p.NotSampled = s.notSampled
	s.noStack = s.child(0, s.note(noStack))
	s.more = s.child(0, s.note(MoreStacks))
}

func (s *interner) newSection() {
	s.byFrame.Clear()
	s.byStack.Clear()
	s.byWait.Clear()
	s.byWaker.Clear()
}

// purpose is why a stack was taken.
type purpose uint8

const (
	ofSample purpose = iota
	ofWait           // an off-CPU interval
	ofWaker          // the wakeup that ended one
)

// stack returns the node of a sample's stack.
func (s *interner) stack(id format.StackID) resolved { return s.lookup(&s.byStack, id, ofSample) }

// wait returns the node of the stack of an off-CPU interval, without the scheduler's functions at its end: the kernel
// leaves these out for a thread that is still off-CPU when the window closes (stack_trace_save_tsk), and the same
// stack would have two nodes.
func (s *interner) wait(id format.StackID) resolved { return s.lookup(&s.byWait, id, ofWait) }

// waker returns the node of a waker's stack. If an interrupt was the waker, it is the interrupt's part alone, without the
// interrupted thread's.
func (s *interner) waker(id format.StackID) resolved { return s.lookup(&s.byWaker, id, ofWaker) }

func (s *interner) lookup(in *byid.Table[resolved], id format.StackID, of purpose) resolved {
	if id == 0 {
		return resolved{node: s.noStack}
	}
	if known := in.Get(uint32(id)); known.known {
		return known
	}
	to := s.resolve(s.r.Stack(id), of)
	in.Put(uint32(id), to)
	return to
}

// stackFrame is a frame of a stack with its definitions.
type stackFrame struct {
	id     uint32        // in the current section; 0: it is from an earlier one
	def    *format.Frame // nil: it was lost
	module *format.Module
}

// function returns the function that the code belongs to, not one inlined into it; nil: its name is unknown.
func (p *stackFrame) function() []byte {
	if p.def == nil || len(p.def.Lines) == 0 {
		return nil
	}
	return p.def.Lines[len(p.def.Lines)-1].Function
}

// framesOf returns the frames of a stack, valid until the next call, and the number of those of the program.
func (s *interner) framesOf(stack *format.Stack) (all []stackFrame, user int) {
	s.walk = s.walk[:0]
	ids, kernel := s.python.Frames(s.ids, stack, s.r)
	if s.python != stacks.PythonCombined {
		s.ids = ids
	}
	for _, id := range ids {
		p := stackFrame{id: id, def: s.r.Frame(id)}
		if p.def != nil {
			p.module = s.r.Module(p.def.Module)
		}
		s.walk = append(s.walk, p)
	}
	return s.walk, len(s.walk) - kernel
}

// interruptAt returns the index where an interrupt begins in a stack; its length if none does.
func interruptAt(all []stackFrame, kernel int) int {
	for i := kernel; i < len(all); i++ {
		if stacks.IsInterrupt(string(all[i].function())) {
			return i
		}
	}
	return len(all)
}

// withoutScheduler returns the number of frames without the scheduler's at the end.
func withoutScheduler(all []stackFrame, kernel int) int {
	for n := len(all); n > kernel; n-- {
		def := all[n-1].def
		if def == nil || len(def.Lines) == 0 {
			return n
		}
		for _, line := range def.Lines {
			if name := string(line.GetFunction()); !stacks.IsScheduler(name) {
				return n
			}
		}
	}
	return kernel
}

func (s *interner) resolve(stack *format.Stack, of purpose) resolved {
	if stack == nil {
		return resolved{node: s.child(0, s.note(stacks.LostFrame)), known: true}
	}
	all, user := s.framesOf(stack)
	return s.merge(all, user, stack.Cut, stacks.End(stack), of)
}

// drawn returns the node of the stack of a drawn item, whose definitions may be from an earlier section.
func (s *interner) drawn(stack *tracks.Stack) resolved {
	switch {
	case stack == nil:
		return resolved{node: s.noStack}
	case stack.Def == nil:
		return s.resolve(nil, ofSample)
	case stack.Def == s.r.Stack(format.StackID(stack.ID)):
		return s.stack(format.StackID(stack.ID))
	}
	s.walk = s.walk[:0]
	for _, f := range stack.Frames {
		s.walk = append(s.walk, stackFrame{def: f.Def, module: f.Module})
	}
	return s.merge(s.walk, len(s.walk)-stack.Kernel, stack.Cut, stacks.End(stack.Def), ofSample)
}

// merge returns the node of a stack, whose frames from kernel on are the kernel's.
func (s *interner) merge(all []stackFrame, kernel int, cut bool, end format.StackEnd, from purpose) resolved {
	of := resolved{known: true, hasUser: kernel > 0}
	switch from {
	case ofWait:
		all = all[:withoutScheduler(all, kernel)]
	case ofWaker:
		if at := interruptAt(all, kernel); at < len(all) {
			all, kernel, cut, of = all[at:], 0, false, resolved{known: true, interrupt: true}
		}
	}
	if from == ofSample {
		of.interrupt = interruptAt(all, kernel) < len(all)
	}
	ends, looksCut := stacks.LooksCut(kernel, func(i int) stacks.Frame { return stacks.FrameOf(all[i].def) })
	of.cut = cut || looksCut && end == format.StackEnd_STACK_END_UNKNOWN
	// Frames further out are not callers, and differ from stack to stack.
	all, kernel = all[ends:], kernel-ends
	if over := len(all) - stacks.MaxFrames; over > 0 {
		all, kernel, cut = all[over:], max(0, kernel-over), true
	}
	if len(all) == 0 {
		of.node = s.noStack
		return of
	}
	if cut {
		of.node = s.child(0, s.note(stacks.CutFrame))
	}
	if s.closed {
		of.node = s.more
		return of
	}
	for i := range all[:kernel] {
		of.node = s.child(of.node, s.frame(&all[i], false))
	}
	if from != ofWait || kernel == 0 || !s.isReturn(all[kernel:]) {
		of.node = s.kernelPart(of.node, all[kernel:])
	}
	return of
}

// kernelPart returns the node of a stack with the kernel's part on it, without the kernel's scaffolding unless Options.KernelFrames.
func (s *interner) kernelPart(of NodeID, kernel []stackFrame) NodeID {
	var scaffolding stacks.Scaffolding
	for i := range kernel {
		if s.kernelFrames {
			of = s.child(of, s.frame(&kernel[i], true))
			continue
		}
		var above []byte
		if i+1 < len(kernel) {
			above = kernel[i+1].function()
		}
		switch call, folded := scaffolding.Next(string(kernel[i].function()), string(above)); {
		case call != "":
			of = s.child(of, s.callFrame(&kernel[i], call))
		case !folded:
			of = s.child(of, s.frame(&kernel[i], true))
		}
	}
	return of
}

// isReturn reports whether a thread was preempted in its program, not in the kernel, unless all of the kernel's functions are shown.
func (s *interner) isReturn(kernel []stackFrame) bool {
	return !s.kernelFrames && !slices.ContainsFunc(kernel, func(p stackFrame) bool { return !stacks.IsReturn(string(p.function())) })
}

// callFrame returns the frame of a system call, at the address of the function that it begins in.
func (s *interner) callFrame(p *stackFrame, call string) FrameID {
	f := s.describe(p.def, p.module, true)
	f.Functions[0].Name = s.sharedText(call)
	return s.intern(f)
}

func (s *interner) child(parent NodeID, frame FrameID) NodeID {
	key := nodeKey{parent, frame}
	if known, found := s.nodes[key]; found {
		return known
	}
	id := NodeID(len(s.p.Nodes))
	s.p.Nodes = append(s.p.Nodes, Node{Parent: parent, Frame: frame})
	s.nodes[key] = id
	return id
}

// note interns a frame that is not code.
func (s *interner) note(name string) FrameID {
	return s.intern(Frame{Functions: []Function{{Name: name}}, Note: true})
}

func (s *interner) frame(p *stackFrame, kernel bool) FrameID {
	// A damaged stream may have one frame in both parts of a stack.
	if known := s.byFrame.Get(p.id); known != 0 && s.p.Frames[known].Kernel == kernel {
		return known
	}
	if p.def == nil {
		return s.note(stacks.LostFrame)
	}
	known := s.intern(s.describe(p.def, p.module, kernel))
	if p.id != 0 {
		s.byFrame.Put(p.id, known)
	}
	return known
}

func (s *interner) describe(f *format.Frame, m *format.Module, kernel bool) Frame {
	s.noteLines(f, kernel)
	d := Frame{Kernel: kernel, Python: m.IsInterpreted(), Awaiting: m.IsAwaiting(), Module: s.sharedText(string(stacks.Clipped(stacks.Printable(m.GetPath(), "")))), BuildID: s.sharedText(hex.EncodeToString(m.GetBuildId()))}
	if s.exact {
		d.Offset = f.Offset
		if f.Caller && d.Offset > 0 {
			d.Offset--
		}
	}
	lines := f.Lines[:min(len(f.Lines), stacks.MaxInlined)]
	if !s.inline && len(lines) > 0 {
		lines = f.Lines[len(f.Lines)-1:]
	}
	if len(lines) == 0 {
		lines = []*format.Line{{}}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		of := Function{Name: s.sharedText(stacks.FunctionName(lines[i].GetFunction(), m))}
		if s.exact {
			of.Linkage = s.sharedText(string(stacks.Clipped(stacks.Printable(lines[i].GetFunction(), ""))))
		}
		if s.lines {
			of.File = s.sharedText(string(stacks.Clipped(stacks.Printable(lines[i].GetFile(), ""))))
			of.Line = lines[i].GetLine()
		}
		d.Functions = append(d.Functions, of)
	}
	return d
}

// noteLines keeps whether any frame is of user code, and whether any has a line in the source.
func (s *interner) noteLines(f *format.Frame, kernel bool) {
	about := &s.p.About
	about.UserFrames = about.UserFrames || !kernel
	about.SourceLines = about.SourceLines || slices.ContainsFunc(f.Lines, func(l *format.Line) bool { return l.GetLine() > 0 || len(l.GetFile()) > 0 })
}

// Memory for a name and a frame besides their text, bytes.
const (
	perName  = 48
	perFrame = 200
)

// sharedText returns the shared copy of a text.
func (s *interner) sharedText(text string) string {
	if known, found := s.names[text]; found {
		return known
	}
	text = strings.Clone(text)
	s.names[text] = text
	s.bytes += len(text) + perName
	return text
}

// intern returns the id of a frame across sections. Without Options.Addresses and Lines the same function is the same frame, wherever
// it was called from.
func (s *interner) intern(f Frame) FrameID {
	k := append(s.key[:0], boolByte(f.Kernel), boolByte(f.Note), boolByte(f.Python), boolByte(f.Awaiting))
	k = append(append(k, f.Module...), 0)
	k = append(append(k, f.BuildID...), 0)
	for shift := 0; shift < 64; shift += 8 {
		k = append(k, byte(f.Offset>>shift))
	}
	for _, of := range f.Functions {
		k = append(append(append(append(k, of.Name...), 0), of.File...), 0, byte(of.Line), byte(of.Line>>8), byte(of.Line>>16), byte(of.Line>>24))
	}
	s.key = k
	if known, found := s.frames[string(k)]; found {
		return known
	}
	id := FrameID(len(s.p.Frames))
	s.p.Frames = append(s.p.Frames, f)
	s.frames[string(k)] = id
	s.bytes += len(k) + perFrame
	return id
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
