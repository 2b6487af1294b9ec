package python

import "encoding/binary"

// LineOf returns the line of an instruction of a code object; 0: its table does not have it. units is where the instruction is, in units of
// 2 bytes, or negative before the first; table may be cut.
func LineOf(minor int, table []byte, first uint32, units int64) uint32 {
	switch {
	case units < 0:
		return first
	case minor >= 11:
		return locationLine(table, first, units)
	case minor == 10:
		return rangeLine(table, first, units)
	}
	return incrementLine(table, first, units)
}

// locationLine reads the table of 3.11 and later (Objects/locations.md of CPython): entries of a byte with a kind and a number of units, and
// more of which only the difference of lines matters here.
func locationLine(table []byte, first uint32, units int64) uint32 {
	line, at := int64(first), int64(0)
	for len(table) > 0 {
		head := table[0]
		table = table[1:]
		length, delta, has := int64(head&7)+1, int64(0), true
		skip := 0
		switch kind := head >> 3 & 15; {
		case kind == 15:
			has = false
		case kind == 14:
			delta, table = signedNumber(table)
			for range 3 {
				_, table = number(table)
			}
		case kind == 13:
			delta, table = signedNumber(table)
		case kind >= 10:
			delta, skip = int64(kind)-10, 2
		default:
			skip = 1
		}
		table = table[min(skip, len(table)):]
		line += delta
		if at += length; units < at {
			if !has {
				return 0
			}
			return valid(line)
		}
	}
	return 0
}

// number reads 6 bits of each byte, the lowest first; bit 6 is set in all but the last.
func number(b []byte) (n uint64, rest []byte) {
	for shift := 0; len(b) > 0 && shift < 64; shift += 6 {
		n |= uint64(b[0]&63) << shift
		last := b[0]&64 == 0
		if b = b[1:]; last {
			break
		}
	}
	return n, b
}

// signedNumber reads a number with its sign in the lowest bit.
func signedNumber(b []byte) (int64, []byte) {
	n, rest := number(b)
	value := int64(n >> 1)
	if n&1 != 0 {
		value = -value
	}
	return value, rest
}

// rangeLine reads the table of 3.10 (PEP 626): pairs of a number of bytes of code and a signed difference of lines, -128 for no line.
func rangeLine(table []byte, first uint32, units int64) uint32 {
	line, at := int64(first), int64(0)
	for ; len(table) >= 2; table = table[2:] {
		at += int64(table[0])
		delta := int8(table[1])
		if delta != -128 {
			line += int64(delta)
		}
		if units*2 < at {
			if delta == -128 {
				return 0
			}
			return valid(line)
		}
	}
	return 0
}

// incrementLine reads the table of 3.6 to 3.9 (Objects/lnotab_notes.txt of CPython): pairs of bytes of code, and lines, from one line to the next.
func incrementLine(table []byte, first uint32, units int64) uint32 {
	line, at := int64(first), int64(0)
	for ; len(table) >= 2; table = table[2:] {
		if at += int64(table[0]); at > units*2 {
			break
		}
		line += int64(int8(table[1]))
	}
	return valid(line)
}

func valid(line int64) uint32 {
	if line < 1 || line > maxLine {
		return 0
	}
	return uint32(line)
}

// maxLine is the largest number of a line that is believed.
const maxLine = 1<<31 - 1

// Text decodes the characters of a str, as far as they are there: kind is the number of bytes of each.
func Text(b []byte, kind int, ascii bool) string {
	if ascii {
		return string(b)
	}
	runes := make([]rune, 0, len(b))
	switch kind {
	case 1:
		for _, c := range b {
			runes = append(runes, rune(c))
		}
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			runes = append(runes, rune(binary.LittleEndian.Uint16(b)))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			runes = append(runes, rune(binary.LittleEndian.Uint32(b)))
		}
	}
	return string(runes)
}
