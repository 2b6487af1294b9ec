// Package dlang demangles names of functions and variables of the language D, as https://dlang.org/spec/abi.html#name_mangling
// specifies them. Complete names are written as GNU c++filt writes them.
package dlang

import "strings"

// Options are what a name is written with.
type Options struct {
	Parameters bool // the types of parameters, and the qualifiers of methods
	Arguments  bool // the arguments of templates
}

const (
	// maxDepth is how deeply types and names may nest; each takes a few frames of the stack.
	maxDepth = 256
	// maxSteps bounds the time: back references can repeat all that is before them, in each other.
	maxSteps = 1 << 16
	maxBytes = 64 << 10 // of a demangled name
	// maxWritten bounds the copying, as what is read can be written and then dropped.
	maxWritten = 1 << 20
)

// Demangle returns the name that a symbol stands for. It fails if the symbol is not one of D, or would stand for more than 64 KiB.
// A suffix of a function's clone ("_D1a1bFZv.cold") is written in brackets, with parameters only.
func Demangle(symbol string, options Options) (string, bool) {
	if symbol == "_Dmain" {
		return "D main", true
	}
	if !strings.HasPrefix(symbol, "_D") {
		return "", false
	}
	mangled, suffix := withoutCloneSuffix(symbol)
	d := demangler{in: mangled, at: len("_D"), options: options, out: make([]byte, 0, 2*len(mangled))}
	d.thunk()
	if !d.mangledName() || d.at != len(d.in) || len(d.out) == 0 || len(d.out) > maxBytes {
		return "", false
	}
	if suffix != "" && options.Parameters {
		return string(d.out) + " (" + suffix + ")", true
	}
	return string(d.out), true
}

// thunk reads the mark of a function by which GNU D calls a method of an interface, before the method's own name.
func (d *demangler) thunk() {
	if !d.skip("Ti") {
		return
	}
	d.digits()
	if d.skip("_D") {
		d.write("non-virtual thunk to ")
	}
}

// withoutCloneSuffix cuts what a compiler appends to the names of local copies: a dot and more, which no mangled name contains.
func withoutCloneSuffix(symbol string) (name, suffix string) {
	if at := strings.IndexByte(symbol, '.'); at > 0 {
		return symbol[:at], symbol[at:]
	}
	return symbol, ""
}

// demangler reads in from at on, and writes to out. Its methods report whether what they expect is there.
type demangler struct {
	in      string
	at      int
	out     []byte
	options Options
	depth   int
	steps   int
	written int
	// lastReference is the place of the innermost type reference that is being followed, to which those within must be earlier:
	// otherwise a type could contain itself. 0 is none.
	lastReference int
}

// enter begins one level of nesting; leave ends it.
func (d *demangler) enter() bool {
	d.depth++
	d.steps++
	return d.depth <= maxDepth && d.steps <= maxSteps && d.written <= maxWritten && len(d.out) <= maxBytes
}

func (d *demangler) leave() { d.depth-- }

// peek returns the next byte, 0 at the end.
func (d *demangler) peek() byte { return d.peekAt(0) }

func (d *demangler) peekAt(offset int) byte {
	if d.at+offset < len(d.in) {
		return d.in[d.at+offset]
	}
	return 0
}

// skip consumes a string if it is next.
func (d *demangler) skip(s string) bool {
	if !strings.HasPrefix(d.in[d.at:], s) {
		return false
	}
	d.at += len(s)
	return true
}

func (d *demangler) write(s string) {
	d.written += len(s)
	d.out = append(d.out, s...)
}

// discarding writes what parse writes only if wanted is set.
func (d *demangler) discarding(wanted bool, parse func() bool) bool {
	mark := len(d.out)
	ok := parse()
	if !wanted {
		d.out = d.out[:mark]
	}
	return ok
}

// number reads a decimal number.
func (d *demangler) number() (n int, ok bool) {
	from := d.at
	for isDigit(d.peek()) {
		if n > 1<<30 {
			return 0, false
		}
		n = n*10 + int(d.peek()-'0')
		d.at++
	}
	return n, d.at > from
}

// digits reads a decimal number of any size and returns its text.
func (d *demangler) digits() string {
	from := d.at
	for isDigit(d.peek()) {
		d.at++
	}
	return d.in[from:d.at]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// reference reads a back reference, "Q" and a number of base 26 whose last digit is a small letter, and returns where it points to.
func (d *demangler) reference() (target int, ok bool) {
	from := d.at
	if !d.skip("Q") {
		return 0, false
	}
	distance := 0
	for distance <= len(d.in) {
		c := d.peek()
		d.at++
		switch {
		case c >= 'A' && c <= 'Z':
			distance = distance*26 + int(c-'A')
		case c >= 'a' && c <= 'z':
			distance = distance*26 + int(c-'a')
			return from - distance, distance > 0 && distance <= from-len("_D")
		default:
			return 0, false
		}
	}
	return 0, false
}
