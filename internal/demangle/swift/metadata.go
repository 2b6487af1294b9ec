package swift

// ofType are the data and functions that a compiler makes for a type, by what follows "M".
var ofType = map[byte]string{
	'f': "full type metadata for ", 'P': "generic type metadata pattern for ", 'a': "type metadata accessor for ",
	'L': "lazy cache variable for type metadata for ", 'r': "type metadata completion function for ",
	'i': "type metadata instantiation function for ", 'I': "type metadata instantiation cache for ",
	'l': "type metadata singleton initialization cache for ", 'm': "metaclass for ", 'n': "nominal type descriptor for ",
	'u': "method lookup function for ", 'U': "ObjC metadata update function for ", 's': "ObjC resilient class stub for ",
	't': "full ObjC resilient class stub for ", 'o': "class metadata base offset for ", 'F': "reflection metadata field descriptor ",
	'B': "reflection metadata builtin descriptor ", 'C': "reflection metadata superclass descriptor ",
	'D': "demangling cache variable for type metadata for ", 'M': "specialized generic metaclass for ",
}

// ofAny are those for anything.
var ofAny = map[byte]string{
	'V': "property descriptor for ", 'K': "metadata instantiation cache for ",
	'J': "cache variable for noncanonical specialized generic type metadata for ",
	'N': "noncanonical specialized generic type metadata for ",
	'z': "flag for loading of canonical specialized generic type metadata for ", 'q': "uniquable ",
}

// ofProtocol are those for a protocol.
var ofProtocol = map[byte]string{'p': "protocol descriptor for ", 'S': "protocol self-conformance descriptor for "}

// ofConformance are those for a conformance, by what follows "M".
var ofConformance = map[byte]string{
	'A': "reflection metadata associated type descriptor ", 'c': "protocol conformance descriptor for ",
}

func (m *machine) metadata() *node {
	c := m.next()
	switch {
	case ofType[c] != "":
		return m.all(prefixed, ofType[c], m.popType())
	case ofAny[c] != "":
		return m.all(prefixed, ofAny[c], m.popEntity())
	case ofProtocol[c] != "":
		return m.all(prefixed, ofProtocol[c], m.popProtocol())
	case ofConformance[c] != "":
		return m.all(prefixed, ofConformance[c], m.popConformance())
	case c == 'Q':
		return m.all(prefixed, "opaque type descriptor for ", m.pop(opaqueOf))
	case c != 'X':
		return nil
	}
	switch m.next() {
	case 'E':
		return m.all(prefixed, "extension descriptor ", m.popContext())
	case 'M':
		return m.all(prefixed, "module descriptor ", m.popModule())
	case 'X':
		return m.all(prefixed, "anonymous descriptor ", m.popContext())
	}
	return nil
}

var valueWitnesses = map[string]string{
	"al": "allocateBuffer", "ca": "assignWithCopy", "ta": "assignWithTake", "de": "deallocateBuffer", "xx": "destroy",
	"XX": "destroyBuffer", "Xx": "destroyArray", "CP": "initializeBufferWithCopyOfBuffer", "Cp": "initializeBufferWithCopy",
	"cp": "initializeWithCopy", "TK": "initializeBufferWithTakeOfBuffer", "Tk": "initializeBufferWithTake", "tk": "initializeWithTake",
	"pr": "projectBuffer", "xs": "storeExtraInhabitant", "xg": "getExtraInhabitantIndex", "Cc": "initializeArrayWithCopy",
	"Tt": "initializeArrayWithTakeFrontToBack", "tT": "initializeArrayWithTakeBackToFront", "ug": "getEnumTag",
	"up": "destructiveProjectEnumData", "ui": "destructiveInjectEnumTag", "et": "getEnumTagSinglePayload",
	"st": "storeEnumTagSinglePayload",
}

func (m *machine) valueWitness() *node {
	name := valueWitnesses[string([]byte{m.next(), m.next()})]
	if name == "" {
		return nil
	}
	return m.all(prefixed, name+" value witness for ", m.popType())
}

// witnessTables are those of a conformance, by what follows "W".
var witnessTables = map[byte]string{
	'P': "protocol witness table for ", 'a': "protocol witness table accessor for ", 'G': "generic protocol witness table for ",
	'p': "protocol witness table pattern for ", 'r': "resilient protocol witness table for ",
	'I': "instantiation function for generic protocol witness table for ",
}

var outlined = map[byte]string{
	'y': "copy", 'e': "consume", 'r': "retain", 's': "release", 'b': "init with take", 'B': "init with take", 'c': "init with copy",
	'C': "init with copy", 'd': "assign with take", 'D': "assign with take", 'f': "assign with copy", 'F': "assign with copy",
	'h': "destroy", 'H': "destroy", 'g': "enum get tag",
}

func (m *machine) witnessOperator() *node {
	c := m.next()
	if text := witnessTables[c]; text != "" {
		return m.all(prefixed, text, m.popConformance())
	}
	switch c {
	case 'V':
		return m.all(prefixed, "value witness table for ", m.popType())
	case 'S':
		return m.all(prefixed, "protocol self-conformance witness table for ", m.popProtocol())
	case 'C':
		return m.all(prefixed, "enum case for ", m.popEntity())
	case 'v':
		text := map[byte]string{'d': "direct field offset for ", 'i': "indirect field offset for "}[m.next()]
		if text == "" {
			return nil
		}
		return m.all(prefixed, text, m.popEntity())
	case 'l':
		of := m.popConformance()
		return m.all(witness, "lazy protocol witness table accessor for type ", m.popType(), of)
	case 'L':
		of := m.popConformance()
		return m.all(witness, "lazy protocol witness table cache variable for type ", m.popType(), of)
	case 'T':
		return m.associatedWitness()
	case 'b':
		protocol := m.popProtocol()
		return m.all(witness, "base witness table accessor for ", protocol, m.popConformance())
	case 'O':
		return m.outlined()
	case 'Z':
		return m.initialization("function")
	case 'z':
		return m.initialization("token")
	}
	return nil
}

