package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/symbol"
)

// unknownPython is the function of a frame whose code object could not be read.
const unknownPython = "[python?]"

const (
	frameLineBits = 20
	frameAtMask   = 1<<20 - 1
)

// placeKind is what a frame has to do with the loop that executes Python's bytecode.
type placeKind uint8

const (
	otherPlace       placeKind = iota
	loopPlace                  // functions of Python stand in its place
	instructionPlace           // it is a part of what the loop does
)

// cutMark returns an address without its mark, and what the mark says.
func cutMark(address uint64) (uint64, placeKind) {
	switch address >> ringdata.PythonAddressInstructionShift {
	case 1 << (ringdata.PythonAddressLoopShift - ringdata.PythonAddressInstructionShift):
		return address &^ (1 << ringdata.PythonAddressLoopShift), loopPlace
	case 1:
		return address &^ (1 << ringdata.PythonAddressInstructionShift), instructionPlace
	}
	return address, otherPlace
}

// mergePython sets c.indices to the frames of a stack, innermost first: those of the interpreter's loop are replaced by the frames of Python that
// each of its calls executes.
//
// The two parts were taken one after the other, but of the same thread, which stood still. They may differ where either is cut, where the
// loop has just been called or is about to return, which is the innermost one, and where a part of the loop is not known.
func (c *code) mergePython(t *stackDef) {
	runs := pythonRuns(t.python)
	calls := 0
	for _, address := range c.addresses {
		if _, kind := cutMark(address); kind == loopPlace {
			calls++
		}
	}
	isWhole := t.end == format.StackEnd_STACK_END_ROOT
	unmatched := 0
	if t.whole && isWhole {
		unmatched = max(calls-len(runs), 0)
		if more := len(runs) - calls; more > 0 && isRuby(runs) {
			c.addRuns(t.pid, runs[:more]) // Ruby adds a frame before it calls the loop
			runs = runs[more:]
		}
	}
	for i, address := range c.addresses {
		_, kind := cutMark(address)
		switch {
		case kind == instructionPlace && len(runs) > 0:
			continue
		case kind != loopPlace:
			c.indices = append(c.indices, c.nativeFrame(t, i))
			continue
		case unmatched > 0 || len(runs) == 0:
			unmatched--
			c.indices = append(c.indices, c.nativeFrame(t, i))
		default:
			c.addRun(t.pid, runs[0], c.loopFrame(t, i))
			runs = runs[1:]
		}
		if calls--; calls == 0 && isWhole {
			runs = c.addRuns(t.pid, runs)
		}
	}
	c.addRuns(t.pid, runs)
}

// pythonRuns splits words of frames, innermost first, into what each call of the loop executes, and tasks that await that.
func pythonRuns(words []byte) (runs [][]uint64) {
	var run []uint64
	for ; len(words) >= 8; words = words[8:] {
		word := binary.LittleEndian.Uint64(words)
		if word&ringdata.PythonWordFrame != 0 || word&ringdata.PythonWordTaskMask != 0 {
			run = append(run, word)
		}
		if word&ringdata.PythonWordEnds != 0 {
			runs, run = append(runs, run), nil
		}
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}

// addRuns adds runs that no call is left for, and returns none.
func (c *code) addRuns(pid uint32, runs [][]uint64) [][]uint64 {
	for _, run := range runs {
		c.addRun(pid, run, 0)
	}
	return nil
}

// addRun adds the functions of Python that a call of the interpreter's loop executes. The outermost one stands in place of the frame loop.
func (c *code) addRun(pid uint32, run []uint64, loop uint32) {
	all := frameWords(run)
	for i, w := range all {
		of := uint32(0)
		if i == len(all)-1 {
			of = loop
		}
		c.indices = append(c.indices, c.pythonFrame(pid, w, of))
	}
}

// loopFrame is 1 + the index of the frame that stands for the loop in which c.addresses[i] is: the first one of its module, because the many
// addresses in the loop would make as many frames of each function of Python.
func (c *code) loopFrame(t *stackDef, i int) uint32 {
	index := c.nativeFrame(t, i)
	m := c.frames[index].module
	loop, found := c.loops[m]
	if !found {
		loop = index + 1
		c.loops[m] = loop
	}
	return loop
}

// pythonPlace is what makes frames of Python different.
type pythonPlace struct {
	offset uint64
	loop   uint32
	awaits bool
}

// pythonFrame is the index of a frame of Python in this section, which stands in place of the frame loop; 0: of none.
func (c *code) pythonFrame(pid uint32, w frameWord, loop uint32) uint32 {
	id := w.word >> ringdata.PythonWordCodeShift
	code, line := c.python.find(pid, id), uint32(0)
	switch {
	case w.mark != noMark:
		code = markCode(w.mark, code)
	case code == nil:
		code = &c.unknown[languageOf(id)]
	default:
		line = code.line(w.word & frameAtMask)
	}
	m := c.moduleOf(&c.interpreted[code.language])
	if w.awaits {
		m = c.moduleOf(&c.awaiting)
	}
	offset := code.number<<frameLineBits | uint64(line)&(1<<frameLineBits-1)
	place := pythonPlace{offset, loop, w.awaits}
	if i, ok := c.pythonFrames[place]; ok {
		return i
	}
	i := uint32(len(c.frames))
	c.frames = append(c.frames, frame{
		module: m, offset: offset, loop: loop, function: code.function, line: &symbol.Line{Function: code.function, File: code.file, Line: line},
	})
	c.pythonFrames[place] = i
	c.bytes += frameCost
	return i
}
