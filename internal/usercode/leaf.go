package usercode

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"strings"

	"wprof/internal/probe"
)

// read makes a plan of a value: as the type that a definition gives it, or as its own.
func (v *variable) read(as probe.Type) (probe.Read, error) {
	if err := v.unwrap(); err != nil {
		return probe.Read{}, err
	}
	full, err := v.typ.complete()
	if err != nil {
		return probe.Read{}, err
	}
	v.typ = full
	switch {
	case as == probe.TypeStr:
		return v.readText()
	case as != probe.TypeAuto:
		return v.readAs(as)
	}
	switch t := v.typ; t.kind {
	case kindNumber, kindEnum:
		return v.readNumber()
	case kindPointer:
		if to, err := t.to(); err == nil && to.char {
			return v.readText()
		}
		return v.readNumber()
	case kindArray, kindRecord:
		return v.readText()
	}
	return probe.Read{}, fmt.Errorf("%s has no value that can be written", v.typ.name)
}

// readAs reads a value as a number of a type that the definition gives.
func (v *variable) readAs(as probe.Type) (probe.Read, error) {
	switch v.typ.kind {
	case kindNumber, kindEnum, kindPointer:
	default:
		return probe.Read{}, fmt.Errorf("%s is not a number", v.typ.name)
	}
	info := as.Info()
	if v.bits == 0 && int64(info.Size) <= v.typ.size {
		v.typ = primitive(v.unit, info)
		return v.readNumber()
	}
	read, err := v.readNumber()
	if err != nil {
		return probe.Read{}, err
	}
	read.Leaf, err = read.Leaf.WithType(as, true)
	return read, err
}

// readNumber reads a number, an enumeration or a pointer.
func (v *variable) readNumber() (probe.Read, error) {
	t := v.typ
	leaf := probe.Leaf{Kind: probe.LeafNumber, Size: int(t.size), Signed: t.signed, Bool: t.bool, Float: t.float, Hex: t.kind == kindPointer}
	if t.kind == kindEnum {
		leaf.Names = t.names()
	}
	if t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8 || t.float && t.size < 4 {
		return probe.Read{}, fmt.Errorf("%s has %d bytes", t.name, t.size)
	}
	size, bit := t.size, v.bit
	if v.bits > 0 {
		leaf.Bits = int(v.bits)
		size = storage(bit + v.bits)
		if size > 8 {
			return probe.Read{}, errors.New("the bit-field is in 9 bytes")
		}
	}
	p, err := v.value.part(0, size)
	if err != nil && v.bits > 0 { // the structure may end before
		size = (bit + v.bits + 7) / 8
		p, err = v.value.part(0, size)
	}
	if err != nil {
		return probe.Read{}, err
	}
	read := probe.Read{From: p.from, Steps: p.steps, Leaf: leaf}
	switch {
	case p.inMemory:
		read.Steps = append(read.Steps, probe.Step{Kind: probe.StepLoad, User: true, Size: int(storage(8 * size)), Signed: t.signed && v.bits == 0})
		read.Leaf.Shift = int(bit)
	case p.shift > 0 || v.bits > 0:
		read.Leaf.Shift = p.shift + int(bit)
		if v.bits == 0 {
			read.Leaf.Bits = int(8 * size)
		}
		if read.Leaf.Shift+read.Leaf.Bits > 64 {
			return probe.Read{}, errComputed
		}
	case len(p.steps) == 0:
		read.From.Size, read.From.Signed = int(size), t.signed
	}
	return read, nil
}

// storage returns the bytes of the smallest number that has some bits; 16: none has them.
func storage(bits int64) int64 {
	for size := int64(1); size <= 8; size *= 2 {
		if bits <= 8*size {
			return size
		}
	}
	return 16
}

// readText reads the text that a value has or points to.
func (v *variable) readText() (probe.Read, error) {
	t := v.typ
	leaf := probe.Leaf{Kind: probe.LeafString, Size: probe.MaxString, User: true}
	switch t.kind {
	case kindPointer, kindNumber:
		if t.size != 8 {
			return probe.Read{}, fmt.Errorf("%s is not the address of a string", t.name)
		}
		o, err := v.pointer()
		return probe.Read{From: o.from, Steps: o.steps, Leaf: leaf}, err
	case kindArray:
		return v.readArray()
	case kindRecord:
		return v.readString()
	}
	return probe.Read{}, fmt.Errorf("%s is not a string", t.name)
}

