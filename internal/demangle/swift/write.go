package swift

import (
	"strconv"
	"strings"
)

// writer writes a tree. Types are always complete; the options say which are written.
type writer struct {
	out     []byte
	options Options
	depth   int
	steps   int
	inexact bool // something could not be written with types
	failed  bool
}

func write(root *node, options Options) (name string, exact, ok bool) {
	w := writer{options: options}
	w.write(root)
	if w.failed || len(w.out) == 0 {
		return "", false, false
	}
	return string(w.out), !w.inexact, true
}

func (w *writer) text(s string) {
	if len(w.out)+len(s) > maxBytes {
		w.failed = true
		return
	}
	w.out = append(w.out, s...)
}

// write writes a node that is not a context before something else.
func (w *writer) write(n *node) {
	w.depth++
	w.steps++
	defer func() { w.depth-- }()
	if w.failed || w.depth > maxDepth || w.steps > maxNodes {
		w.failed = true
		return
	}
	w.inexact = w.inexact || n.inexact
	if n.isType() && n.kind != nominal {
		w.writeType(n)
		return
	}
	switch n.kind {
	case identifier, operatorName, module:
		w.text(n.text)
	case localName, privateName:
		w.name(n)
	case nominal:
		w.entity(n, func() { w.name(n.kids[1]) })
	case extension:
		w.extension(n)
	case function, variable, subscript, accessor, constructor, destructor, closure:
		w.declaration(n)
	case ofContext, prefixed, static:
		w.prefixed(n)
	case conformance:
		w.conformance(n)
	case witness:
		w.witness(n)
	case keyPath:
		w.keyPath(n)
	case specialized:
		w.specialized(n)
	case converted:
		w.converted(n)
	case opaqueOf:
		w.text("<<opaque return type of ")
		w.write(n.kids[0])
		w.text(">>")
	case signature:
		w.signature(n)
	case requirement, packMarker:
		w.requirement(n)
	case assocName:
		w.assocName(n)
	case element:
		w.element(n, "")
	default:
		w.failed = true
	}
}

// list writes nodes with commas between them.
func (w *writer) list(nodes []*node) {
	for i, n := range nodes {
		if i > 0 {
			w.text(", ")
		}
		w.write(n)
	}
}

// name writes the name of a declaration.
func (w *writer) name(n *node) {
	switch {
	case n.kind == privateName && w.options.Types:
		w.text("(")
		w.name(n.kids[0])
		w.text(" in " + n.text + ")")
	case n.kind == privateName:
		w.name(n.kids[0])
	case n.kind == localName && n.text != "":
		w.text(n.text)
		w.name(n.kids[0])
	case n.kind == localName:
		w.name(n.kids[0])
		w.text(" #" + strconv.Itoa(n.index+1))
	default:
		w.text(n.text)
	}
}

// isPrefix reports whether a context is written before what it contains, with a dot; else it is written behind it, after "in".
func isPrefix(n *node) bool {
	for ; n != nil; n = n.kid(0) {
		switch n.kind {
		case module:
			return true
		case bound:
			n = n.kids[0]
			if n.kind != nominal {
				return false
			}
			fallthrough
		case nominal:
			if n.kids[1].kind == localName && n.kids[1].text == "" {
				return false
			}
		case extension:
			n = &node{kids: n.kids[1:]}
		default:
			return false
		}
	}
	return false
}

// entity writes the context of a node, its first kid, and what write writes.
func (w *writer) entity(n *node, write func()) {
	context := n.kids[0]
	if isPrefix(context) {
		w.write(context)
		w.text(".")
		write()
		return
	}
	write()
	w.text(" in ")
	w.write(context)
}

func (w *writer) extension(n *node) {
	w.text("(extension in ")
	w.write(n.kids[0])
	w.text("):")
	w.write(n.kids[1])
	if n.kids[2] != nil && w.options.Types {
		w.signature(n.kids[2])
	}
}

// declaration writes a function, variable or part of one.
func (w *writer) declaration(n *node) {
	switch n.kind {
	case function:
		w.entity(n, func() {
			w.name(n.kids[1])
			if n.kids[1].kind == localName && w.options.Types {
				w.text(" ")
			}
			w.functionSignature(n.kids[2], n.labels)
		})
	case constructor:
		w.entity(n, func() {
			switch {
			case n.text == "init":
				w.file(n.kids[1])
				w.text("init")
			case isClass(n.kids[0]):
				w.text("__allocating_init")
			default:
				w.text("init")
			}
			w.functionSignature(n.kids[2], n.labels)
		})
	case destructor:
		w.entity(n, func() { w.text(n.text) })
	case closure:
		w.entity(n, func() {
			w.text(n.text + " #" + strconv.Itoa(n.index+1))
			if !w.options.Types {
				return
			}
			w.text(" ")
			if n.kids[1].kind == functionType && strings.HasPrefix(n.kids[1].text, "@autoclosure") {
				w.text(": ")
			}
			w.write(n.kids[1])
		})
	case accessor:
		w.storage(n.kids[0], "."+n.text)
	default:
		w.storage(n, "")
	}
}

