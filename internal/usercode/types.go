package usercode

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/probe"
)

// typeKind is what can be done with values of a type.
type typeKind uint8

const (
	kindVoid   typeKind = iota
	kindNumber          // also of bool and characters
	kindEnum
	kindPointer
	kindRef // a pointer that the source does not show
	kindArray
	kindRecord // a structure, class or union
	kindOther  // a function, and what is not known
)

// typ is a type without its qualifiers and typedefs.
type typ struct {
	unit   *unit
	kind   typeKind
	name   string // as the source names it
	size   int64  // bytes; 0: not known
	entry  *dwarf.Entry
	signed bool
	float  bool
	bool   bool
	char   bool    // of text
	counts []int64 // of an array: elements of each dimension; 0: not known
	target *typ    // of a pointer that a definition casts to; nil: that of the entry
	goKind int64
}

var errDepth = errors.New("its type is malformed in the debugging information")

// Encodings of base types: DWARF 5, 7.8.
const (
	encodingAddress  = 0x01
	encodingBool     = 0x02
	encodingComplex  = 0x03
	encodingFloat    = 0x04
	encodingSigned   = 0x05
	encodingChar     = 0x06
	encodingUnsigned = 0x07
	encodingUchar    = 0x08
	encodingUTF      = 0x10
)

// Kinds of Go types (internal/abi).
const (
	goSlice  = 23
	goString = 24
)

// typeOf returns the type that an entry refers to, or what it is an instance of.
func (u *unit) typeOf(e *dwarf.Entry) (*typ, error) {
	switch at := u.d.attr(e, dwarf.AttrType).(type) {
	case nil:
		return &typ{unit: u, kind: kindVoid, name: "void"}, nil
	case dwarf.Offset:
		return u.typeAt(at, 0)
	}
	return nil, errors.New("its type is in a part of the debugging information that is not read")
}

// typeAt returns the type at an offset.
func (u *unit) typeAt(at dwarf.Offset, depth int) (*typ, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	e, err := u.d.entry(at)
	if err != nil {
		return nil, err
	}
	t := &typ{unit: u, entry: e}
	t.name, _ = e.Val(dwarf.AttrName).(string)
	t.size, _ = e.Val(dwarf.AttrByteSize).(int64)
	t.goKind, _ = e.Val(attrGoKind).(int64)
	switch e.Tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType, dwarf.TagSharedType,
		dwarf.TagImmutableType, dwarf.TagPackedType:
		return u.alias(t, depth)
	case dwarf.TagBaseType:
		t.base()
	case dwarf.TagEnumerationType:
		t.kind = kindEnum
		t.name = t.word("enum ")
		t.enum(depth)
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		t.kind = kindPointer
		if e.Tag != dwarf.TagPointerType || u.lang == langRust && strings.HasPrefix(t.name, "&") {
			t.kind = kindRef
		}
		t.size = 8
		t.namePointer(depth)
	case dwarf.TagArrayType:
		t.array(depth)
	case dwarf.TagStructType, dwarf.TagClassType:
		t.kind = kindRecord
		t.name = t.word("struct ")
	case dwarf.TagUnionType:
		t.kind = kindRecord
		t.name = t.word("union ")
	case dwarf.TagUnspecifiedType:
		t.kind = kindVoid
	default:
		t.kind = kindOther
	}
	return t, nil
}

// word puts the keyword before a name that needs one in C.
func (t *typ) word(keyword string) string {
	switch {
	case t.name == "":
		return keyword + "{…}"
	case t.unit.isC():
		return keyword + t.name
	}
	return t.name
}

// alias is the type behind a typedef or a qualifier, with the name of the outermost typedef.
func (u *unit) alias(t *typ, depth int) (*typ, error) {
	at, ok := t.entry.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		t.kind = kindVoid
		t.name = "void"
		return t, nil
	}
	under, err := u.typeAt(at, depth+1)
	if err != nil {
		return nil, err
	}
	if t.entry.Tag == dwarf.TagTypedef && t.name != "" {
		under.name = t.name
	}
	if t.goKind != 0 {
		under.goKind = t.goKind
	}
	return under, nil
}

func (t *typ) base() {
	encoding, _ := t.entry.Val(dwarf.AttrEncoding).(int64)
	t.kind = kindNumber
	switch encoding {
	case encodingBool:
		t.bool = true
	case encodingFloat:
		t.float = true
	case encodingComplex:
		t.kind, t.float = kindOther, true
	case encodingSigned:
		t.signed = true
	case encodingChar:
		t.signed = true
		t.char = t.name == "char"
	case encodingUchar:
		t.char = t.name == "char" // of arm64
	case encodingUTF:
		t.char = t.size == 1
	case encodingUnsigned, encodingAddress:
	default:
		t.kind = kindOther
	}
}

