// Package swift demangles names of functions and variables of the language Swift, from version 4 on. The scheme is specified in
// Swift's docs/ABI/Mangling.rst; names of the rules there are used here.
//
// A mangled name is a program for a stack machine: operators are one or more letters, take what they need from a stack and put a
// node on it. Nodes are shared where the name refers back, so that few bytes can stand for a large tree. Reading is therefore
// linear in the name's length, and writing is bounded.
package swift

import "strings"

// Options are what a name is written with.
type Options struct {
	Types     bool // the types of parameters, results and variables, the file of private names, and constraints of generics
	Arguments bool // the arguments of generics, and the types that a thunk converts
}

const (
	maxNodes = 1 << 16 // of a name, also what is left of it for writing: as many nodes, each as often as it is written
	maxDepth = 256     // of nodes that are written
	maxBytes = 64 << 10
	// maxStack bounds repeated references, of which each digit in the name makes ten times as many nodes.
	maxStack = 4096
)

// Demangle returns the name that a symbol stands for, as swift-demangle writes it. A name for which not all of the options can be
// followed is written as the zero Options say, with arguments. It fails if the symbol is not one of Swift, if it has an operator
// that this package does not know, or if it would stand for more than 64 KiB.
func Demangle(symbol string, options Options) (string, bool) {
	mangled, prefix, ok := withoutPrefix(symbol)
	if !ok {
		return "", false
	}
	mangled, suffix, _ := strings.Cut(mangled, ".")
	m := machine{in: mangled, labelsInTypes: prefix == "_T0"}
	root := m.run()
	if root == nil {
		return "", false
	}
	name, exact, ok := write(root, options)
	if ok && !exact && options.Types {
		name, _, ok = write(root, Options{Arguments: true})
		return name, ok
	}
	if suffix != "" && options.Types {
		name += ` with unmangled suffix ".` + suffix + `"`
	}
	return name, ok
}

// withoutPrefix removes what every mangled name begins with: of the stable scheme, of version 4.2, of Embedded Swift and of
// version 4.0. Mach-O puts an underscore before each, as ELF files of version 5 do for the stable one.
func withoutPrefix(symbol string) (mangled, prefix string, ok bool) {
	if len(symbol) < 4 || symbol[0] != '$' && symbol[0] != '_' {
		return "", "", false
	}
	for _, prefix := range []string{"$s", "$S", "$e", "_$s", "_$S", "_$e", "_T0"} {
		if mangled, ok := strings.CutPrefix(symbol, prefix); ok {
			return mangled, prefix, true
		}
	}
	return "", "", false
}
