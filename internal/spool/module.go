package spool

import (
	"wprof/format"
)

// moduleKey is what makes two mappings the same module: the build-id where one is known, else the file until it is
// overwritten, else the name. Several files may have one build-id, some of them stripped: the path distinguishes them.
type moduleKey struct {
	kind                      format.ModuleKind
	build                     string
	device, inode, generation uint64
	size, mtime, ctime        uint64
	name                      string
}

func keyOf(m *format.Module) moduleKey {
	k := moduleKey{kind: format.ModuleKind(m.Kind)}
	switch {
	case len(m.BuildId) > 0:
		k.build, k.name = string(m.BuildId), string(m.Path)
	case m.Inode != 0 && k.kind == format.ModuleKind_MODULE_FILE:
		k.device, k.inode, k.generation = m.Device, m.Inode, m.Generation
		k.size, k.mtime, k.ctime = m.Size, m.Mtime, m.Ctime
	default:
		k.generation, k.name = m.Generation, string(m.Path)
	}
	return k
}

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
	count moduleCount
}

// moduleCount is what [Summary.Modules] tells of a module.
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
	start    uint64 // bytes from the function's beginning
}

// maxModules bounds what is remembered of modules over sections. Beyond it, an epoch forgets all of them.
const maxModules = 1 << 16

func side(caller bool) int {
	if caller {
		return 1
	}
	return 0
}
