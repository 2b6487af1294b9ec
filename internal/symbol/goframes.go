package symbol

import "errors"

const (
	maxGoDepths = 64 << 20 // bytes of the tables of depths

	// struct _func (runtime/runtime2.go), bytes. startLine, before them, came with Go 1.20.
	goFuncDepths  = 16
	goFuncID      = 36
	goFuncID120   = 40
	goFlagTop     = 1 // internal/abi: FuncFlagTopFrame
	goFlagSPWrite = 2 // FuncFlagSPWrite
	goFlagAsm     = 4 // FuncFlagAsm
)

// GoFrames is what a Go program's table of functions says about the stack frames of one function.
type GoFrames struct {
	Start, End  uint64 // addresses
	IsTop       bool   // the outermost function of its stack
	WritesSP    bool   // switches stacks, so that Depths do not hold for all of it
	IsSigReturn bool   // returns from a signal handler

	depths  []byte // from the function's table on
	quantum uint64
}

// EachDepth visits the places where the depth of the stack below the return address changes, bytes, until visit returns false or
// the table ends.
func (f *GoFrames) EachDepth(visit func(address uint64, depth int32) bool) {
	depths := newGoValues(f.depths)
	for at := f.Start; at < f.End; {
		quanta, ok := depths.next()
		if !ok || !visit(at, depths.value) {
			return
		}
		at += quanta * f.quantum
	}
}

// EachGoFrames visits the functions of a Go program in the order of their addresses. It returns false if the file is none.
func (f *File) EachGoFrames(visit func(GoFrames)) (_ bool, err error) {
	defer RecoverTo(&err, "read a Go program's functions")
	t := f.goTable()
	if t == nil {
		return false, nil
	}
	text, ok := f.goText(t)
	if !ok || t.depths >= t.funcs || t.funcs-t.depths > maxGoDepths || t.count > maxSymbols {
		return true, errors.New("read the stack frames of a Go program's functions: the table is malformed")
	}
	depths := make([]byte, t.funcs-t.depths)
	if n, _ := t.r.ReadAt(depths, int64(t.depths)); n < len(depths) {
		return true, errors.New("read the stack frames of a Go program's functions: the table is cut")
	}
	names := &window{r: t.r, size: t.size}
	bodies := &window{r: t.r, size: t.size}
	return true, t.eachBody(func(start, end, name uint32, body uint64) {
		b, ok := bodies.at(body, goFunctionBytes)
		if !ok {
			return
		}
		at := t.order.Uint32(b[goFuncDepths:])
		id := b[goFuncID120:]
		if t.isGo118 {
			id = b[goFuncID:]
		}
		g := GoFrames{Start: text + uint64(start), End: text + uint64(end), quantum: t.quantum,
			IsTop: id[1]&goFlagTop != 0, WritesSP: id[1]&goFlagSPWrite != 0}
		if at != 0 && int(at) < len(depths) {
			g.depths = depths[at:]
		}
		if id[1]&goFlagAsm != 0 {
			n, _ := names.at(t.names+uint64(name), len(goSigReturn))
			g.IsSigReturn = string(n) == goSigReturn
		}
		visit(g)
	})
}

// goSigReturn begins the name of the function that returns from signal handlers: runtime.sigreturn, or runtime.sigreturn__sigaction.
const goSigReturn = "runtime.sigreturn"
