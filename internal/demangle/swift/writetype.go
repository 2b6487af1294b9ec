package swift

import "strconv"

// withTypes writes what is within types, which are always complete.
func (w *writer) withTypes(write func()) {
	options := w.options
	w.options = Options{Types: true, Arguments: true}
	write()
	w.options = options
}

func (w *writer) writeType(n *node) {
	switch n.kind {
	case builtin, genericParameter:
		w.text(n.text)
	case bound:
		w.bound(n)
	case functionType:
		w.withTypes(func() { w.functionType(n, nil) })
	case tuple:
		w.text("(")
		w.list(n.kids)
		w.text(")")
	case metatype:
		w.metatype(n)
	case decorated:
		w.text(n.text)
		w.write(n.kids[0])
	case protocols:
		w.protocols(n)
	case member:
		w.write(n.kids[0])
		w.text(".")
		w.write(n.kids[1])
	case genericType:
		w.genericType(n)
	case implFunction:
		w.implFunction(n, nil, nil)
	case opaqueType:
		w.withTypes(func() { w.write(n.kids[0]) })
		w.text("." + strconv.Itoa(n.index))
	default:
		w.failed = true
	}
}

// bound writes a generic type with its arguments; arrays, dictionaries and optionals as they are written in Swift.
func (w *writer) bound(n *node) {
	generic, arguments := n.kids[0], n.kids[1:]
	if n.text == "pack" {
		w.text("Pack{")
		w.list(arguments)
		w.text("}")
		return
	}
	w.inexact = w.inexact || generic.text == "P" // written as the type that conforms
	if !w.options.Arguments {
		w.write(generic)
		return
	}
	switch {
	case isStandard(generic, "Optional") && len(arguments) == 1:
		w.simple(arguments[0])
		w.text("?")
	case isStandard(generic, "Array") && len(arguments) == 1:
		w.text("[")
		w.write(arguments[0])
		w.text("]")
	case isStandard(generic, "Dictionary") && len(arguments) == 2:
		w.text("[")
		w.write(arguments[0])
		w.text(" : ")
		w.write(arguments[1])
		w.text("]")
	default:
		w.write(generic)
		w.text("<")
		w.list(arguments)
		w.text(">")
	}
}

func isStandard(n *node, name string) bool {
	return n.kind == nominal && n.kids[0].kind == module && n.kids[0].text == "Swift" && n.kids[1].text == name
}

// simple writes a type so that something can follow it.
func (w *writer) simple(n *node) {
	isSimple := true
	switch n.kind {
	case functionType, implFunction, genericType, decorated:
		isSimple = false
	case protocols:
		isSimple = len(n.kids) <= 1
	}
	if !isSimple {
		w.text("(")
	}
	w.write(n)
	if !isSimple {
		w.text(")")
	}
}

func (w *writer) metatype(n *node) {
	w.text(n.text)
	w.simple(n.kids[0])
	if n.kids[0].kind == protocols && n.index == 0 {
		w.text(".Protocol")
	} else {
		w.text(".Type")
	}
}

func (w *writer) protocols(n *node) {
	if len(n.kids) == 0 {
		w.text("Any")
	}
	for i, protocol := range n.kids {
		if i > 0 {
			w.text(" & ")
		}
		w.write(protocol)
	}
}

func (w *writer) assocName(n *node) {
	if len(n.kids) == 1 {
		w.write(n.kids[0])
		w.text(".")
	}
	w.text(n.text)
}

func (w *writer) genericType(n *node) {
	if n.kids[1].kind == implFunction {
		w.implFunction(n.kids[1], n.kids[0], n.kid(2))
		return
	}
	w.signature(n.kids[0])
	w.text(" ")
	w.write(n.kids[1])
}

// implFunction writes a function's type as it is called. A signature is its own, or that of a pattern which it follows for some types.
func (w *writer) implFunction(n, sig, substituted *node) {
	w.text(n.text)
	if substituted != nil {
		w.text("@substituted ")
	}
	if sig != nil {
		w.signature(sig)
		w.text(" ")
	}
	w.text("(")
	w.list(n.kids[:n.index])
	w.text(") -> (")
	w.list(n.kids[n.index:])
	w.text(")")
	if substituted != nil {
		w.text(" for <")
		w.list(substituted.kids)
		w.text(">")
	}
}

// signature writes the parameters of a generic, by depth, and its requirements.
func (w *writer) signature(n *node) {
	packs := map[string]bool{}
	var requirements []*node
	for _, kid := range n.kids {
		if kid.kind == packMarker {
			packs[kid.kids[0].text] = true
		} else {
			requirements = append(requirements, kid)
		}
	}
	w.text("<")
	for depth, count := range n.counts {
		if w.failed {
			return
		}
		if depth > 0 {
			w.text("><")
		}
		for i := range count {
			w.steps++
			if i > 0 {
				w.text(", ")
			}
			if i >= 128 {
				w.text("...")
				break
			}
			name := parameterName(depth, i)
			if packs[name] {
				w.text("each ")
			}
			w.text(name)
		}
	}
	if len(requirements) > 0 {
		w.text(" where ")
		w.list(requirements)
	}
	w.text(">")
}

func (w *writer) requirement(n *node) {
	w.write(n.kids[0])
	w.text(n.text)
	w.write(n.kids[1])
}
