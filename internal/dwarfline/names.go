package dwarfline

import "slices"

const (
	// maxReferences bounds how far a name is from its entry: an inlined function, its abstract instance, its declaration.
	maxReferences = 16
	// maxNamesBytes bounds the names that are kept for one file.
	maxNamesBytes = 32 << 20
	nameBytes     = 64 // besides its text
)

// nameCache is names as Find returns them, by where they are in a section.
type nameCache struct {
	names map[uint64]string
	bytes int
}

func (c *nameCache) add(at uint64, name string) {
	if c.bytes += len(name) + nameBytes; c.names == nil || c.bytes > maxNamesBytes {
		c.names = make(map[uint64]string)
		c.bytes = len(name) + nameBytes
	}
	c.names[at] = name
}

// function returns the name of a function: that of its symbol, else that in the source; "": it has none.
func (f *File) function(s *scope, entry uint64) string {
	if name, known := s.d.functions.names[entry]; known {
		return name
	}
	name := ""
	if of, v := findName(s, entry); v.form != 0 {
		name = f.name(of, v)
	}
	s.d.functions.add(entry, name)
	return name
}

// name returns a name as Find returns it. Units share strings, and demangling takes longer than all else.
func (f *File) name(s *scope, v value) string {
	d, at, shared := s.textAt(v)
	if shared {
		if name, known := d.texts.names[at]; known {
			return name
		}
	}
	name := s.text(v)
	if f.options.Name != nil {
		name = f.options.Name(name)
	}
	name = f.shared(name)
	if shared {
		d.texts.add(at, name)
	}
	return name
}

// findName follows the references from an entry to those that it is an instance of. It returns a name and its unit.
func findName(s *scope, entry uint64) (plainOf *scope, plain value) {
	for range maxReferences {
		var linkage, name, next value
		if _, err := s.entry(entry, func(attr uint16, v value) {
			v.text = slices.Clone(v.text)
			switch attr {
			case attrLinkageName, attrMIPSLinkage:
				linkage = v
			case attrName:
				name = v
			case attrAbstractOrigin, attrSpecification:
				next = v
			}
		}); err != nil {
			return plainOf, plain
		}
		if linkage.form != 0 {
			return s, linkage
		}
		if plain.form == 0 {
			plainOf, plain = s, name
		}
		d, at, ok := s.reference(next)
		if !ok {
			return plainOf, plain
		}
		if at-s.u.offset >= s.u.size || d != s.d {
			u := d.unitAt(at)
			if u == nil {
				return plainOf, plain
			}
			var err error
			if s, err = d.scope(u, nil); err != nil {
				return plainOf, plain
			}
		}
		entry = at
	}
	return plainOf, plain
}
