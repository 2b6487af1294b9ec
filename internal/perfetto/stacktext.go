package perfetto

import (
	"strings"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/stacks"
)

// maxStackText bounds the text of a stack in bytes.
const maxStackText = 16 << 10

// stackText is what a sequence was told of a stack.
type stackText struct {
	name      uint64 // of a block in it; 0: no function is known
	text      uint64 // its functions, innermost first; 0: none
	callstack uint64
}

// stackOf tells Perfetto of a stack.
func (w *view) stackOf(id format.StackID) stackText {
	if id == 0 {
		return stackText{}
	}
	if known, found := w.seq.stacks[id]; found {
		return known
	}
	stack := w.e.defs.Stack(id)
	var of stackText
	w.e.out = w.seq.tell(w.e.out, func(out []byte) []byte { return w.e.internStack(out, &w.seq.told, id, stack) })
	of.callstack = w.seq.told.stacks[id]
	if in := w.blockedIn(id); in != "" {
		of.name = w.name(stacks.BlockedName(in, 0))
	}
	if functions := w.functions(stack); len(functions) > 0 {
		of.text = w.text(joined(functions))
	}
	w.seq.stacks[id] = of
	return of
}

// annotateStack gives the event at hand a stack: as a text, and in the form that engines after v52 make flame graphs of.
func (w *view) annotateStack(of stackText) {
	if of.text != 0 {
		w.seq.value(annStack, of.text)
	}
	if of.callstack != 0 {
		w.seq.body = appendUint(w.seq.body, eventCallstack, of.callstack)
	}
}

// joined are functions, given outermost first, with the innermost one first.
func joined(functions []string) string {
	var b strings.Builder
	for i := len(functions) - 1; i >= 0; i-- {
		if b.Len()+len(functions[i]) > maxStackText {
			b.WriteString("\n…")
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(functions[i])
	}
	return b.String()
}

// frameNames are the functions of each frame of the section, outermost first.
type frameNames = *bounded.Map[uint32, []string]

const maxFrameNames = 1 << 15

// functions are the functions of a stack, outermost first.
func (w *view) functions(stack *format.Stack) []string {
	if stack == nil {
		return []string{stacks.LostFrame}
	}
	ids, cut := stack.Frames, stack.Cut
	if len(ids) > stacks.MaxFrames {
		ids, cut = ids[len(ids)-stacks.MaxFrames:], true
	}
	var all []string
	if cut {
		all = append(all, stacks.CutFrame)
	}
	for _, id := range ids {
		all = append(all, w.functionsAt(id)...)
	}
	return all
}

// functionsAt are the functions at one place in the code: the function there, then what is inlined into it.
func (w *view) functionsAt(id uint32) []string {
	if known, found := w.frames.Get(id); found {
		return known
	}
	var names []string
	if f := w.e.defs.Frame(id); f == nil {
		names = []string{stacks.LostFrame}
	} else {
		lines := f.Lines[:min(len(f.Lines), stacks.MaxInlined)]
		for i := len(lines) - 1; i >= 0; i-- {
			names = append(names, w.functionName(lines[i].GetFunction(), f.Module))
		}
		if len(names) == 0 {
			names = []string{w.functionName(nil, f.Module)}
		}
	}
	w.frames.Put(id, names)
	return names
}

func (w *view) functionName(function []byte, module uint32) string {
	return stacks.FunctionName(function, w.e.defs.Module(module))
}

// blockedIn is the function that tells best what a thread waits for; "": there is none.
func (w *view) blockedIn(id format.StackID) string {
	stack := w.e.defs.Stack(id)
	if id == 0 || stack == nil {
		return ""
	}
	user := len(stack.Frames) - min(int(stack.KernelFrames), len(stack.Frames))
	var program, kernel []string
	if user > 0 {
		program = w.functionsAt(stack.Frames[user-1])
	}
	for _, frame := range stack.Frames[user:] {
		kernel = append(kernel, w.functionsAt(frame)...)
	}
	return stacks.BlockedIn(program, kernel)
}
