package spool

import "wprof/format"

// ModuleKey is what makes two mappings the same module: the build-id where one is known, else the file until it is
// overwritten, else the name. Several files may have one build-id, some of them stripped: the path distinguishes them.
type ModuleKey struct {
	kind                      format.ModuleKind
	build                     string
	device, inode, generation uint64
	size, mtime, ctime        uint64
	name                      string
}

func KeyOf(m *format.Module) ModuleKey {
	k := ModuleKey{kind: format.ModuleKind(m.Kind)}
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
