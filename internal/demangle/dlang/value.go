package dlang

import (
	"fmt"
	"strconv"
)

// value reads and writes a value of a template argument. The kind is the first letter of its type, 0 if it is part of another value.
func (d *demangler) value(typ string, kind byte) bool {
	if !d.enter() {
		return false
	}
	defer d.leave()
	switch c := d.peek(); {
	case d.skip("n"):
		return d.append("null")
	case d.skip("N"):
		d.write("-")
		return d.integer(kind)
	case d.skip("i"):
		return isDigit(d.peek()) && d.integer(kind)
	case isDigit(c): // as compilers wrote them first
		return d.integer(kind)
	case d.skip("e"):
		return d.float()
	case d.skip("c"):
		if !d.float() || !d.skip("c") {
			return false
		}
		d.write("+")
		return d.float() && d.append("i")
	case c == 'a' || c == 'w' || c == 'd':
		return d.text()
	case d.skip("A"):
		if kind == 'H' {
			return d.list("[", "]", true)
		}
		return d.list("[", "]", false)
	case d.skip("S"):
		return d.list(typ+"(", ")", false)
	case d.skip("f"):
		return d.skip("_D") && d.mangledName()
	}
	return false
}

// list reads a number of values, or of keys and values.
func (d *demangler) list(open, end string, keys bool) bool {
	n, ok := d.number()
	if !ok {
		return false
	}
	d.write(open)
	for i := range n {
		if i > 0 {
			d.write(", ")
		}
		if !d.value("", 0) {
			return false
		}
		if !keys {
			continue
		}
		d.write(":")
		if !d.value("", 0) {
			return false
		}
	}
	return d.append(end)
}

func (d *demangler) integer(kind byte) bool {
	number := d.digits()
	if number == "" {
		return false
	}
	switch kind {
	case 'a', 'u', 'w':
		return d.character(number, kind)
	case 'b':
		if number == "0" {
			return d.append("false")
		}
		return d.append("true")
	case 'h', 't', 'k':
		return d.append(number + "u")
	case 'l':
		return d.append(number + "L")
	case 'm':
		return d.append(number + "uL")
	}
	return d.append(number)
}

func (d *demangler) character(number string, kind byte) bool {
	c, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return false
	}
	switch {
	case kind == 'a' && c >= ' ' && c < 0x7f:
		return d.append("'" + string(rune(c)) + "'")
	case kind == 'a':
		return d.append(fmt.Sprintf(`'\x%02x'`, c))
	case kind == 'u':
		return d.append(fmt.Sprintf(`'\u%04x'`, c))
	}
	return d.append(fmt.Sprintf(`'\U%08x'`, c))
}

// float reads a floating point number, which is written in base 16 with an exponent of 2.
func (d *demangler) float() bool {
	for _, named := range []struct{ mangled, text string }{{"NAN", "NaN"}, {"INF", "Inf"}, {"NINF", "-Inf"}} {
		if d.skip(named.mangled) {
			return d.append(named.text)
		}
	}
	if d.skip("N") {
		d.write("-")
	}
	mantissa := d.hexDigits()
	if mantissa == "" || !d.skip("P") {
		return false
	}
	d.write("0x" + mantissa[:1] + "." + mantissa[1:] + "p")
	if d.skip("N") {
		d.write("-")
	}
	exponent := d.digits()
	d.write(exponent)
	return exponent != ""
}

func (d *demangler) hexDigits() string {
	from := d.at
	for isDigit(d.peek()) || d.peek() >= 'A' && d.peek() <= 'F' {
		d.at++
	}
	return d.in[from:d.at]
}

var escapes = map[byte]string{'\t': `\t`, '\n': `\n`, '\r': `\r`, '\f': `\f`, '\v': `\v`}

// text reads a string, whose bytes are written in base 16.
func (d *demangler) text() bool {
	kind := d.peek()
	d.at++
	n, ok := d.number()
	if !ok || !d.skip("_") || n > (len(d.in)-d.at)/2 {
		return false
	}
	d.write(`"`)
	for range n {
		digits := d.in[d.at : d.at+2]
		c, err := strconv.ParseUint(digits, 16, 8)
		if err != nil {
			return false
		}
		d.at += 2
		switch {
		case escapes[byte(c)] != "":
			d.write(escapes[byte(c)])
		case c >= ' ' && c < 0x7f:
			d.out = append(d.out, byte(c))
		default:
			d.write(`\x` + digits)
		}
	}
	d.write(`"`)
	if kind != 'a' {
		d.out = append(d.out, kind)
	}
	return true
}