// storage writes a variable or subscript, and an accessor of it.
func (w *writer) storage(n *node, accessor string) {
	w.entity(n, func() {
		typ := n.kids[2]
		if n.kind == variable {
			w.name(n.kids[1])
		} else {
			w.file(n.kids[1])
			w.text("subscript")
		}
		w.text(accessor)
		switch {
		case !w.options.Types:
		case n.kind == variable:
			w.text(" : ")
			w.write(typ)
		default:
			if accessor != "" {
				w.text(" : ")
			}
			w.functionSignature(typ, n.labels)
		}
	})
}

// file writes in which file a declaration without a name is private.
func (w *writer) file(n *node) {
	if n != nil && w.options.Types {
		w.text("(in " + n.text + ").")
	}
}

func isClass(n *node) bool {
	if n.kind == bound {
		n = n.kids[0]
	}
	return n.kind == nominal && n.text == "C"
}

// functionSignature writes the type of a function behind its name.
func (w *writer) functionSignature(typ *node, labels []string) {
	if !w.options.Types {
		return
	}
	if typ.kind == genericType {
		w.signature(typ.kids[0])
		typ = typ.kids[1]
	}
	if typ.kind != functionType {
		w.failed = true
		return
	}
	w.functionType(typ, labels)
}

func (w *writer) functionType(n *node, labels []string) {
	w.text(n.text)
	for _, a := range n.kids[2:] {
		if a.kind == annotation && len(a.kids) == 1 {
			w.text("@")
			w.write(a.kids[0])
			w.text(" ")
		} else if a.kind == annotation && !strings.HasPrefix(a.text, " ") {
			w.text(a.text)
		}
	}
	w.parameters(n.kids[0], labels)
	w.effects(n)
	w.text(" -> ")
	for _, a := range n.kids[2:] {
		if a.text == sendingResult {
			w.text("sending ")
		}
	}
	w.write(n.kids[1])
}

// effects writes what is between the parameters and the arrow.
func (w *writer) effects(n *node) {
	for _, a := range n.kids[2:] {
		if a.kind == annotation && a.text == " async" {
			w.text(a.text)
		}
	}
	for _, a := range n.kids[2:] {
		if a.kind == throwing {
			w.text(" throws")
			if len(a.kids) == 1 {
				w.text("(")
				w.write(a.kids[0])
				w.text(")")
			}
		}
	}
}

func (w *writer) parameters(n *node, labels []string) {
	w.text("(")
	if n.kind != tuple {
		if len(labels) == 1 {
			w.text(labels[0] + ": ")
		}
		w.write(n)
	} else {
		for i, e := range n.kids {
			if i > 0 {
				w.text(", ")
			}
			label := ""
			if i < len(labels) {
				label = labels[i]
			}
			w.element(e, label)
		}
	}
	w.text(")")
}

// element writes a part of a tuple or a parameter.
func (w *writer) element(e *node, label string) {
	for _, label := range []string{label, e.text} {
		if label != "" {
			w.text(label + ": ")
		}
	}
	w.write(e.kids[0])
	if e.index == 1 {
		w.text("...")
	}
}

func (w *writer) prefixed(n *node) {
	switch {
	case n.kind == static:
		w.text("static ")
	case n.text == "default argument":
		w.text("default argument " + strconv.Itoa(n.index) + " of ")
	default:
		w.text(n.text)
	}
	w.list(n.kids)
}

func (w *writer) conformance(n *node) {
	if n.kids[3] != nil && w.options.Types {
		w.signature(n.kids[3])
		w.text(" ")
	}
	w.write(n.kids[0])
	w.text(" : ")
	w.write(n.kids[1])
	w.text(" in ")
	w.write(n.kids[2])
}

// witness writes a thunk or table that is found by a conformance, or in a table of methods.
func (w *writer) witness(n *node) {
	w.text(n.text)
	w.write(n.kids[0])
	switch {
	case n.kids[1].kind != conformance:
		w.text(" dispatching to ")
	case strings.HasPrefix(n.text, "lazy"):
		w.text(" and conformance ")
	case strings.HasSuffix(n.text, "accessor for "):
		w.text(" in ")
	default:
		w.text(" in conformance ")
	}
	w.write(n.kids[1])
}

func (w *writer) keyPath(n *node) {
	w.text(n.text)
	w.write(n.kids[0])
	if !w.options.Types {
		return
	}
	w.text(" : ")
	types := n.kids[1:]
	if types[0].kind == signature {
		w.signature(types[0])
		types = types[1:]
	}
	w.list(types)
	if n.index == 1 {
		w.text(", serialized")
	}
}

func (w *writer) specialized(n *node) {
	w.text(n.text)
	isGeneric := len(n.kids) > 1
	if isGeneric && w.options.Arguments || w.options.Types {
		w.text(" <" + strings.Join(n.labels, ", "))
		if isGeneric && len(n.labels) > 0 && !strings.HasSuffix(n.labels[len(n.labels)-1], " = ") {
			w.text(", ")
		}
		w.list(n.kids[1:])
		w.text(">")
	}
	w.text(" of ")
	w.write(n.kids[0])
}

func (w *writer) converted(n *node) {
	w.text(n.text)
	if !w.options.Arguments {
		return
	}
	w.text(" ")
	if n.kids[2] != nil {
		w.signature(n.kids[2])
		w.text(" ")
	}
	w.text("from ")
	w.write(n.kids[0])
	w.text(" to ")
	w.write(n.kids[1])
}
