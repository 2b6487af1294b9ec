// Package kerneltype plans how the kernel program reads fields of the kernel's data, by their types in BTF.
package kerneltype

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/probe"
)

// Param is an argument or the result of a function.
type Param struct {
	Name  string
	Type  btf.Type
	From  probe.From
	Steps []probe.Step // to the value, after From
	// IsProgram: the type is one of a BPF program, which may have fewer fields in other places than the kernel's type of that name.
	IsProgram bool
}

// Error is why an accessor cannot be applied.
type Error struct {
	At     int // byte offset in the definition; -1: the beginning of the argument
	Length int
	Reason string
	Near   []string
}

func (e *Error) Error() string { return e.Reason }

// place is a value of a type: at hand, or in memory at the address at hand.
type place struct {
	types     *btf.Spec
	read      probe.Read
	of        btf.Type
	isAddress bool
	isProgram bool
	shift     int // of a bit-field, from its byte on
	bits      int // 0: it is none
}

// Resolve plans the reading of an argument.
func Resolve(types *btf.Spec, p Param, arg *probe.Arg) (probe.Read, error) {
	v := place{types: types, read: probe.Read{From: p.From, Steps: slices.Clone(p.Steps)}, of: p.Type, isProgram: p.IsProgram}
	if v.read.From.Size == 0 {
		v.read.From.Size = 8
	}
	for i := range arg.Access {
		a := &arg.Access[i]
		if err := v.apply(a); err != nil {
			if err.At < 0 {
				err.At = a.At
			}
			return probe.Read{}, err
		}
	}
	if err := v.finish(arg.Type); err != nil {
		if err.At < 0 {
			err.At = arg.At
		}
		return probe.Read{}, err
	}
	return v.read, nil
}

func reason(near []string, form string, args ...any) *Error {
	return &Error{At: -1, Reason: fmt.Sprintf(form, args...), Near: near}
}

func (v *place) add(n int64) {
	if n != 0 {
		v.read.Steps = append(v.read.Steps, probe.Step{Kind: probe.StepAdd, Number: n})
	}
}

func (v *place) load(size int, signed bool) {
	v.read.Steps = append(v.read.Steps, probe.Step{Kind: probe.StepLoad, Size: size, Signed: signed})
	v.isAddress = false
}

// follow makes the place what its pointer points to; false: it is no pointer.
func (v *place) follow() bool {
	pointer, ok := btf.UnderlyingType(v.of).(*btf.Pointer)
	if !ok {
		return false
	}
	if v.isAddress {
		v.load(8, false)
	}
	v.of, v.isAddress = v.kernels(pointer.Target), true
	return true
}

// kernels returns the kernel's type of the same name as that of a BPF program; a type that the kernel does not have stays.
func (v *place) kernels(t btf.Type) btf.Type {
	if !v.isProgram {
		return t
	}
	named, kind := btf.UnderlyingType(t), ""
	switch named.(type) {
	case *btf.Struct:
		kind = "struct "
	case *btf.Union:
		kind = "union "
	default:
		return t
	}
	name, _, _ := strings.Cut(named.TypeName(), "___") // a flavour, as libbpf calls it
	if name == "" {
		return t
	}
	if of, err := v.typeByName(kind + name); err == nil {
		return of
	}
	return t
}

func (v *place) apply(a *probe.Access) *Error {
	if v.bits > 0 {
		return reason(nil, "a bit-field has no address, so that nothing can follow it")
	}
	switch a.Kind {
	case probe.Field:
		return v.field(a.Field)
	case probe.Element:
		return v.element(a.Index)
	case probe.Cast:
		t, err := v.typeByName(a.Type)
		if err != nil {
			return err
		}
		if a.IsPtr {
			t = &btf.Pointer{Target: t}
		}
		v.of = t
		return nil
	}
	return v.container(a)
}