// enum finds whether the numbers of an enumeration have a sign.
func (t *typ) enum(depth int) {
	if at, ok := t.entry.Val(dwarf.AttrType).(dwarf.Offset); ok {
		if under, err := t.unit.typeAt(at, depth+1); err == nil {
			t.signed = under.signed
			if t.size == 0 {
				t.size = under.size
			}
			return
		}
	}
	_ = t.unit.d.children(t.entry, func(e *dwarf.Entry) bool { // what cannot be read has no negative numbers
		n, _ := e.Val(dwarf.AttrConstValue).(int64)
		t.signed = t.signed || n < 0
		return true
	})
}

// maxNames bounds the names of an enumeration's numbers; format.TypeField has the same bound.
const maxNames = 1024

// names returns the names of an enumeration's numbers.
func (t *typ) names() (list []*format.EnumName) {
	_ = t.unit.d.children(t.entry, func(e *dwarf.Entry) bool { // those before malformed bytes are used
		name, _ := e.Val(dwarf.AttrName).(string)
		n, ok := e.Val(dwarf.AttrConstValue).(int64)
		if e.Tag == dwarf.TagEnumerator && ok && name != "" {
			if !t.signed && t.size > 0 && t.size < 8 {
				n &= 1<<(8*t.size) - 1
			}
			list = append(list, &format.EnumName{Number: n, Name: []byte(name)})
		}
		return len(list) < maxNames
	})
	return list
}

func (t *typ) namePointer(depth int) {
	if t.name != "" {
		return
	}
	name := "void"
	if at, ok := t.entry.Val(dwarf.AttrType).(dwarf.Offset); ok && depth < 8 {
		if to, err := t.unit.typeAt(at, depth+1); err == nil {
			name = to.name
			if to.kind == kindOther {
				name = "function"
			}
		}
	}
	switch {
	case t.unit.lang == langGo:
		t.name = "*" + name
	case t.kind == kindRef:
		t.name = name + " &"
	case strings.HasSuffix(name, "*"):
		t.name = name + "*"
	default:
		t.name = name + " *"
	}
}

// array reads the dimensions of an array.
func (t *typ) array(depth int) {
	t.kind = kindArray
	_ = t.unit.d.children(t.entry, func(e *dwarf.Entry) bool { // dimensions before malformed bytes are used
		if e.Tag != dwarf.TagSubrangeType {
			return true
		}
		n, ok := e.Val(dwarf.AttrCount).(int64)
		if !ok {
			if upper, has := e.Val(dwarf.AttrUpperBound).(int64); has {
				n = upper + 1
			}
		}
		t.counts = append(t.counts, max(n, 0))
		return len(t.counts) < 8
	})
	if len(t.counts) == 0 {
		t.counts = []int64{0}
	}
	of, err := t.unit.pointee(t.entry, depth)
	if err != nil {
		return
	}
	size := of.size
	name := of.name
	for _, n := range t.counts {
		size *= n
		if n == 0 {
			name += "[]"
		} else {
			name += fmt.Sprintf("[%d]", n)
		}
	}
	if t.name == "" {
		t.name = name
	}
	if t.size == 0 {
		t.size = size
	}
}

// pointee is the type that an entry of a type refers to.
func (u *unit) pointee(e *dwarf.Entry, depth int) (*typ, error) {
	at, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return &typ{unit: u, kind: kindVoid, name: "void"}, nil
	}
	return u.typeAt(at, depth+1)
}

// to returns what a pointer points to, or the elements of an array.
func (t *typ) to() (*typ, error) {
	if t.target != nil {
		return t.target, nil
	}
	of, err := t.unit.pointee(t.entry, 0)
	if err != nil || t.kind != kindArray || len(t.counts) < 2 {
		return of, err
	}
	inner := *t
	inner.counts = t.counts[1:]
	inner.size = of.size
	inner.name = of.name
	for _, n := range inner.counts {
		inner.size *= n
		inner.name += fmt.Sprintf("[%d]", n)
	}
	return &inner, nil
}

