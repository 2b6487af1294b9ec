package swift

import "strconv"

func (m *machine) nominalType(letter string) *node {
	name := m.popDeclName()
	return m.substitutable(m.all(nominal, letter, m.popContext(), name))
}

var builtinTypes = map[byte]string{
	'A': "ImplicitActor", 'B': "UnsafeValueBuffer", 'b': "BridgeObject", 'c': "RawUnsafeContinuation", 'D': "DefaultActorStorage",
	'd': "NonDefaultDistributedActorStorage", 'e': "Executor", 'I': "IntLiteral", 'j': "Job", 'O': "UnknownObject",
	'o': "NativeObject", 'P': "PackIndex", 'p': "RawPointer", 't': "SILToken", 'w': "Word",
}

func (m *machine) builtinType() *node {
	c := m.next()
	if name := builtinTypes[c]; name != "" {
		return m.node(builtin, "Builtin."+name)
	}
	kind := map[byte]string{'f': "FPIEEE", 'i': "Int", 'v': "Vec"}[c]
	size, ok := m.natural()
	if kind == "" || !ok || !m.skip("_") || size == 0 || size > 1<<16 {
		return nil
	}
	if c != 'v' {
		return m.node(builtin, "Builtin."+kind+strconv.Itoa(size))
	}
	item := m.pop(builtin)
	if item == nil {
		return nil
	}
	return m.node(builtin, "Builtin.Vec"+strconv.Itoa(size)+"x"+item.text[len("Builtin."):])
}

// boundGeneric reads the arguments of a generic type: a list for each type of those that enclose it, innermost last.
func (m *machine) boundGeneric() *node {
	m.dropRetroactiveConformances()
	lists, ok := m.argumentLists()
	typ := m.popIf(func(n *node) bool { return n.kind == nominal || n.kind == bound })
	if !ok || typ == nil {
		return nil
	}
	return m.substitutable(m.bind(typ, lists))
}

// argumentLists takes lists of types from the stack, innermost first.
func (m *machine) argumentLists() (lists [][]*node, ok bool) {
	for {
		var list []*node
		for t := m.popType(); t != nil; t = m.popType() {
			list = append(list, t)
		}
		lists = append(lists, reversed(list))
		if m.pop(emptyList) != nil {
			return lists, true
		}
		if m.pop(firstElement) == nil {
			return nil, false
		}
	}
}