func (v *place) field(name string) *Error {
	v.follow()
	members, what := membersOf(v.of)
	if members == nil || !v.isAddress {
		return reason(nil, "%s has no fields", Describe(v.of))
	}
	offset, m, found := findMember(members, name)
	if !found {
		return reason(cli.Nearest(name, memberNames(members)), "%s has no field %q", what, name)
	}
	v.add(int64(offset / 8))
	v.of = m.Type
	if m.BitfieldSize > 0 {
		v.shift, v.bits = int(offset%8), int(m.BitfieldSize)
	}
	return nil
}

func (v *place) element(n int64) *Error {
	if array, ok := btf.UnderlyingType(v.of).(*btf.Array); ok && v.isAddress {
		if n >= int64(array.Nelems) && array.Nelems > 0 {
			return reason(nil, "the array has %d elements", array.Nelems)
		}
		return v.at(array.Type, n)
	}
	if !v.follow() {
		return reason(nil, "%s has no elements", Describe(v.of))
	}
	return v.at(v.of, n)
}

func (v *place) at(of btf.Type, n int64) *Error {
	size, err := btf.Sizeof(of)
	if err != nil {
		return reason(nil, "the size of %s is not known", Describe(of))
	}
	v.add(n * int64(size))
	v.of = of
	return nil
}

func (v *place) container(a *probe.Access) *Error {
	v.follow()
	if !v.isAddress {
		return reason(nil, "%s has no address, so that it is in no %s", Describe(v.of), a.Type)
	}
	t, err := v.typeByName(a.Type)
	if err != nil {
		return err
	}
	offset, of := uint32(0), t
	for name := range strings.SplitSeq(a.Member, ".") {
		members, what := membersOf(of)
		at, m, found := findMember(members, name)
		if !found {
			return reason(cli.Nearest(name, memberNames(members)), "%s has no field %q", what, name)
		}
		offset, of = offset+uint32(at), m.Type
	}
	v.add(-int64(offset / 8))
	v.of = t
	return nil
}

// typeByName returns a type of the kernel: "struct sock", "u32".
func (v *place) typeByName(name string) (btf.Type, *Error) {
	word, bare, hasWord := strings.Cut(name, " ")
	if !hasWord {
		bare = name
	}
	found, err := v.types.AnyTypesByName(bare)
	if err == nil {
		for _, t := range found {
			if isNamed(t, word, hasWord) {
				return t, nil
			}
		}
	}
	if t := primitive(name); t != nil {
		return t, nil
	}
	return nil, reason(nil, "the kernel has no type %s", name)
}

func isNamed(t btf.Type, word string, hasWord bool) bool {
	switch t.(type) {
	case *btf.Struct:
		return hasWord && word == "struct"
	case *btf.Union:
		return hasWord && word == "union"
	case *btf.Enum:
		return hasWord && word == "enum"
	case *btf.Typedef, *btf.Int:
		return !hasWord
	}
	return false
}

// primitive returns a number type by a name of the kernel that BTF may not have.
func primitive(name string) btf.Type {
	for _, row := range probe.Types() {
		if row.Size > 0 && !row.Float && slices.Contains(row.Words, name) {
			encoding := btf.Unsigned
			if row.Signed {
				encoding = btf.Signed
			}
			return &btf.Int{Name: name, Size: uint32(row.Size), Encoding: encoding}
		}
	}
	return nil
}

func membersOf(t btf.Type) (members []btf.Member, what string) {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		return t.Members, Describe(t)
	case *btf.Union:
		return t.Members, Describe(t)
	}
	return nil, Describe(t)
}

// findMember finds a member also in those without a name, and returns its offset in bits.
func findMember(members []btf.Member, name string) (offset btf.Bits, found btf.Member, ok bool) {
	for _, m := range members {
		if m.Name == name {
			return m.Offset, m, true
		}
		if m.Name != "" {
			continue
		}
		inner, _ := membersOf(m.Type)
		if at, of, ok := findMember(inner, name); ok {
			return m.Offset + at, of, true
		}
	}
	return 0, btf.Member{}, false
}

