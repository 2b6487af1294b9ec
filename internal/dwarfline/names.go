package dwarfline

const (
	// maxReferences bounds how far a name is from its entry: an inlined function, its abstract instance, its declaration.
	maxReferences = 16
	// maxNamesBytes bounds the names that are kept for one file.
	maxNamesBytes = 32 << 20
	nameBytes     = 64 // besides its text
)

// function returns the name of a function: that of its symbol, else that in the source; "": it has none.
func (f *File) function(s *scope, entry uint64) string {
	d := s.d
	if name, known := d.names[entry]; known {
		return name
	}
	name := findName(s, entry)
	if f.options.Name != nil {
		name = f.options.Name(name)
	}
	if d.namesBytes += len(name) + nameBytes; d.namesBytes > maxNamesBytes {
		clear(d.names)
		d.namesBytes = len(name) + nameBytes
	}
	d.names[entry] = name
	return name
}

// findName follows the references from an entry to those that it is an instance of.
func findName(s *scope, entry uint64) (plain string) {
	for range maxReferences {
		var linkage, name string
		var next value
		if _, err := s.entry(entry, func(attr uint16, v value) {
			switch attr {
			case attrLinkageName, attrMIPSLinkage:
				linkage = s.text(v)
			case attrName:
				name = s.text(v)
			case attrAbstractOrigin, attrSpecification:
				next = v
			}
		}); err != nil {
			return plain
		}
		if linkage != "" {
			return linkage
		}
		if plain == "" {
			plain = name
		}
		d, at, ok := s.reference(next)
		if !ok {
			return plain
		}
		if at-s.u.offset >= s.u.size || d != s.d {
			u := d.unitAt(at)
			if u == nil {
				return plain
			}
			var err error
			if s, err = d.scope(u, nil); err != nil {
				return plain
			}
		}
		entry = at
	}
	return plain
}