// readArray reads an array of characters.
func (v *variable) readArray() (probe.Read, error) {
	t := v.typ
	of, err := t.to()
	if err != nil {
		return probe.Read{}, err
	}
	if of.kind != kindNumber || of.size != 1 || of.bool || len(t.counts) > 1 {
		return probe.Read{}, fmt.Errorf("%s is an array: name one of its elements, as [0]", t.name)
	}
	size := t.counts[0]
	if size == 0 || size > probe.MaxString {
		size = probe.MaxString
	}
	p, err := v.value.part(0, 1)
	if err != nil {
		return probe.Read{}, err
	}
	if !p.inMemory {
		return probe.Read{}, errors.New("the array is in registers there")
	}
	leaf := probe.Leaf{Kind: probe.LeafArray, Size: int(size), User: true}
	return probe.Read{From: p.from, Steps: p.steps, Leaf: leaf}, nil
}

// text is where a type that has text of some length keeps its address and the length, in bytes.
type text struct{ address, length int64 }

// readString reads the strings of Go, Rust and C++.
func (v *variable) readString() (probe.Read, error) {
	where, err := v.typ.text()
	if err != nil {
		return probe.Read{}, err
	}
	leaf := probe.Leaf{Kind: probe.LeafSlice, Size: probe.MaxString, User: true, AddressAt: int(where.address), LengthAt: int(where.length)}
	address, err := v.value.part(where.address, 8)
	if err != nil {
		return probe.Read{}, err
	}
	length, err := v.value.part(where.length, 8)
	if err != nil {
		return probe.Read{}, err
	}
	if base, err := v.value.part(0, max(where.address, where.length)+8); err == nil && base.inMemory {
		return probe.Read{From: base.from, Steps: base.steps, Leaf: leaf}, nil
	}
	if address.shift != 0 || length.shift != 0 || length.inMemory || len(length.steps) > 0 {
		return probe.Read{}, errors.New("its address and its length are in different places there")
	}
	if address.inMemory {
		address.steps = append(address.steps, probe.Step{Kind: probe.StepLoad, User: true, Size: 8})
	}
	leaf.AddressAt, leaf.LengthAt, leaf.LengthFrom = 0, 0, &length.from
	return probe.Read{From: address.from, Steps: address.steps, Leaf: leaf}, nil
}

// text finds where a type has its text. The error says what else can be done with the type.
func (t *typ) text() (text, error) {
	name, _ := t.entry.Val(dwarf.AttrName).(string)
	switch {
	case t.goKind == goString || t.unit.lang == langGo && name == "string":
		return t.twoMembers("str", "len")
	case t.unit.lang == langRust && name == "&str", t.unit.lang == langRust && name == "&mut str":
		return t.twoMembers("data_ptr", "length")
	case t.unit.lang == langRust && (name == "String" || name == "alloc::string::String"):
		return t.ownedText()
	case strings.HasPrefix(name, "basic_string_view<char,"):
		return t.twoMembers("_M_str", "_M_len")
	case strings.HasPrefix(name, "basic_string<char,"):
		if where, err := t.twoMembers("_M_dataplus", "_M_string_length"); err == nil {
			return where, nil
		}
		return text{}, errors.New("of std::string, only that of libstdc++ since version 5 is supported")
	}
	names := t.memberNames(0)
	if len(names) == 0 {
		return text{}, fmt.Errorf("%s has no members that can be read", t.name)
	}
	more := ""
	if len(names) > maxListed {
		names, more = names[:maxListed], ", …"
	}
	return text{}, fmt.Errorf("%s is a structure: name one of its members: %s%s", t.name, strings.Join(names, ", "), more)
}

// twoMembers is the places of the members with the address and the length.
func (t *typ) twoMembers(address, length string) (where text, err error) {
	for name, into := range map[string]*int64{address: &where.address, length: &where.length} {
		_, bit, err := t.findPath(name)
		if err != nil {
			return text{}, err
		}
		*into = bit / 8
	}
	return where, nil
}

// ownedText is Rust's String: a vector of bytes, whose address is the only pointer in its buffer.
func (t *typ) ownedText() (text, error) {
	_, length, err := t.findPath("vec.len")
	if err != nil {
		return text{}, err
	}
	buffer, bit, err := t.findPath("vec.buf")
	if err != nil {
		return text{}, err
	}
	where := text{address: -1, length: length / 8}
	err = buffer.scalars(bit/8, 0, func(at int64, s *typ) {
		if s.kind == kindPointer && where.address < 0 {
			where.address = at
		}
	})
	if err == nil && where.address < 0 {
		err = fmt.Errorf("%s is not as the Rust compilers that are known make it", t.name)
	}
	return where, err
}
