package swift

import "strconv"

// ofEntity are the functions and data that a compiler makes for an entity, by what follows "T".
var ofEntity = map[byte]string{
	'A': "partial apply forwarder for ", 'a': "partial apply ObjC forwarder for ", 'm': "merged ", 'o': "@objc ", 'O': "@nonobjc ",
	'D': "dynamic ", 'd': "super ", 'E': "distributed thunk ", 'F': "distributed accessor for ",
	'I': "dynamically replaceable thunk for ", 'X': "dynamically replaceable variable for ", 'u': "async function pointer to ",
	'S': "protocol self-conformance witness for ", 'c': "curry thunk of ",
}

var ofEntityAfterW = map[byte]string{
	'S': "#_hasSymbol query for ", 'b': "back deployment thunk for ", 'B': "back deployment fallback for ",
	'c': "coro function pointer to ", 'd': "default override of ",
}

func (m *machine) thunk() *node {
	c := m.next()
	if text := ofEntity[c]; text != "" {
		return m.all(prefixed, text, m.popEntity())
	}
	switch c {
	case 'j':
		return m.all(prefixed, "dispatch thunk of ", m.popIf((*node).isMember))
	case 'q':
		return m.all(prefixed, "method descriptor for ", m.popIf((*node).isMember))
	case 'w':
		if text := ofEntityAfterW[m.next()]; text != "" {
			return m.all(prefixed, text, m.popEntity())
		}
	case 'Q':
		return m.part("await")
	case 'Y':
		return m.part("suspend")
	case 'R', 'r':
		return m.reabstraction(c)
	case 'W':
		entity := m.popEntity()
		return m.all(witness, "protocol witness for ", entity, m.popConformance())
	case 'V':
		base := m.popEntity()
		return m.all(witness, "vtable thunk for ", base, m.popEntity())
	case 'K':
		return m.keyPath("key path getter for ")
	case 'k':
		return m.keyPath("key path setter for ")
	case 'v':
		index, ok := m.indexNumber()
		if !ok {
			return nil
		}
		return m.all(prefixed, "outlined variable #"+strconv.Itoa(index)+" of ", m.popEntity())
	case 'e':
		return m.bridged()
	case 'L':
		return m.all(prefixed, "protocol requirements base descriptor for ", m.popProtocol())
	case 'l':
		return m.all(prefixed, "associated type descriptor for ", m.popAssocName())
	case 'M':
		return m.all(prefixed, "default associated type metadata accessor for ", m.popAssocName())
	case 'n':
		return m.associatedConformance("associated conformance descriptor for ")
	case 'N':
		return m.associatedConformance("default associated conformance accessor for ")
	case 'b':
		protocol := m.popProtocol()
		return m.all(prefixed, "base conformance descriptor for ", m.all(requirement, ": ", m.popType(), protocol))
	case 'f':
		return m.signatureSpecialization()
	}
	m.at--
	return m.genericSpecialization()
}

// part reads which part of an async function it is: each begins where the one before it waits.
func (m *machine) part(what string) *node {
	index, ok := m.indexNumber()
	if !ok {
		return nil
	}
	return m.all(prefixed, "("+strconv.Itoa(index)+") "+what+" resume partial function for ", m.popEntity())
}

func (m *machine) reabstraction(c byte) *node {
	text := "reabstraction thunk helper"
	if c == 'r' {
		text = "reabstraction thunk"
	}
	sig := m.pop(signature)
	to := m.popType()
	n := m.all(converted, text, m.popType(), to)
	if n != nil {
		n.kids = append(n.kids, sig)
	}
	return n
}

func (m *machine) keyPath(text string) *node {
	serialized := m.skip("q")
	var types []*node
	for t := m.popType(); t != nil; t = m.popType() {
		types = append(types, t)
	}
	if sig := m.pop(signature); sig != nil {
		types = append(types, sig)
	}
	n := m.all(keyPath, text, m.popEntity())
	if n == nil || len(types) == 0 {
		return nil
	}
	n.kids = append(n.kids, reversed(types)...)
	if serialized {
		n.index = 1
	}
	return n
}

// bridged reads how the parameters and the result of a method of Objective-C are converted.
func (m *machine) bridged() *node {
	from := m.at
	for c := m.next(); c != '_'; c = m.next() {
		if c < 'a' || c > 'z' {
			return nil
		}
	}
	return m.all(prefixed, "outlined bridged method ("+m.in[from:m.at-1]+") of ", m.popEntity())
}

func (m *machine) associatedConformance(text string) *node {
	protocol := m.popProtocol()
	subject := m.popType()
	if subject == nil {
		names := m.popAssocPath()
		if names == nil {
			return nil
		}
		subject = m.popType()
		for _, name := range names {
			subject = m.all(member, "", subject, name)
		}
	} else {
		subject = m.all(member, "", m.popType(), subject)
	}
	return m.all(prefixed, text, m.all(requirement, ": ", subject, protocol))
}