func reversed(list []*node) []*node {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// bind gives arguments to a type and to what encloses it.
func (m *machine) bind(n *node, lists [][]*node) *node {
	if len(lists) == 0 || m.nodes > maxNodes {
		return n
	}
	switch n.kind {
	case nominal:
		outer := m.bind(n.kids[0], lists[1:])
		if outer != n.kids[0] {
			n = m.node(nominal, n.text, outer, n.kids[1])
		}
	case extension:
		inner := m.bind(n.kids[1], lists)
		return m.node(extension, "", n.kids[0], inner, n.kids[2])
	case function, constructor, destructor, accessor, subscript, closure, variable:
		return m.bindFunction(n, lists)
	default:
		return n
	}
	if len(lists[0]) == 0 {
		return n
	}
	return m.node(bound, "", append([]*node{n}, lists[0]...)...)
}

// bindFunction gives arguments to what encloses a function. Its own are not written.
func (m *machine) bindFunction(n *node, lists [][]*node) *node {
	bare := *n
	bare.kids = append([]*node{nil}, n.kids[1:]...)
	m.nodes++
	if n.kind == accessor {
		bare.kids[0] = m.bindFunction(n.kids[0], lists)
		return &bare
	}
	bare.kids[0] = m.bind(n.kids[0], lists[1:])
	bare.inexact = n.inexact || len(lists[0]) > 0
	return &bare
}

func (m *machine) dropRetroactiveConformances() {
	for m.pop(retroactive) != nil {
	}
}

// retroactiveConformance reads the mark of a conformance that an argument needs. It is not written.
func (m *machine) retroactiveConformance() *node {
	if _, ok := m.indexNumber(); !ok || m.pop(conformance) == nil {
		return nil
	}
	return m.node(retroactive, "")
}

// conformanceOperator reads operators of conformances within types, and the runtime's records of types.
func (m *machine) conformanceOperator() *node {
	switch c := m.next(); c {
	case 'C':
		if m.pop(emptyList) == nil {
			for {
				isLast := m.pop(firstElement) != nil
				if m.pop(conformance) == nil {
					return nil
				}
				if isLast {
					break
				}
			}
		}
		return m.concreteConformance()
	case 'D':
		if _, ok := m.indexNumber(); !ok {
			return nil
		}
		protocol := m.popProtocol()
		return m.all(conformance, "", m.popType(), protocol)
	case 'I':
		if _, ok := m.indexNumber(); !ok {
			return nil
		}
		protocol := m.popProtocol()
		return m.all(conformance, "", m.pop(conformance), protocol)
	case 'A':
		if _, ok := m.indexNumber(); !ok {
			return nil
		}
		protocol := m.popProtocol()
		typ := m.popType()
		return m.all(conformance, "", m.pop(conformance), typ, protocol)
	case 'P', 'p':
		return m.all(ofModule, "", m.popProtocol())
	case 'n':
		return m.all(prefixed, "nominal type descriptor runtime record for ", m.popType())
	case 'r':
		return m.all(prefixed, "protocol descriptor runtime record for ", m.popProtocol())
	case 'o':
		return m.all(prefixed, "opaque type descriptor runtime record for ", m.pop(opaqueOf))
	case 'c':
		return m.all(prefixed, "protocol conformance descriptor runtime record for ", m.popConformance())
	case 'F':
		return m.all(prefixed, "accessible function runtime record for ", m.popEntity())
	}
	return nil
}

func (m *machine) concreteConformance() *node {
	protocol := m.pop(ofModule)
	if protocol == nil {
		if m.popModule() == nil {
			return nil
		}
		protocol = m.popProtocol()
	}
	return m.all(conformance, "", m.popType(), protocol)
}

// functionType reads what a function's type consists of: the result, the parameters and annotations, in this order.
func (m *machine) functionType(convention string) *node {
	n := m.node(functionType, convention)
	for {
		a := m.popIf(func(n *node) bool { return n.kind == annotation || n.kind == throwing })
		if a == nil {
			break
		}
		n.kids = append(n.kids, a)
	}
	parameters, result := m.parameterList(), m.parameterList()
	if parameters == nil || result == nil {
		return nil
	}
	n.kids = append([]*node{parameters, result}, reversed(n.kids)...)
	return n
}

func (m *machine) parameterList() *node {
	if m.pop(emptyList) != nil {
		return m.node(tuple, "")
	}
	return m.popType()
}

// parametersOf returns the types of the parameters of a function's type, which may be generic.
func parametersOf(typ *node) []*node {
	if typ.kind == genericType {
		typ = typ.kids[1]
	}
	if typ.kind != functionType {
		return nil
	}
	if parameters := typ.kids[0]; parameters.kind == tuple {
		return parameters.kids
	}
	return typ.kids[:1]
}

// popLabels takes the labels of a function's parameters. None: all have no label.
func (m *machine) popLabels(typ *node) (labels []string, ok bool) {
	if m.labelsInTypes || m.pop(emptyList) != nil {
		return nil, true
	}
	labels = make([]string, len(parametersOf(typ)))
	for i := len(labels) - 1; i >= 0; i-- {
		if m.pop(firstElement) != nil {
			labels[i] = "_"
			continue
		}
		id := m.pop(identifier)
		if id == nil {
			return nil, false
		}
		labels[i] = id.text
	}
	return labels, true
}

func (m *machine) tuple() *node {
	n := m.node(tuple, "")
	if m.pop(emptyList) != nil {
		return n
	}
	for {
		isFirst := m.pop(firstElement) != nil
		e := m.node(element, "")
		if m.pop(variadic) != nil {
			e.index = 1
		}
		if label := m.pop(identifier); label != nil {
			e.text = label.text
		}
		typ := m.popType()
		if typ == nil {
			return nil
		}
		e.kids = []*node{typ}
		n.kids = append(n.kids, e)
		if isFirst {
			reversed(n.kids)
			return n
		}
	}
}

// protocolList takes protocols that a type conforms to.
func (m *machine) protocolList() *node {
	n := m.node(protocols, "")
	if m.pop(emptyList) != nil {
		return n
	}
	for {
		isFirst := m.pop(firstElement) != nil
		protocol := m.popProtocol()
		if protocol == nil {
			return nil
		}
		n.kids = append(n.kids, protocol)
		if isFirst {
			reversed(n.kids)
			return n
		}
	}
}

// typeAnnotation reads annotations of function types and parameters.
func (m *machine) typeAnnotation() *node {
	switch m.next() {
	case 'a':
		return m.node(annotation, " async")
	case 'b':
		return m.node(annotation, "@Sendable ")
	case 'c':
		return m.all(annotation, "@", m.popType())
	case 'K':
		return m.all(throwing, "", m.popType())
	case 'A':
		return m.node(annotation, "@isolated(any) ")
	case 'C':
		return m.node(annotation, "nonisolated(nonsending) ")
	case 'T':
		return m.node(annotation, sendingResult)
	case 'i':
		return m.all(decorated, "isolated ", m.popType())
	case 'u':
		return m.all(decorated, "sending ", m.popType())
	case 't':
		return m.all(decorated, "_const ", m.popType())
	case 'k':
		return m.all(decorated, "@noDerivative ", m.popType())
	}
	return nil
}

const sendingResult = " sending"

var functionConventions = map[byte]string{
	'A': "@autoclosure ", 'K': "@autoclosure ", 'B': "@convention(block) ", 'L': "@escaping @convention(block) ",
	'C': "@convention(c) ", 'E': "", 'f': "@convention(thin) ",
}

var decorations = map[byte]string{'o': "unowned ", 'u': "unowned(unsafe) ", 'w': "weak ", 'b': "@box "}

// box reads the type of variables that a closure shares with its context. It occurs only where types are not written.
func (m *machine) box(ok bool) *node {
	if !ok {
		return nil
	}
	n := m.node(builtin, "box")
	n.inexact = true
	return n
}

// popTypes takes a list of types.
func (m *machine) popTypes() bool {
	if m.pop(emptyList) != nil {
		return true
	}
	for {
		isFirst := m.pop(firstElement) != nil
		if m.popType() == nil {
			return false
		}
		if isFirst {
			return true
		}
	}
}

// existential marks a metatype as that of any type which conforms to a protocol, rather than of the protocol.
func existential(metatype *node) *node {
	if metatype != nil {
		metatype.index = 1
	}
	return metatype
}

var metatypeKinds = map[byte]string{'t': "@thin ", 'T': "@thick ", 'o': "@objc_metatype "}

func (m *machine) specialType() *node {
	c := m.next()
	if text := decorations[c]; text != "" {
		return m.all(decorated, text, m.popType())
	}
	if convention, ok := functionConventions[c]; ok {
		return m.functionType(convention)
	}
	switch c {
	case 'D':
		m.popType()
		return m.node(builtin, "Self")
	case 'e':
		return m.node(builtin, "<ERROR TYPE>")
	case 'p':
		return existential(m.all(metatype, "", m.popType()))
	case 'M', 'm':
		text := metatypeKinds[m.next()]
		if text == "" {
			return nil
		}
		n := m.all(metatype, text, m.popType())
		if c == 'm' {
			return existential(n)
		}
		return n
	case 'c':
		superclass := m.popType()
		list := m.protocolList()
		if superclass == nil || list == nil {
			return nil
		}
		list.kids = append([]*node{superclass}, list.kids...)
		return list
	case 'x':
		return m.box(m.popTypes())
	case 'X':
		if m.pop(signature) == nil || !m.popTypes() {
			return nil
		}
		return m.box(m.popTypes())
	case 'l':
		list := m.protocolList()
		if list == nil {
			return nil
		}
		list.kids = append(list.kids, m.node(builtin, "Swift.AnyObject"))
		return list
	}
	return nil
}
