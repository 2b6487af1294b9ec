package swift

func (m *machine) extension() *node {
	sig := m.pop(signature)
	mod := m.popModule()
	n := m.all(extension, "", mod, m.popIf(func(n *node) bool { return n.kind == nominal || n.kind == bound }))
	if n != nil {
		n.kids = append(n.kids, sig)
	}
	return n
}

func (m *machine) function() *node {
	sig := m.pop(signature)
	typ := m.functionType("")
	if typ == nil {
		return nil
	}
	labels, ok := m.popLabels(typ)
	if sig != nil {
		typ = m.node(genericType, "", sig, typ)
	}
	name := m.popDeclName()
	n := m.all(function, "", m.popContext(), name, typ)
	if n == nil || !ok {
		return nil
	}
	n.labels = labels
	return n
}

// functionEntity reads entities that have an operator of two letters.
func (m *machine) functionEntity() *node {
	switch c := m.next(); c {
	case 'C':
		return m.constructor("__allocating_init")
	case 'c':
		return m.constructor("init")
	case 'D':
		return m.all(destructor, "__deallocating_deinit", m.popContext())
	case 'Z':
		return m.all(destructor, "__isolated_deallocating_deinit", m.popContext())
	case 'd':
		return m.all(destructor, "deinit", m.popContext())
	case 'E':
		return m.all(destructor, "__ivar_destroyer", m.popContext())
	case 'e':
		return m.all(destructor, "__ivar_initializer", m.popContext())
	case 'U':
		return m.closure("closure")
	case 'u':
		return m.closure("implicit closure")
	case 'A':
		index, ok := m.indexNumber()
		n := m.all(ofContext, "default argument", m.popContext())
		if n == nil || !ok {
			return nil
		}
		n.index = index
		return n
	case 'i':
		return m.all(ofContext, "variable initialization expression of ", m.popContext())
	case 'P':
		return m.all(ofContext, "property wrapper backing initializer of ", m.popContext())
	case 'W':
		return m.all(ofContext, "property wrapper init from projected value of ", m.popContext())
	}
	return nil
}

func (m *machine) constructor(text string) *node {
	file := m.pop(anonymous)
	typ := m.popType()
	if typ == nil {
		return nil
	}
	labels, ok := m.popLabels(typ)
	n := m.all(constructor, text, m.popContext())
	if n == nil || !ok {
		return nil
	}
	n.kids = append(n.kids, file, typ)
	n.labels = labels
	return n
}

func (m *machine) closure(text string) *node {
	index, ok := m.indexNumber()
	typ := m.popType()
	n := m.all(closure, text, m.popContext(), typ)
	if n == nil || !ok {
		return nil
	}
	n.index = index
	return n
}

func (m *machine) variable() *node {
	typ := m.popType()
	if typ == nil {
		return nil
	}
	labels, ok := m.popLabels(typ)
	name := m.popDeclName()
	n := m.all(variable, "", m.popContext(), name, typ)
	if n == nil || !ok {
		return nil
	}
	n.labels = labels
	return m.accessor(n)
}

func (m *machine) subscript() *node {
	file := m.pop(anonymous)
	typ := m.popType()
	if typ == nil {
		return nil
	}
	labels, ok := m.popLabels(typ)
	n := m.all(subscript, "", m.popContext())
	if n == nil || !ok {
		return nil
	}
	n.kids = append(n.kids, file, typ)
	n.labels = labels
	return m.accessor(n)
}

var accessors = map[byte]string{
	'm': "materializeForSet", 's': "setter", 'g': "getter", 'G': "getter", 'w': "willset", 'W': "didset", 'r': "read",
	'M': "modify", 'x': "modify2", 'y': "read2", 'b': "borrow", 'z': "mutate", 'i': "init",
}

// accessor reads by which function a variable or subscript is accessed; "p" is itself.
func (m *machine) accessor(storage *node) *node {
	c := m.next()
	switch {
	case c == 'p':
		return storage
	case accessors[c] != "":
		return m.node(accessor, accessors[c], storage)
	}
	text := map[byte]string{'a': "MutableAddressor", 'l': "Addressor"}[c]
	owner := map[byte]string{'u': "unsafe", 'O': "owning", 'o': "nativeOwning", 'p': "nativePinning"}[m.next()]
	if text == "" || owner == "" {
		return nil
	}
	return m.node(accessor, owner+text, storage)
}