func memberNames(members []btf.Member) (names []string) {
	for _, m := range members {
		if m.Name != "" {
			names = append(names, m.Name)
			continue
		}
		inner, _ := membersOf(m.Type)
		names = append(names, memberNames(inner)...)
	}
	return names
}

// Describe names a type as C does.
func Describe(t btf.Type) string {
	switch t := t.(type) {
	case *btf.Struct:
		return strings.TrimSpace("struct " + t.Name)
	case *btf.Union:
		return strings.TrimSpace("union " + t.Name)
	case *btf.Enum:
		return strings.TrimSpace("enum " + t.Name)
	case *btf.Pointer:
		target := Describe(t.Target)
		if strings.HasSuffix(target, "*") {
			return target + "*"
		}
		return target + " *"
	case *btf.Const:
		return "const " + Describe(t.Type)
	case *btf.Volatile:
		return Describe(t.Type)
	case *btf.Restrict:
		return Describe(t.Type)
	case *btf.TypeTag:
		return Describe(t.Type)
	case *btf.Array:
		return fmt.Sprintf("%s[%d]", Describe(t.Type), t.Nelems)
	case *btf.Void:
		return "void"
	case *btf.FuncProto:
		return "function"
	}
	return t.TypeName()
}

// finish plans the reading of the value itself.
func (v *place) finish(as probe.Type) *Error {
	switch t := btf.UnderlyingType(v.of).(type) {
	case *btf.Int:
		v.number(int(t.Size), t.Encoding == btf.Signed)
		v.read.Leaf.Bool = t.Encoding == btf.Bool
	case *btf.Enum:
		v.number(int(t.Size), t.Signed)
		v.read.Leaf.Names = EnumNames(t)
	case *btf.Pointer:
		v.number(8, false)
		v.read.Leaf.Hex = true
		if isChar(t.Target) && as == probe.TypeAuto || as == probe.TypeStr {
			v.read.Leaf = probe.Leaf{Kind: probe.LeafString}
			return nil
		}
	case *btf.Array:
		if !isChar(t.Type) || !v.isAddress {
			return reason(nil, "%s is an array: choose an element, as in [0]", Describe(v.of))
		}
		v.read.Leaf = probe.Leaf{Kind: probe.LeafArray, Size: int(min(t.Nelems, probe.MaxString))}
		return nil
	case *btf.Struct, *btf.Union:
		members, what := membersOf(t)
		names := memberNames(members)
		return reason(nil, "%s is no single value: choose one of its fields: %s", what, strings.Join(names[:min(6, len(names))], ", "))
	default:
		return reason(nil, "%s is no value that can be recorded", Describe(v.of))
	}
	leaf, err := v.read.Leaf.WithType(as, false)
	if err != nil {
		return reason(nil, "%v", err)
	}
	v.read.Leaf = leaf
	return nil
}

// number reads a number.
func (v *place) number(size int, signed bool) {
	v.read.Leaf = probe.Leaf{Size: size, Signed: signed}
	if !v.isAddress {
		return
	}
	if v.bits > 0 {
		size = 1
		for size*8 < v.shift+v.bits && size < 8 {
			size *= 2
		}
		v.read.Leaf.Shift, v.read.Leaf.Bits = v.shift, v.bits
	}
	v.load(size, signed && v.bits == 0)
}

// EnumNames returns the names of an enumeration's numbers.
func EnumNames(e *btf.Enum) (names []*format.EnumName) {
	for _, v := range e.Values {
		n := int64(v.Value)
		if e.Signed && e.Size < 8 {
			n = int64(int32(v.Value))
		}
		names = append(names, &format.EnumName{Number: n, Name: []byte(v.Name)})
	}
	return names
}

// isChar reports whether a type is what texts consist of: char, and unsigned char as in struct qstr, but not u8.
func isChar(t btf.Type) bool {
	for {
		switch of := t.(type) {
		case *btf.Const:
			t = of.Type
		case *btf.Volatile:
			t = of.Type
		case *btf.TypeTag:
			t = of.Type
		case *btf.Int:
			return of.Name == "char" || of.Name == "unsigned char"
		default:
			return false
		}
	}
}
