package dlang

import "strings"

// mangledName reads a whole symbol. The type after a name is that of a variable, or what a function returns; neither is written.
func (d *demangler) mangledName() bool {
	if !d.qualifiedName(true) {
		return false
	}
	if d.skip("Z") { // made by the compiler; without a type
		return true
	}
	if d.functionReference() {
		return true
	}
	return d.discarding(false, d.typ)
}

// functionReference reads the type of a function if it is a reference to a type before it.
func (d *demangler) functionReference() bool {
	from, mark := d.at, len(d.out)
	qualifiers := ""
	if d.skip("M") {
		qualifiers = d.qualifiers()
	}
	ok := d.peek() == 'Q' && d.discarding(d.options.Parameters, func() bool {
		return d.typeReference(func() bool { return d.functionType(nil, nil) }) && d.append(qualifiers)
	})
	if !ok {
		d.at, d.out = from, d.out[:mark]
	}
	return ok
}

// qualifiedName reads names separated by dots in the output. Functions in which others are nested have parameters, which a symbol
// has as the options say, and other names always. Only a symbol has the qualifiers of methods.
func (d *demangler) qualifiedName(isSymbol bool) bool {
	if !d.enter() {
		return false
	}
	defer d.leave()
	for first := true; first || d.isName(); first = false {
		for d.skip("0") { // without a name
		}
		mark := len(d.out)
		if !first {
			d.write(".")
		}
		named := len(d.out)
		if !d.name() {
			return false
		}
		if len(d.out) == named { // a scope that only makes names unique
			d.out = d.out[:mark]
		}
		if c := d.peek(); c == 'M' || isCallingConvention(c) {
			d.tryParameters(isSymbol)
		}
	}
	return true
}

// tryParameters reads a function's parameters. A name that is followed by something else which begins with the same letter
// has none; what is read then stays.
func (d *demangler) tryParameters(isSymbol bool) {
	from, mark := d.at, len(d.out)
	ok := d.discarding(!isSymbol || d.options.Parameters, func() bool {
		qualifiers := ""
		if d.skip("M") {
			qualifiers = d.qualifiers()
		}
		if !d.functionType(nil, nil) {
			return false
		}
		if isSymbol {
			d.write(qualifiers)
		}
		return true
	})
	if !ok || d.at == len(d.in) {
		d.at, d.out = from, d.out[:mark]
	}
}

// isName reports whether a name is next.
func (d *demangler) isName() bool {
	switch c := d.peek(); {
	case isDigit(c):
		return true
	case c == '_':
		return isTemplate(d.in[d.at:])
	case c == 'Q':
		from := d.at
		target, ok := d.reference()
		d.at = from
		return ok && isDigit(d.in[target])
	}
	return false
}

func isTemplate(s string) bool { return strings.HasPrefix(s, "__T") || strings.HasPrefix(s, "__U") }

// name reads one part of a qualified name.
func (d *demangler) name() bool {
	if !d.enter() {
		return false
	}
	defer d.leave()
	switch d.peek() {
	case 'Q':
		return d.nameReference()
	case '_':
		return isTemplate(d.in[d.at:]) && d.templateInstance()
	}
	length, ok := d.number()
	if !ok || length == 0 || length > len(d.in)-d.at {
		return false
	}
	end := d.at + length
	if isTemplate(d.in[d.at:]) { // as compilers wrote instances before 2018
		return d.templateInstance() && d.at == end
	}
	d.identifier(d.in[d.at:end])
	return true
}

// nameReference reads a reference to an identifier before it.
func (d *demangler) nameReference() bool {
	target, ok := d.reference()
	if !ok {
		return false
	}
	next := d.at
	d.at = target
	length, ok := d.number()
	if !ok || length == 0 || length > len(d.in)-d.at {
		return false
	}
	d.identifier(d.in[d.at : d.at+length])
	d.at = next
	return true
}

// madeByCompiler are the data that compilers make for a type or module; their names end with "Z".
var madeByCompiler = map[string]string{
	"__init":       "initializer for ",
	"__vtbl":       "vtable for ",
	"__Class":      "ClassInfo for ",
	"__Interface":  "Interface for ",
	"__ModuleInfo": "ModuleInfo for ",
}

// identifier writes one, which begins at d.at, and goes on behind it.
func (d *demangler) identifier(id string) {
	d.at += len(id)
	switch {
	case id == "__ctor":
		d.write("this")
	case id == "__dtor":
		d.write("~this")
	case id == "__postblit" && d.skip("MFZ"):
		d.write("this(this)")
	case madeByCompiler[id] != "" && d.peek() == 'Z':
		d.out = append([]byte(madeByCompiler[id]), strings.TrimSuffix(string(d.out), ".")...)
	case isUniqueScope(id):
	default:
		d.write(id)
	}
}

// isUniqueScope reports whether an identifier is one of those that the compiler puts around local symbols of the same name.
func isUniqueScope(id string) bool {
	number, ok := strings.CutPrefix(id, "__S")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// templateInstance reads a template and its arguments.
func (d *demangler) templateInstance() bool {
	d.at += len("__T")
	if !d.isName() || d.peek() == '0' || !d.name() {
		return false
	}
	return d.discarding(d.options.Arguments, func() bool {
		d.write("!(")
		if !d.templateArguments() {
			return false
		}
		d.write(")")
		return true
	})
}

func (d *demangler) templateArguments() bool {
	for first := true; !d.skip("Z"); first = false {
		if !first {
			d.write(", ")
		}
		d.skip("H") // of a specialised parameter
		if !d.templateArgument() {
			return false
		}
	}
	return true
}

func (d *demangler) templateArgument() bool {
	switch {
	case d.skip("T"):
		return d.typ()
	case d.skip("S"):
		return d.symbolArgument()
	case d.skip("V"):
		kind := d.peek()
		if kind == 'Q' {
			from := d.at
			target, ok := d.reference()
			if !ok {
				return false
			}
			kind, d.at = d.in[target], from
		}
		mark := len(d.out)
		if !d.typ() {
			return false
		}
		typ := string(d.out[mark:])
		d.out = d.out[:mark]
		return d.value(typ, kind)
	case d.skip("X"): // mangled as another language does
		length, ok := d.number()
		if !ok || length > len(d.in)-d.at {
			return false
		}
		d.write(d.in[d.at : d.at+length])
		d.at += length
		return true
	}
	return false
}

// symbolArgument reads the name of a symbol. Before 2018 its length was before it, so that two numbers follow each other: how long
// each is can only be tried.
func (d *demangler) symbolArgument() bool {
	if d.skip("_D") {
		return d.mangledName()
	}
	if !isDigit(d.peek()) {
		return d.qualifiedName(false)
	}
	from, mark := d.at, len(d.out)
	for digits := len(d.digits()); digits > 0; digits-- {
		d.at, d.out = from+digits, d.out[:mark]
		length, ok := atoi(d.in[from:d.at])
		if end := d.at + length; ok && end <= len(d.in) && d.at < end && d.lengthPrefixed(end) {
			return true
		}
	}
	d.at, d.out = from, d.out[:mark]
	return d.qualifiedName(false)
}

// lengthPrefixed reads a symbol that must end at a place.
func (d *demangler) lengthPrefixed(end int) bool {
	if d.skip("_D") {
		return d.mangledName() && d.at == end
	}
	return d.isName() && d.qualifiedName(false) && d.at == end
}

func atoi(s string) (n int, ok bool) {
	d := demangler{in: s}
	return d.number()
}
