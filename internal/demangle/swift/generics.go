package swift

import "strconv"

// parameterName returns the name of a generic parameter, as none is mangled: A to Z, AB to ZB and so on, and a number for those of
// generics within generics.
func parameterName(depth, index int) string {
	name := ""
	for ; ; index /= 26 {
		name += string(rune('A' + index%26))
		if index < 26 {
			break
		}
	}
	if depth > 0 {
		name += strconv.Itoa(depth)
	}
	return name
}

// genericParameter reads a GENERIC-PARAM-INDEX.
func (m *machine) genericParameter() *node {
	depth, index, ok := 0, 0, true
	switch {
	case m.skip("z"):
	case m.skip("s"):
		return m.node(genericParameter, "Self")
	case m.skip("d"):
		if depth, ok = m.indexNumber(); !ok {
			return nil
		}
		depth++
		index, ok = m.indexNumber()
	default:
		index, ok = m.indexNumber()
		index++
	}
	if !ok {
		return nil
	}
	return m.node(genericParameter, parameterName(depth, index))
}

// popAssocName takes the name of an associated type.
func (m *machine) popAssocName() *node {
	protocol := m.pop(nominal)
	id := m.pop(identifier)
	if id == nil {
		return nil
	}
	if protocol == nil {
		return m.node(assocName, id.text)
	}
	return m.node(assocName, id.text, protocol)
}

// member reads an associated type of a base.
func (m *machine) member(base *node, name *node) *node {
	return m.substitutable(m.all(member, "", base, name))
}

// popAssocPath takes a list of names of associated types, each one of that before it.
func (m *machine) popAssocPath() (path []*node) {
	for {
		isFirst := m.pop(firstElement) != nil
		name := m.popAssocName()
		if name == nil {
			return nil
		}
		path = append(path, name)
		if isFirst {
			return reversed(path)
		}
	}
}

// path makes the type that a base and a path of associated types stand for.
func (m *machine) path(base *node, path []*node) *node {
	if base == nil || path == nil {
		return nil
	}
	for _, name := range path {
		base = m.node(member, "", base, name)
	}
	return m.substitutable(base)
}

// archetype reads types that depend on generic parameters.
func (m *machine) archetype() *node {
	switch m.next() {
	case 'a':
		id := m.pop(identifier)
		typ := m.popType()
		if id == nil || typ == nil {
			return nil
		}
		return m.member(typ, m.node(assocName, id.text))
	case 'y':
		name := m.popAssocName()
		return m.member(m.genericParameter(), name)
	case 'z':
		return m.member(m.node(genericParameter, "A"), m.popAssocName())
	case 'x':
		name := m.popAssocName()
		return m.member(m.popType(), name)
	case 'Y':
		path := m.popAssocPath()
		return m.path(m.genericParameter(), path)
	case 'Z':
		return m.path(m.node(genericParameter, "A"), m.popAssocPath())
	case 'X':
		path := m.popAssocPath()
		return m.path(m.popType(), path)
	case 'r', 'u':
		return m.node(builtin, "some")
	case 'R', 'U':
		if _, ok := m.indexNumber(); !ok {
			return nil
		}
		return m.node(builtin, "some")
	case 'O':
		return m.all(opaqueOf, "", m.popContext())
	case 'o':
		return m.opaqueType()
	case 'p':
		m.popType() // how many; not written
		return m.all(decorated, "repeat ", m.popType())
	case 'P':
		return m.pack()
	case 'e':
		return m.indexed(m.all(decorated, "each ", m.popType()))
	}
	return nil
}

func (m *machine) pack() *node {
	n := m.node(bound, "Pack")
	n.kids = []*node{m.node(builtin, "Pack")}
	if m.pop(emptyList) != nil {
		return n
	}
	var list []*node
	for {
		isFirst := m.pop(firstElement) != nil
		typ := m.popType()
		if typ == nil {
			return nil
		}
		list = append(list, typ)
		if isFirst {
			n.text = "pack"
			n.kids = append(n.kids, reversed(list)...)
			return n
		}
	}
}

func (m *machine) opaqueType() *node {
	index, ok := m.indexNumber()
	m.dropRetroactiveConformances()
	lists, okLists := m.argumentLists()
	of := m.pop(opaqueOf)
	if !ok || !okLists || of == nil {
		return nil
	}
	n := m.node(opaqueType, "", of)
	n.index = index
	for i := len(lists) - 1; i >= 0; i-- {
		n.kids = append(n.kids, lists[i]...)
	}
	return m.substitutable(n)
}