// primitive is a type of the language of definitions.
func primitive(u *unit, row probe.TypeInfo) *typ {
	if row.Type == probe.TypePtr {
		return &typ{unit: u, kind: kindPointer, name: "ptr", size: 8, target: &typ{unit: u, kind: kindVoid, name: "void"}}
	}
	return &typ{unit: u, kind: kindNumber, name: row.Words[0], size: int64(row.Size), signed: row.Signed, float: row.Float}
}

// pointerTo is the type of pointers to a type.
func pointerTo(t *typ) *typ {
	return &typ{unit: t.unit, kind: kindPointer, name: t.name + " *", size: 8, target: t}
}

// complete returns the definition of a type that is only declared in its unit.
func (t *typ) complete() (*typ, error) {
	if t.entry == nil || t.kind != kindRecord {
		return t, nil
	}
	if declared, _ := t.entry.Val(dwarf.AttrDeclaration).(bool); !declared {
		return t, nil
	}
	if t.entry.Val(dwarf.AttrSignature) != nil {
		return nil, fmt.Errorf("%s is in a type unit of the debugging information, which is not read", t.name)
	}
	name, _ := t.entry.Val(dwarf.AttrName).(string)
	found, err := t.unit.findType(name)
	if err != nil {
		return nil, fmt.Errorf("%s is only declared, not defined, in the debugging information", t.name)
	}
	return found, nil
}

// findType finds a type by its name: first in the unit, then in all others.
func (u *unit) findType(name string) (*typ, error) {
	for _, row := range probe.Types() {
		for _, word := range row.Words {
			if word == name && row.Type != probe.TypeStr {
				return primitive(u, row), nil
			}
		}
	}
	q := typeQuery{name: name}
	for keyword, tags := range map[string][]dwarf.Tag{
		"struct ": {dwarf.TagStructType, dwarf.TagClassType}, "class ": {dwarf.TagStructType, dwarf.TagClassType},
		"union ": {dwarf.TagUnionType}, "enum ": {dwarf.TagEnumerationType},
	} {
		if rest, ok := strings.CutPrefix(name, keyword); ok {
			q = typeQuery{name: strings.TrimSpace(rest), tags: tags}
		}
	}
	r := u.d.Reader()
	r.Seek(u.entry.Offset)
	if _, err := u.d.next(r); err != nil {
		return nil, err
	}
	if t, err := q.in(u, r); t != nil || err != nil {
		return t, err
	}
	var found *typ
	err := u.d.eachUnit(func(other *unit, r *dwarf.Reader) (bool, error) {
		var err error
		found, err = q.in(other, r)
		return found == nil, err
	})
	if found == nil && err == nil {
		err = &NotFound{What: "type", Name: name, Near: q.nearest()}
	}
	return found, err
}

// in searches the types of one unit and its namespaces. r is behind the unit's own entry, and then behind all of it.
func (q *typeQuery) in(u *unit, r *dwarf.Reader) (*typ, error) {
	if !u.entry.Children {
		return nil, nil
	}
	var path []string
	for depth := 1; depth > 0; {
		e, err := u.d.next(r)
		if err != nil || e == nil {
			return nil, err
		}
		if e.Tag == 0 {
			depth--
			path = path[:max(0, len(path)-1)]
			continue
		}
		if q.matches(path, e) {
			return u.typeAt(e.Offset, 0)
		}
		switch {
		case !e.Children:
		case e.Tag == dwarf.TagNamespace || e.Tag == dwarf.TagModule:
			name, _ := e.Val(dwarf.AttrName).(string)
			path = append(path, name)
			depth++
		default:
			r.SkipChildren()
		}
	}
	return nil, nil
}

// typeQuery is a type that is looked for.
type typeQuery struct {
	name string
	tags []dwarf.Tag // nil: any
	near map[string]bool
}

// nearest returns names of types that a wrong name may have meant.
func (q *typeQuery) nearest() []string {
	return cli.Nearest(q.name, slices.Sorted(maps.Keys(q.near)))
}

func (q *typeQuery) matches(path []string, e *dwarf.Entry) bool {
	switch e.Tag {
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagTypedef, dwarf.TagBaseType:
	default:
		return false
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared || name == "" {
		return false
	}
	if len(q.tags) > 0 {
		found := false
		for _, tag := range q.tags {
			found = found || tag == e.Tag
		}
		if !found {
			return false
		}
	}
	if q.near == nil {
		q.near = map[string]bool{}
	}
	if len(q.near) < maxNear {
		q.near[name] = true
	}
	if name == q.name {
		return true
	}
	return strings.HasSuffix(q.name, "::"+name) && strings.Join(append(path[:len(path):len(path)], name), "::") == q.name
}
