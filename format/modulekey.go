package format

// ModuleKey identifies the code of a module in different sections: the build-id and path where one is known, else the file until
// it is overwritten, else the name. Several files may have one build-id, some of them stripped: the path distinguishes them.
type ModuleKey struct {
	kind                      ModuleKind
	build, path               string
	device, inode, generation uint64
	size, mtime, ctime        uint64
	base                      uint64
}

// Key returns what identifies the module.
func (m *Module) Key() ModuleKey {
	k := ModuleKey{kind: ModuleKind(m.Kind)}
	switch {
	case len(m.BuildId) > 0:
		k.build, k.path = string(m.BuildId), string(m.Path)
	case m.Inode != 0 && k.kind == ModuleKind_MODULE_FILE:
		k.device, k.inode, k.generation = m.Device, m.Inode, m.Generation
		k.size, k.mtime, k.ctime = m.Size, m.Mtime, m.Ctime
	default:
		k.generation, k.path, k.base = m.Generation, string(m.Path), m.Base
	}
	return k
}

// BuildID returns the key of all files with the build-id, whatever their path; false: there is none.
func (k ModuleKey) BuildID() (ModuleKey, bool) {
	return ModuleKey{kind: k.kind, build: k.build}, k.build != ""
}

// IsPython reports whether a module, which may be nil, has functions of Python, or coroutines that await them.
func (m *Module) IsPython() bool {
	return ModuleKind(m.GetKind()) == ModuleKind_MODULE_PYTHON || m.IsAwaiting()
}

// IsAwaiting reports whether a module, which may be nil, has coroutines of Python that do not run.
func (m *Module) IsAwaiting() bool {
	return ModuleKind(m.GetKind()) == ModuleKind_MODULE_PYTHON_AWAITING
}

// IsRuby reports whether a module, which may be nil, has methods of Ruby.
func (m *Module) IsRuby() bool { return ModuleKind(m.GetKind()) == ModuleKind_MODULE_RUBY }

// IsInterpreted reports whether a module has functions that an interpreter executes.
func (m *Module) IsInterpreted() bool { return m.IsPython() || m.IsRuby() }
