package swift

// node is a part of a name: an entity, a type, or what an operator behind it needs.
type node struct {
	kind kind
	text string
	// index is a number from 0 of a closure, local name or argument, and otherwise what the kind says.
	index  int
	kids   []*node
	labels []string // of a function's parameters; nil if it has none
	counts []int    // of a signature: generic parameters at each depth
	// inexact is set where a part that distinguishes an entity is not kept: it can be written without types only.
	inexact bool
}

type kind uint8

const (
	_ kind = iota

	// Names.
	identifier
	operatorName
	localName   // index
	privateName // text: the file's discriminator
	anonymous   // text: the file's discriminator of an entity without a name of its own
	module

	// Marks that lists and types consist of.
	emptyList
	firstElement
	variadic
	retroactive // conformance of an argument
	ofModule    // a protocol to which the module of the type or of the protocol makes a type conform
	annotation  // of a function type: text is written before the parameters, or behind them if it begins with a space
	throwing    // annotation "throws"; kids: the type of errors, if any

	// Entities, which can be contexts. Kids: the context, and for most the name and the type.
	extension // kids: module, type, signature or nil
	function
	variable
	subscript
	accessor    // text; kids: storage
	constructor // text: init or __allocating_init
	destructor
	closure     // text, index
	ofContext   // text and what it is of: "default argument 0 of "
	static      // of an entity
	prefixed    // text and what it is of; never a context
	conformance // kids: type, protocol, module, signature or nil
	witness     // a text, an entity, a text and a conformance
	keyPath     // kids: entity, signature or nil, types
	specialized // text; kids: entity, arguments
	converted   // a thunk from a type to another; kids: from, to, signature or nil
	opaqueOf    // of a function with an opaque result

	// Types.
	nominal // kids: context, name
	builtin // text
	bound   // kids: nominal, arguments
	functionType
	tuple // kids: elements
	element
	genericParameter
	metatype     // text: its representation; kids: type; index: 1 if of an existential type
	decorated    // text before the type
	protocols    // kids
	member       // kids: base, assocName
	assocName    // text; kids: protocol or nil
	signature    // kids: requirements
	genericType  // kids: signature, type
	implFunction // text: attributes; kids: parameters, index of them, and results, as decorated types
	opaqueType   // kids: opaqueOf, arguments
	requirement  // text between the two kids
	packMarker   // kids: the generic parameter
)

func (n *node) isType() bool {
	return n.kind >= nominal && n.kind <= opaqueType && n.kind != element && n.kind != assocName && n.kind != signature
}

func (n *node) isEntity() bool {
	switch n.kind {
	case function, variable, subscript, accessor, constructor, destructor, closure, ofContext, static, prefixed, witness, nominal,
		keyPath, specialized, converted:
		return true
	}
	return false
}

// isMember reports whether an entity can be static or be called through a table of methods.
func (n *node) isMember() bool {
	switch n.kind {
	case function, variable, subscript, accessor, constructor, destructor, static:
		return true
	}
	return false
}

func (n *node) isContext() bool {
	return n.kind == module || n.kind == extension || n.kind == opaqueOf || n.isEntity() || n.kind == bound
}

func (n *node) isDeclName() bool {
	return n.kind == identifier || n.kind == operatorName || n.kind == localName || n.kind == privateName
}

// kid returns a part, nil if there are not so many.
func (n *node) kid(i int) *node {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return nil
}
