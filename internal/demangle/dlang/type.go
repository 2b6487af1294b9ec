package dlang

// basicTypes are the types of one letter.
var basicTypes = [256]string{
	'v': "void", 'g': "byte", 'h': "ubyte", 's': "short", 't': "ushort", 'i': "int", 'k': "uint", 'l': "long", 'm': "ulong",
	'f': "float", 'd': "double", 'e': "real", 'o': "ifloat", 'p': "idouble", 'j': "ireal", 'q': "cfloat", 'r': "cdouble",
	'c': "creal", 'b': "bool", 'a': "char", 'u': "wchar", 'w': "dchar", 'n': "typeof(null)",
}

// typ reads and writes a type.
func (d *demangler) typ() bool {
	if !d.enter() {
		return false
	}
	defer d.leave()
	c := d.peek()
	if basic := basicTypes[c]; basic != "" {
		d.at++
		d.write(basic)
		return true
	}
	switch c {
	case 'Q':
		return d.typeReference(d.typ)
	case 'P':
		d.at++
		if isCallingConvention(d.peek()) {
			return d.function("function", "")
		}
		return d.typ() && d.append("*")
	case 'D':
		d.at++
		return d.delegate()
	case 'C', 'S', 'E', 'T', 'I':
		d.at++
		return d.qualifiedName(false)
	case 'F', 'U', 'W', 'V', 'R', 'Y':
		return d.function("", "")
	case 'A':
		d.at++
		return d.typ() && d.append("[]")
	case 'G':
		d.at++
		length := d.digits()
		return length != "" && d.typ() && d.append("["+length+"]")
	case 'H':
		d.at++
		return d.associativeArray()
	case 'B':
		d.at++
		return d.tuple()
	}
	return d.typeOfMoreLetters()
}

// append is write as the last part of a condition.
func (d *demangler) append(s string) bool {
	d.write(s)
	return true
}

func (d *demangler) typeOfMoreLetters() bool {
	switch {
	case d.skip("x"):
		return d.wrapped("const(")
	case d.skip("y"):
		return d.wrapped("immutable(")
	case d.skip("O"):
		return d.wrapped("shared(")
	case d.skip("Ng"):
		return d.wrapped("inout(")
	case d.skip("Nh"):
		return d.wrapped("__vector(")
	case d.skip("Nn"):
		return d.append("typeof(*null)")
	case d.skip("zi"):
		return d.append("cent")
	case d.skip("zk"):
		return d.append("ucent")
	}
	return false
}

func (d *demangler) wrapped(open string) bool {
	d.write(open)
	return d.typ() && d.append(")")
}

// associativeArray reads the types of keys and values, and writes the values' first.
func (d *demangler) associativeArray() bool {
	mark := len(d.out)
	if !d.typ() {
		return false
	}
	key := string(d.out[mark:])
	d.out = d.out[:mark]
	return d.typ() && d.append("["+key+"]")
}

func (d *demangler) tuple() bool {
	n, ok := d.number()
	if !ok {
		return false
	}
	d.write("Tuple!(")
	for i := range n {
		if i > 0 {
			d.write(", ")
		}
		if !d.typ() {
			return false
		}
	}
	return d.append(")")
}

// typeReference reads what is referred to, by parse, and continues behind the reference.
func (d *demangler) typeReference(parse func() bool) bool {
	from := d.at
	target, ok := d.reference()
	if !ok || d.lastReference > 0 && from >= d.lastReference {
		return false
	}
	next, outer := d.at, d.lastReference
	d.at, d.lastReference = target, from
	ok = parse()
	d.at, d.lastReference = next, outer
	return ok
}

// qualifiers reads those of a type that is shared by the function type of a delegate or method, as they are written behind it.
func (d *demangler) qualifiers() string {
	switch {
	case d.skip("x"):
		return " const"
	case d.skip("y"):
		return " immutable"
	case d.skip("O"):
		return " shared" + d.qualifiers()
	case d.skip("Ng"):
		return " inout" + d.qualifiers()
	}
	return ""
}

func (d *demangler) delegate() bool {
	qualifiers := d.qualifiers()
	if d.peek() == 'Q' {
		return d.typeReference(func() bool { return d.function("delegate", qualifiers) })
	}
	return d.function("delegate", qualifiers)
}

var callingConventions = [256]string{
	'F': "", 'U': "extern(C) ", 'W': "extern(Windows) ", 'V': "extern(Pascal) ", 'R': "extern(C++) ", 'Y': "extern(Objective-C) ",
}

func isCallingConvention(c byte) bool { return c == 'F' || callingConventions[c] != "" }

// function reads a function type and writes it with its return type in front of the parameters, and with its kind and qualifiers
// behind its attributes.
func (d *demangler) function(kind, qualifiers string) bool {
	mark := len(d.out)
	var convention, attributes string
	if !d.functionType(&convention, &attributes) {
		return false
	}
	parameters := string(d.out[mark:])
	d.out = d.out[:mark]
	d.write(convention)
	if !d.typ() {
		return false
	}
	d.write(parameters + attributes)
	if kind != "" {
		d.write(" " + kind)
	}
	return d.append(qualifiers)
}

// functionType reads a function type but for what it returns, and writes the parameters.
func (d *demangler) functionType(convention, attributes *string) bool {
	if !isCallingConvention(d.peek()) {
		return false
	}
	if convention != nil {
		*convention = callingConventions[d.peek()]
	}
	d.at++
	for d.peek() == 'N' {
		attribute := functionAttributes[d.peekAt(1)]
		if attribute == "" {
			break
		}
		if attributes != nil {
			*attributes += attribute
		}
		d.at += 2
	}
	d.write("(")
	return d.parameters() && d.append(")")
}

// functionAttributes are those that "N" and a letter stand for. The letters g, h, k and n begin a parameter.
var functionAttributes = [256]string{
	'a': " pure", 'b': " nothrow", 'c': " ref", 'd': " @property", 'e': " @trusted", 'f': " @safe", 'i': " @nogc", 'j': " return",
	'l': " scope", 'm': " @live",
}

func (d *demangler) parameters() bool {
	for first := true; ; first = false {
		switch {
		case d.skip("Z"):
			return true
		case d.skip("X"):
			return d.append("...")
		case d.skip("Y"):
			if !first {
				d.write(", ")
			}
			return d.append("...")
		}
		if !first {
			d.write(", ")
		}
		d.storageClasses()
		if !d.typ() {
			return false
		}
	}
}

func (d *demangler) storageClasses() {
	for {
		switch {
		case d.skip("M"):
			d.write("scope ")
			continue
		case d.skip("Nk"):
			d.write("return ")
			continue
		case d.skip("I"):
			d.write("in ")
			if d.skip("K") {
				d.write("ref ")
			}
		case d.skip("J"):
			d.write("out ")
		case d.skip("K"):
			d.write("ref ")
		case d.skip("L"):
			d.write("lazy ")
		}
		return
	}
}