// signature reads the parameters and requirements of a generic.
func (m *machine) signature(counted bool) *node {
	n := m.node(signature, "")
	n.counts = []int{1}
	if counted {
		n.counts = nil
		for !m.skip("l") {
			if m.skip("z") {
				n.counts = append(n.counts, 0)
				continue
			}
			count, ok := m.indexNumber()
			if !ok {
				return nil
			}
			n.counts = append(n.counts, count+1)
		}
	}
	for r := m.popIf(isRequirement); r != nil; r = m.popIf(isRequirement) {
		n.kids = append(n.kids, r)
	}
	reversed(n.kids)
	return n
}

func isRequirement(n *node) bool { return n.kind == requirement || n.kind == packMarker }

var layouts = map[byte]string{
	'U': "_UnknownLayout", 'R': "_RefCountedObject", 'N': "_NativeRefCountedObject", 'C': "AnyObject", 'D': "_NativeClass",
	'T': "_Trivial", 'B': "_BridgeObject", 'S': "_TrivialStride",
}

// What a requirement is of.
const (
	plain       = iota // a generic parameter
	assoc              // an associated type of one
	path               // an associated type of an associated type
	substituted        // a type
)

var requirementKinds = map[byte]struct {
	text string
	of   int
}{
	'p': {": ", assoc}, 'P': {": ", path}, 'Q': {": ", substituted},
	'b': {": ", plain}, 'c': {": ", assoc}, 'C': {": ", path}, 'B': {": ", substituted},
	's': {" == ", plain}, 't': {" == ", assoc}, 'T': {" == ", path}, 'S': {" == ", substituted},
	'l': {": ", plain}, 'm': {": ", assoc}, 'M': {": ", path}, 'L': {": ", substituted},
	'i': {": ~", plain}, 'j': {": ~", assoc}, 'J': {": ~", path}, 'I': {": ~", substituted},
}

// requirement reads one of a generic signature: what kind it is, and what it is of: a parameter, an associated type or one of that.
func (m *machine) requirement() *node {
	c := m.next()
	if c == 'v' {
		return m.all(packMarker, "", m.genericParameter())
	}
	kind, known := requirementKinds[c]
	if !known {
		m.at--
		kind.text = ": "
	}
	inverse := 0
	if kind.text == ": ~" {
		var ok bool
		if inverse, ok = m.indexNumber(); !ok {
			return nil
		}
	}
	var subject *node
	switch kind.of {
	case plain:
		subject = m.genericParameter()
	case assoc:
		name := m.popAssocName()
		subject = m.member(m.genericParameter(), name)
	case path:
		names := m.popAssocPath()
		subject = m.path(m.genericParameter(), names)
	case substituted:
		subject = m.popType()
	}
	switch {
	case kind.text == ": ~":
		protocol := map[int]string{0: "Swift.Copyable", 1: "Swift.Escapable"}[inverse]
		if protocol == "" {
			return nil
		}
		return m.all(requirement, kind.text, subject, m.node(builtin, protocol))
	case kind.text == " == ":
		return m.all(requirement, kind.text, subject, m.popType())
	case c == 'l' || c == 'm' || c == 'M' || c == 'L':
		return m.all(requirement, kind.text, subject, m.layout())
	case c == 'b' || c == 'c' || c == 'C' || c == 'B':
		return m.all(requirement, kind.text, subject, m.popType())
	}
	return m.all(requirement, kind.text, subject, m.popProtocol())
}

func (m *machine) layout() *node {
	c := m.next()
	if name := layouts[c]; name != "" {
		return m.node(builtin, name)
	}
	name := map[byte]string{'E': "_Trivial", 'e': "_Trivial", 'M': "_TrivialAtMost", 'm': "_TrivialAtMost"}[c]
	size, ok := m.indexNumber()
	if name == "" || !ok {
		return nil
	}
	name += "(" + strconv.Itoa(size)
	if isCapital(c) {
		alignment, ok := m.indexNumber()
		if !ok {
			return nil
		}
		name += ", " + strconv.Itoa(alignment)
	}
	return m.node(builtin, name+")")
}

// popConformance takes a type, a protocol, the module that makes the type conform, and the conditions.
func (m *machine) popConformance() *node {
	sig := m.pop(signature)
	mod := m.popModule()
	protocol := m.popProtocol()
	n := m.all(conformance, "", m.popType(), protocol, mod)
	if n != nil {
		n.kids = append(n.kids, sig)
	}
	return n
}
