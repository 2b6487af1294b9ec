package profile

import (
	"encoding/hex"
	"strings"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/stacks"
)

// Frames that say something of a stack that is not there.
const (
	notSampled = "[not sampled]" // a time on the CPU in which no sample was taken
	noStack    = "[no stack]"    // no stack was taken, or none was found
	MoreStacks = "[more stacks]" // there are more different ones than can be kept
)

// places interns frames and stacks: those of one section by their ids, those of all by what they are.
type places struct {
	r       *format.Reader
	p       *Profile
	exact   bool // Options.Places
	frames  map[string]FrameID
	nodes   map[nodeKey]NodeID
	names   map[string]string // one copy of each
	bytes   int               // of names and keys
	closed  bool              // no stacks are taken any more
	key     []byte
	byFrame byid.Table[FrameID] // of the current section
	byStack byid.Table[resolved]
	byWait  byid.Table[resolved] // of times off the CPU
	byWaker byid.Table[resolved] // of those who end them

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
	interrupt    bool // it is an interrupt's
}

func newPlaces(r *format.Reader, p *Profile, exact bool) *places {
	s := &places{r: r, p: p, exact: exact}
	s.reset()
	return s
}

// reset forgets everything.
func (s *places) reset() {
	p := s.p
	s.frames, s.nodes, s.names, s.bytes = make(map[string]FrameID), make(map[nodeKey]NodeID), make(map[string]string), 0
	s.newSection()
	p.Frames, p.Nodes, p.Waits = make([]Frame, 1), make([]Node, 1), make(map[NodeID]string)
	s.notSampled = s.child(0, s.note(notSampled))
	s.noStack = s.child(0, s.note(noStack))
	s.more = s.child(0, s.note(MoreStacks))
}

func (s *places) newSection() {
	s.byFrame.Clear()
	s.byStack.Clear()
	s.byWait.Clear()
	s.byWaker.Clear()
}

// purpose is what a stack was taken of.
type purpose uint8

const (
	ofSample purpose = iota
	ofWait           // a time off the CPU
	ofWaker          // what ends one
)

// stack is where a sample's stack leads to.
func (s *places) stack(id format.StackID) resolved { return s.lookUp(&s.byStack, id, ofSample) }

// wait is where the stack leads to of a time off the CPU: to where the thread waited. The scheduler's own functions above
// that say nothing, and the kernel leaves them out itself of a thread that is still off the CPU when the window closes
// (stack_trace_save_tsk), which would tell the same place as two.
func (s *places) wait(id format.StackID) resolved { return s.lookUp(&s.byWait, id, ofWait) }

// waker is where the stack leads to of who wakes. Of an interrupt it is the interrupt's part alone: who was interrupted
// does not matter.
func (s *places) waker(id format.StackID) resolved { return s.lookUp(&s.byWaker, id, ofWaker) }