// associatedWitness reads of which associated type the conformance is reached.
func (m *machine) associatedWitness() *node {
	protocol := m.popProtocol()
	var subject *node
	for _, name := range m.popAssocPath() {
		if subject == nil {
			subject = name
		} else {
			subject = m.node(member, "", subject, name)
		}
	}
	of := m.all(requirement, " : ", subject, protocol)
	return m.all(witness, "associated type witness table accessor for ", of, m.popConformance())
}

func (m *machine) outlined() *node {
	text := outlined[m.next()]
	m.pop(signature)
	typ := m.popType()
	m.pop(signature)
	if text == "" {
		return nil
	}
	return m.all(prefixed, "outlined "+text+" of ", typ)
}

// initialization reads the global variables that are initialised together.
func (m *machine) initialization(what string) *node {
	var names []*node
	for m.pop(firstElement) != nil {
		name := m.popDeclName()
		if name == nil {
			return nil
		}
		names = append(names, name)
	}
	context := m.popContext()
	if len(names) == 0 || context == nil {
		return nil
	}
	n := m.node(prefixed, "one-time initialization "+what+" for ")
	n.kids = reversed(names)
	return n
}

var implConventions = map[byte]string{
	'y': "@callee_unowned", 'g': "@callee_guaranteed", 'x': "@callee_owned", 't': "@convention(thin)",
}

var implRepresentations = map[byte]string{
	'B': "@convention(block)", 'C': "@convention(c)", 'M': "@convention(method)", 'J': "@convention(objc_method)",
	'K': "@convention(closure)", 'W': "@convention(witness_method)",
}

var implParameters = map[byte]string{
	'i': "@in", 'c': "@in_constant", 'l': "@inout", 'b': "@inout_aliasable", 'n': "@in_guaranteed", 'X': "@in_cxx", 'x': "@owned",
	'g': "@guaranteed", 'e': "@deallocating", 'y': "@unowned", 'v': "@pack_owned", 'p': "@pack_guaranteed", 'm': "@pack_inout",
}

var implResults = map[byte]string{
	'r': "@out", 'o': "@owned", 'd': "@unowned", 'u': "@unowned_inner_pointer", 'a': "@autoreleased", 'k': "@pack_out",
}

var implDifferentiable = map[byte]string{
	'd': "@differentiable", 'l': "@differentiable(_linear)", 'f': "@differentiable(_forward)", 'r': "@differentiable(reverse)",
}

// implFunction reads a function's type as it is called: attributes, and how each parameter and result is passed. The types are
// before it.
func (m *machine) implFunction() *node {
	var substituted []*node
	isSubstituted := m.skip("s")
	if isSubstituted {
		m.dropRetroactiveConformances()
		lists, ok := m.argumentLists()
		if !ok || len(lists) != 1 {
			return nil
		}
		substituted = lists[0]
	}
	sig := m.pop(signature)
	m.skip("P")
	text := ""
	add := func(attribute string) {
		if attribute != "" {
			text += attribute + " "
			m.at++
		}
	}
	add(map[byte]string{'e': "@escaping"}[m.peek()])
	add(map[byte]string{'A': "@isolated(any)"}[m.peek()])
	add(implDifferentiable[m.peek()])
	convention := implConventions[m.peek()]
	if convention == "" {
		return nil
	}
	add(convention)
	add(implRepresentations[m.peek()])
	add(map[byte]string{'A': "@yield_once", 'I': "@yield_once_2", 'G': "@yield_many"}[m.peek()])
	add(map[byte]string{'h': "@Sendable"}[m.peek()])
	add(map[byte]string{'H': "@async"}[m.peek()])
	n := m.node(implFunction, text)
	if m.skip("T") {
		n.text = n.text + "sending "
	}
	var how []string
	for text := implParameters[m.peek()]; text != ""; text = implParameters[m.peek()] {
		m.at++
		how = append(how, text+m.implOptions())
	}
	n.index = len(how)
	for text := implResults[m.peek()]; text != ""; text = implResults[m.peek()] {
		m.at++
		how = append(how, text+m.implOptions())
	}
	for m.skip("Y") {
		how = append(how, "@yields "+implParameters[m.next()])
	}
	if m.skip("z") {
		how = append(how, "@error "+implResults[m.next()]+m.implOptions())
	}
	if !m.skip("_") {
		return nil
	}
	for i := len(how) - 1; i >= 0; i-- {
		typ := m.popType()
		if typ == nil {
			return nil
		}
		n.kids = append(n.kids, m.node(decorated, how[i]+" ", typ))
	}
	reversed(n.kids)
	switch {
	case isSubstituted:
		return m.all(genericType, "", sig, n, m.node(tuple, "", substituted...))
	case sig != nil:
		return m.node(genericType, "", sig, n)
	}
	return n
}

func (m *machine) implOptions() string {
	text := ""
	if m.skip("w") {
		text += " @noDerivative"
	}
	if m.skip("T") {
		text += " sending"
	}
	if m.skip("I") {
		text += " isolated"
	}
	if m.skip("L") {
		text += " @sil_implicit_leading_param"
	}
	return text
}