var specializations = map[byte]string{
	'g': "generic specialization", 'B': "generic specialization", 'G': "generic not re-abstracted specialization",
	's': "generic pre-specialization", 'i': "inlined generic function", 'p': "generic partial specialization",
	'P': "generic not-reabstracted partial specialization",
}

// genericSpecialization reads for which types an entity is specialised.
func (m *machine) genericSpecialization() *node {
	for m.skip("t") { // a parameter is dropped
		m.natural()
	}
	c := m.next()
	text := specializations[c]
	n := m.node(specialized, text)
	if text == "" || !m.specializationPass(n) {
		return nil
	}
	if c == 'p' || c == 'P' {
		typ := m.popType()
		entity := m.popEntity()
		if typ == nil || entity == nil {
			return nil
		}
		n.labels = append(n.labels, "Signature = ")
		n.kids = []*node{entity, typ}
		return n
	}
	var types []*node
	for {
		isFirst := m.pop(firstElement) != nil
		typ := m.popType()
		if typ == nil {
			return nil
		}
		types = append(types, typ)
		if isFirst {
			break
		}
	}
	entity := m.popEntity()
	if entity == nil {
		return nil
	}
	n.kids = append([]*node{entity}, reversed(types)...)
	return n
}

// specializationPass reads a SPEC-INFO.
func (m *machine) specializationPass(n *node) bool {
	m.skip("m") // parameters of metatypes are removed
	if m.skip("q") {
		n.labels = append(n.labels, "serialized")
	}
	if m.skip("a") || m.skip("r") {
		n.inexact = true
	}
	c := m.next()
	return c >= '0' && c <= '9'
}

// signatureSpecialization reads how the parameters of a function are changed.
func (m *machine) signatureSpecialization() *node {
	n := m.node(specialized, "function signature specialization")
	if !m.specializationPass(n) {
		return nil
	}
	payloads := ""
	for i := 0; m.peek() != '_'; i++ {
		text, payload, ok := m.argumentChange()
		if !ok {
			return nil
		}
		if text != "" {
			n.labels = append(n.labels, "Arg["+strconv.Itoa(i)+"] = "+text)
		}
		payloads += payload
	}
	m.at++
	text, payload, ok := m.argumentChange()
	if !ok {
		return nil
	}
	if text != "" {
		n.labels = append(n.labels, "Return = "+text)
	}
	if payloads += payload; payloads != "" {
		n.inexact = true
	}
	for i := len(payloads) - 1; i >= 0; i-- {
		for payloads[i] == 'c' && m.popType() != nil {
		}
		if m.pop(identifier) == nil {
			return nil
		}
	}
	entity := m.popEntity()
	if entity == nil {
		return nil
	}
	n.kids = []*node{entity}
	return n
}

// argumentChange reads an ARG-SPEC-KIND. The payload is a letter for what it has on the stack.
func (m *machine) argumentChange() (text, payload string, ok bool) {
	switch m.next() {
	case 'n':
		return "", "", true
	case 'c', 'E':
		return "", "c", true
	case 'p':
		return m.constant()
	case 'e':
		return m.argumentOptions("Existential To Protocol Constrained Generic", "DGOX"), "", true
	case 'd':
		return m.argumentOptions("Dead", "GOX"), "", true
	case 'g':
		return m.argumentOptions("Owned To Guaranteed", "X"), "", true
	case 'o':
		return m.argumentOptions("Guaranteed To Owned", "X"), "", true
	case 'x':
		return "Exploded", "", true
	case 'i':
		return "Value Promoted from Box", "", true
	case 's':
		return "Stack Promoted from Box", "", true
	}
	return "", "", false
}

func (m *machine) argumentOptions(text, options string) string {
	names := map[rune]string{'D': "Dead", 'G': "Owned To Guaranteed", 'O': "Guaranteed To Owned", 'X': "Exploded"}
	for _, c := range options {
		if m.skip(string(c)) {
			text += " and " + names[c]
		}
	}
	return text
}

func (m *machine) constant() (text, payload string, ok bool) {
	switch m.next() {
	case 'f', 'g':
		return "", "f", true
	case 'i':
		n := m.digits()
		return "[Constant Propagated Integer : " + n + "]", "", n != ""
	case 'd':
		n := m.digits()
		return "[Constant Propagated Float : " + n + "]", "", n != ""
	case 's':
		m.next()
		return "", "s", true
	}
	return "", "", false
}

func (m *machine) digits() string {
	from := m.at
	for c := m.peek(); c >= '0' && c <= '9'; c = m.peek() {
		m.at++
	}
	return m.in[from:m.at]
}
