package assemble

import (
	"wprof/format"
	"wprof/internal/symbol"
)

// module is one piece of code that addresses were found in.
type module struct {
	definition *format.Module // without an id; nil: of addresses that are in nothing
	section    uint32         // number of the section in which id is valid
	id         uint32
	wanted     bool // names were requested
	loaded     bool // its functions are in code.programs

	// The frames of this section, as indices in code.frames: by offset, those that are callers apart.
	frames [2]map[uint64]uint32
	// Names that are known, over all sections.
	names [2]map[uint64]nameRef
	lines map[symbol.Address]*symbol.Line // the innermost at each place; nil: they were not looked up
	count moduleCount
}

// moduleCount has a module's counts for [Summary.Modules].
type moduleCount struct {
	frames, named, cut uint64
	err                error
}

// frame is one place in the code.
type frame struct {
	module   *module
	offset   uint64
	caller   bool
	id       uint32 // in this section; 0: not defined
	named    uint32 // code.round when its name came; 0: before the definition
	function string
	start    uint64       // bytes from the function's beginning
	line     *symbol.Line // the innermost function; nil: not known
	loop     uint32       // of Python: 1 + the index of the frame that it stands in place of; 0: of none
	loopID   uint32       // the id of that when this one was defined
}

// maxModules bounds what is kept of modules over sections. Beyond it, an epoch drops all of them.
const maxModules = 1 << 16

func side(caller bool) int {
	if caller {
		return 1
	}
	return 0
}