func (s *places) lookUp(in *byid.Table[resolved], id format.StackID, of purpose) resolved {
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

// interruptAt is where in a stack an interrupt begins; its length if none does.
func (s *places) interruptAt(ids []uint32, kernel int) int {
	for i := kernel; i < len(ids); i++ {
		f := s.r.Frame(ids[i])
		if f != nil && len(f.Lines) > 0 && stacks.IsInterrupt(string(f.Lines[len(f.Lines)-1].GetFunction())) {
			return i
		}
	}
	return len(ids)
}

// withoutScheduler is how many of the frames are left without the scheduler's own at the end.
func (s *places) withoutScheduler(ids []uint32, kernel int) int {
	for n := len(ids); n > kernel; n-- {
		f := s.r.Frame(ids[n-1])
		if f == nil || len(f.Lines) == 0 {
			return n
		}
		for _, line := range f.Lines {
			if name := string(line.GetFunction()); !stacks.IsScheduler(name) && name != "do_nanosleep" {
				return n
			}
		}
	}
	return kernel
}

func (s *places) resolve(stack *format.Stack, from purpose) resolved {
	if stack == nil {
		return resolved{node: s.child(0, s.note(stacks.LostFrame)), known: true}
	}
	ids, cut := stack.Frames, stack.Cut
	kernel := len(ids) - min(len(ids), int(stack.KernelFrames))
	of := resolved{known: true, hasUser: kernel > 0}
	switch from {
	case ofWait:
		ids = ids[:s.withoutScheduler(ids, kernel)]
	case ofWaker:
		if at := s.interruptAt(ids, kernel); at < len(ids) {
			ids, kernel, cut, of = ids[at:], 0, false, resolved{known: true, interrupt: true}
		}
	}
	ends, looksCut := stacks.LooksCut(kernel, func(i int) stacks.Frame { return s.judged(ids[i]) })
	of.cut = cut || looksCut
	// What is beyond is no caller, and differs from one time to the next.
	ids, kernel = ids[ends:], kernel-ends
	if over := len(ids) - stacks.MaxFrames; over > 0 {
		ids, kernel, cut = ids[over:], max(0, kernel-over), true
	}
	if len(ids) == 0 {
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
	for i, id := range ids {
		of.node = s.child(of.node, s.frame(id, i >= kernel))
	}
	if from == ofWait {
		if call := s.waits(ids[kernel:]); call != "" {
			s.p.Waits[of.node] = call
		}
	}
	return of
}

// judged is what a frame says of where its stack ends.
func (s *places) judged(id uint32) stacks.Frame {
	f := s.r.Frame(id)
	if f == nil || len(f.Lines) == 0 {
		return stacks.Frame{Placed: f == nil || f.Module != 0}
	}
	return stacks.Frame{Function: f.Lines[len(f.Lines)-1].Function, Placed: true}
}

func (s *places) child(parent NodeID, frame FrameID) NodeID {
	key := nodeKey{parent, frame}
	if known, found := s.nodes[key]; found {
		return known
	}
	id := NodeID(len(s.p.Nodes))
	s.p.Nodes = append(s.p.Nodes, Node{Parent: parent, Frame: frame})
	s.nodes[key] = id
	return id
}

// note is a frame that is no place in the code.
func (s *places) note(name string) FrameID {
	return s.intern(Frame{Functions: []Function{{Name: name}}, Note: true})
}

func (s *places) frame(id uint32, kernel bool) FrameID {
	// Nothing hinders a damaged stream to name a frame in both parts of a stack.
	if known := s.byFrame.Get(id); known != 0 && s.p.Frames[known].Kernel == kernel {
		return known
	}
	f := s.r.Frame(id)
	if f == nil {
		return s.note(stacks.LostFrame)
	}
	known := s.intern(s.describe(f, kernel))
	s.byFrame.Put(id, known)
	return known
}

func (s *places) describe(f *format.Frame, kernel bool) Frame {
	m := s.r.Module(f.Module)
	d := Frame{Kernel: kernel, Module: s.one(string(stacks.Clipped(stacks.Printable(m.GetPath(), "")))), BuildID: s.one(hex.EncodeToString(m.GetBuildId()))}
	if s.exact {
		d.Offset = f.Offset
		if f.Caller && d.Offset > 0 {
			d.Offset--
		}
	}
	lines := f.Lines[:min(len(f.Lines), stacks.MaxInlined)]
	if len(lines) == 0 {
		lines = []*format.Line{{}}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		of := Function{Name: s.one(stacks.FunctionName(lines[i].GetFunction(), m))}
		if s.exact {
			of.Linkage = s.one(string(stacks.Clipped(stacks.Printable(lines[i].GetFunction(), ""))))
			of.File = s.one(string(stacks.Clipped(stacks.Printable(lines[i].GetFile(), ""))))
			of.Line = lines[i].GetLine()
		}
		d.Functions = append(d.Functions, of)
	}
	return d
}

// What a name and a frame take in memory besides their text, bytes.
const (
	perName  = 48
	perFrame = 200
)

// one is the only copy of a text.
func (s *places) one(text string) string {
	if known, found := s.names[text]; found {
		return known
	}
	text = strings.Clone(text)
	s.names[text] = text
	s.bytes += len(text) + perName
	return text
}

// intern finds a frame among those of all sections. Without Options.Places the same function is the same frame, wherever
// it was called from.
func (s *places) intern(f Frame) FrameID {
	k := append(s.key[:0], boolByte(f.Kernel), boolByte(f.Note))
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
