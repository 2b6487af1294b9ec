package swift

import "strings"

// machine reads a mangled name. Its methods return nil if what they expect is not there.
type machine struct {
	in            string
	at            int
	stack         []*node
	substitutions []*node
	words         []string
	expanded      int // bytes of words that were substituted
	nodes         int
	unused        []node // allocated together
	// labelsInTypes is set for the scheme of Swift 4.0, in which the labels of parameters are part of the function's type.
	labelsInTypes bool
}

// run reads all of the name and returns what it stands for.
func (m *machine) run() *node {
	m.stack, m.substitutions, m.words = make([]*node, 0, 16), make([]*node, 0, 16), make([]string, 0, 8)
	for m.at < len(m.in) {
		n := m.operator()
		if n == nil || m.nodes > maxNodes || len(m.stack) > maxStack {
			return nil
		}
		m.push(n)
	}
	if len(m.stack) != 1 {
		return nil
	}
	root := m.stack[0]
	if !root.isEntity() || root.kind == nominal { // a type alone is no function or variable
		return nil
	}
	return root
}

func (m *machine) push(n *node) { m.stack = append(m.stack, n) }

func (m *machine) node(kind kind, text string, kids ...*node) *node {
	m.nodes++
	if len(m.unused) == 0 {
		m.unused = make([]node, 16)
	}
	n := &m.unused[0]
	m.unused = m.unused[1:]
	n.kind, n.text, n.kids = kind, text, kids
	return n
}

// all is node, but nil if one of the parts is missing.
func (m *machine) all(kind kind, text string, kids ...*node) *node {
	for _, kid := range kids {
		if kid == nil {
			return nil
		}
	}
	return m.node(kind, text, kids...)
}

// substitutable remembers a node as what a later substitution may stand for.
func (m *machine) substitutable(n *node) *node {
	if n != nil {
		m.substitutions = append(m.substitutions, n)
	}
	return n
}

// top returns the node on top of the stack, an empty one if there is none.
func (m *machine) top() *node {
	if len(m.stack) == 0 {
		return &node{}
	}
	return m.stack[len(m.stack)-1]
}

func (m *machine) drop() *node {
	n := m.top()
	m.stack = m.stack[:len(m.stack)-1]
	return n
}

// pop takes a node of a kind from the stack, nil if another is on top.
func (m *machine) pop(kind kind) *node {
	if len(m.stack) == 0 || m.top().kind != kind {
		return nil
	}
	return m.drop()
}

func (m *machine) popIf(is func(*node) bool) *node {
	if len(m.stack) == 0 || !is(m.top()) {
		return nil
	}
	return m.drop()
}

func (m *machine) popType() *node     { return m.popIf((*node).isType) }
func (m *machine) popDeclName() *node { return m.popIf((*node).isDeclName) }
func (m *machine) popEntity() *node   { return m.popIf((*node).isEntity) }

func (m *machine) popModule() *node {
	if id := m.pop(identifier); id != nil {
		return m.node(module, id.text)
	}
	return m.pop(module)
}

func (m *machine) popContext() *node {
	if n := m.popModule(); n != nil {
		return n
	}
	return m.popIf((*node).isContext)
}

// popProtocol takes a protocol, which is a type or only its name in a context.
func (m *machine) popProtocol() *node {
	if n := m.pop(nominal); n != nil {
		return n
	}
	name := m.popDeclName()
	return m.all(nominal, "P", m.popContext(), name)
}

func (m *machine) peek() byte {
	if m.at < len(m.in) {
		return m.in[m.at]
	}
	return 0
}

func (m *machine) next() byte {
	c := m.peek()
	m.at++
	return c
}

func (m *machine) skip(s string) bool {
	if m.at > len(m.in) || !strings.HasPrefix(m.in[m.at:], s) {
		return false
	}
	m.at += len(s)
	return true
}

// natural reads a decimal number.
func (m *machine) natural() (n int, ok bool) {
	from := m.at
	for c := m.peek(); c >= '0' && c <= '9'; c = m.peek() {
		n = n*10 + int(c-'0')
		if n > 1<<24 {
			return 0, false
		}
		m.at++
	}
	return n, m.at > from
}

// indexNumber reads an INDEX: "_" is 0, "0_" is 1.
func (m *machine) indexNumber() (n int, ok bool) {
	if m.skip("_") {
		return 0, true
	}
	n, ok = m.natural()
	return n + 1, ok && m.skip("_")
}

// indexed returns a node with an INDEX that is next in the name.
func (m *machine) indexed(n *node) *node {
	index, ok := m.indexNumber()
	if n == nil || !ok {
		return nil
	}
	n.index = index
	return n
}

// operator reads one and returns the node that it makes.
func (m *machine) operator() *node {
	c := m.next()
	switch c {
	case 'A':
		return m.substitution()
	case 'B':
		return m.builtinType()
	case 'C', 'O', 'V', 'a':
		return m.nominalType(string(c))
	case 'D':
		return m.all(prefixed, "", m.popType())
	case 'E':
		return m.extension()
	case 'F':
		return m.function()
	case 'G':
		return m.boundGeneric()
	case 'H':
		return m.conformanceOperator()
	case 'I':
		return m.implFunction()
	case 'K':
		return m.node(throwing, "")
	case 'L':
		return m.localIdentifier()
	case 'M':
		return m.metadata()
	case 'N':
		return m.all(prefixed, "type metadata for ", m.popType())
	case 'P':
		name := m.popDeclName()
		return m.substitutable(m.all(nominal, "P", m.popContext(), name))
	case 'Q':
		return m.archetype()
	case 'R':
		return m.requirement()
	case 'S':
		return m.standardSubstitution()
	case 'T':
		return m.thunk()
	case 'W':
		return m.witnessOperator()
	case 'X':
		return m.specialType()
	case 'Y':
		return m.typeAnnotation()
	case 'Z':
		return m.all(static, "", m.popIf((*node).isMember))
	case 'c':
		return m.functionType("")
	}
	return m.smallOperator(c)
}

// smallOperator reads the rest of the operators with small letters, marks and identifiers.
func (m *machine) smallOperator(c byte) *node {
	switch c {
	case 'd':
		return m.node(variadic, "")
	case 'f':
		return m.functionEntity()
	case 'g':
		return m.retroactiveConformance()
	case 'h':
		return m.all(decorated, "__shared ", m.popType())
	case 'i':
		return m.subscript()
	case 'l':
		return m.signature(false)
	case 'm':
		return m.all(metatype, "", m.popType())
	case 'n':
		return m.all(decorated, "__owned ", m.popType())
	case 'o':
		return m.operatorIdentifier()
	case 'p':
		return m.protocolList()
	case 'q':
		return m.genericParameter()
	case 'r':
		return m.signature(true)
	case 's':
		return m.node(module, "Swift")
	case 't':
		return m.tuple()
	case 'u':
		sig := m.pop(signature)
		return m.all(genericType, "", sig, m.popType())
	case 'v':
		return m.variable()
	case 'w':
		return m.valueWitness()
	case 'x':
		return m.node(genericParameter, parameterName(0, 0))
	case 'y':
		return m.node(emptyList, "")
	case 'z':
		return m.all(decorated, "inout ", m.popType())
	case '_':
		return m.node(firstElement, "")
	}
	if c >= '0' && c <= '9' {
		m.at--
		return m.identifier()
	}
	return nil
}
