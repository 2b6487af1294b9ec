package usercode

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"wprof/internal/cli"
)

// maxMembers bounds the members of a structure.
const maxMembers = 1 << 14

// member is a member of a structure, or a base class.
type member struct {
	entry  *dwarf.Entry
	name   string // "": its own members are as if they were the structure's
	bit    int64  // where it is in the structure
	bits   int64  // of a bit-field; 0: it is none
	isBase bool
	err    error // why its place is not known
}

// members returns the members of a structure.
func (t *typ) members() (list []member, err error) {
	err = t.unit.d.children(t.entry, func(e *dwarf.Entry) bool {
		if e.Tag != dwarf.TagMember && e.Tag != dwarf.TagInheritance {
			return true
		}
		if isStatic, _ := e.Val(dwarf.AttrExternal).(bool); isStatic {
			return true
		}
		m := member{entry: e, isBase: e.Tag == dwarf.TagInheritance}
		m.name, _ = e.Val(dwarf.AttrName).(string)
		t.place(&m)
		list = append(list, m)
		return len(list) < maxMembers
	})
	return list, err
}

// place finds where a member is.
func (t *typ) place(m *member) {
	m.bits, _ = m.entry.Val(dwarf.AttrBitSize).(int64)
	if bit, ok := m.entry.Val(attrDataBit).(int64); ok {
		m.bit = bit
		return
	}
	switch at := m.entry.Val(dwarf.AttrDataMemberLoc).(type) {
	case nil:
	case int64:
		m.bit = 8 * at
	case []byte:
		r := bytesReader{b: at, order: t.unit.d.order}
		isPlus := r.u8() == opPlusUconst
		m.bit = 8 * int64(r.uleb())
		if !isPlus || r.failed || len(r.b) > 0 {
			m.err = fmt.Errorf("%s is at a place that only the program knows (a virtual base class)", m.label())
		}
	default:
		m.err = fmt.Errorf("%s is at a place that is not understood", m.label())
	}
	if offset, ok := m.entry.Val(dwarf.AttrBitOffset).(int64); ok && m.bits > 0 { // DWARF 3: from the highest bit of its storage
		size, ok := m.entry.Val(dwarf.AttrByteSize).(int64)
		if of, err := t.unit.typeOf(m.entry); !ok && err == nil {
			size = of.size
		}
		m.bit += 8*size - offset - m.bits
	}
}

func (m *member) label() string {
	if m.name == "" {
		return "it"
	}
	return m.name
}

// find finds a member by its name, also one of a base class, and of an unnamed structure. bit is where it is.
func (t *typ) find(name string, depth int) (m member, of *typ, bit int64, err error) {
	full, err := t.complete()
	if err != nil {
		return member{}, nil, 0, err
	}
	members, err := full.members()
	if err != nil || depth > 16 {
		return member{}, nil, 0, err
	}
	for _, m := range members {
		if m.name == name && !m.isBase {
			of, err := full.unit.typeOf(m.entry)
			if m.err != nil {
				err = m.err
			}
			return m, of, m.bit, err
		}
	}
	for _, outer := range members {
		if outer.name != "" && !outer.isBase {
			continue
		}
		of, err := full.unit.typeOf(outer.entry)
		if err != nil || of.kind != kindRecord {
			continue
		}
		m, inner, bit, err := of.find(name, depth+1)
		if err != nil || m.entry == nil {
			continue
		}
		if outer.err != nil {
			err = outer.err
		}
		return m, inner, outer.bit + bit, err
	}
	return member{}, nil, 0, nil
}

// memberNames returns the names of the members of a structure, also those of base classes and unnamed structures.
func (t *typ) memberNames(depth int) (names []string) {
	full, err := t.complete()
	if err != nil || depth > 16 {
		return nil
	}
	members, err := full.members()
	if err != nil {
		return nil
	}
	for _, m := range members {
		if m.name != "" && !m.isBase {
			names = append(names, m.name)
			continue
		}
		if of, err := full.unit.typeOf(m.entry); err == nil && of.kind == kindRecord && len(names) < maxMembers {
			names = append(names, of.memberNames(depth+1)...)
		}
	}
	return names
}

// noMember is the error for a member that a structure does not have.
func (t *typ) noMember(name string) error {
	names := t.memberNames(0)
	near := cli.Nearest(name, names)
	if len(near) == 0 {
		near = names[:min(len(names), maxListed)]
	}
	return &NotFound{What: "member", Name: name, In: t.name, Near: near}
}

// findPath finds a member of a member: a.b.c.
func (t *typ) findPath(path string) (of *typ, bit int64, err error) {
	of = t
	for name := range strings.SplitSeq(path, ".") {
		if of.kind != kindRecord {
			return nil, 0, fmt.Errorf("%s has no members", of.name)
		}
		m, inner, at, err := of.find(name, 0)
		switch {
		case err != nil:
			return nil, 0, err
		case m.entry == nil:
			return nil, 0, of.noMember(name)
		case m.bits > 0:
			return nil, 0, fmt.Errorf("%s is a bit-field, which has no address", name)
		}
		of, bit = inner, bit+at
	}
	return of, bit, nil
}
