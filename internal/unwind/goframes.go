package unwind

import (
	"math"

	"wprof/internal/symbol"
)

// maxGoRows bounds the rows of Go code, since functions may share a table of depths.
const maxGoRows = 16 << 20

// goFrames reads the functions of a Go program; none if the file is none, or if its table is malformed.
func goFrames(f *symbol.File) (all []symbol.GoFrames) {
	if _, err := f.EachGoFrames(func(g symbol.GoFrames) {
		if len(all) < maxEntries {
			all = append(all, g)
		}
	}); err != nil {
		return nil
	}
	return all
}

// goRules calls emit with the rules of a Go function, up to an address.
func goRules(g *symbol.GoFrames, end uint64, emit func(pc uint64, r Rule)) {
	switch {
	case g.IsTop:
		emit(g.Start, Rule{Base: Root})
	case g.IsSigReturn:
		emit(g.Start, Rule{Base: Signal})
	case g.WritesSP:
		emit(g.Start, Rule{Base: Switch})
	default:
		emit(g.Start, Rule{})
		g.EachDepth(func(pc uint64, depth int32) bool {
			if pc < end {
				emit(pc, goRule(depth))
			}
			return pc < end
		})
	}
}

// goRule is the rule where the stack pointer is a number of bytes below the return address. Functions that have a frame save the frame
// pointer below the return address (cmd/internal/obj/x86).
func goRule(depth int32) Rule {
	switch {
	case depth < 0 || depth > math.MaxInt32-wordSize:
		return Rule{}
	case depth == 0:
		return Rule{Base: SP, Offset: wordSize}
	}
	return Rule{Base: SP, Offset: depth + wordSize, Saved: AtCFA, FPOffset: -2 * wordSize}
}
