package usercode

import (
	"errors"
	"fmt"
	"strings"

	"wprof/internal/probe"
)

// access follows one accessor.
func (v *variable) access(a *probe.Access) error {
	if v.bits > 0 && a.Kind != probe.Cast {
		return errors.New("a bit-field has no members")
	}
	switch a.Kind {
	case probe.Field:
		return v.field(a.Field)
	case probe.Element:
		return v.element(a.Index)
	case probe.Cast:
		return v.cast(a)
	case probe.Container:
		return v.container(a)
	}
	return errors.New("this accessor is not known")
}

// follow makes a value of what a pointer points to.
func (v *variable) follow() error {
	to, err := v.typ.to()
	if err != nil {
		return err
	}
	o, err := v.pointer()
	if err != nil {
		return err
	}
	o.inMemory = true
	v.value, v.typ = whole(o), to
	return nil
}

// pointer is the value of a pointer.
func (v *variable) pointer() (operand, error) {
	p, err := v.value.part(0, 8)
	if err != nil {
		return operand{}, err
	}
	if p.shift != 0 {
		return operand{}, errComputed
	}
	o := p.operand
	if o.inMemory {
		o.steps = append(o.steps, probe.Step{Kind: probe.StepLoad, User: true, Size: 8})
		o.inMemory = false
	}
	return o, nil
}

// unwrap follows references, which the source does not show.
func (v *variable) unwrap() error {
	for range 4 {
		if v.typ.kind != kindRef {
			return nil
		}
		if err := v.follow(); err != nil {
			return err
		}
	}
	return nil
}

func (v *variable) field(name string) error {
	if err := v.unwrap(); err != nil {
		return err
	}
	if v.typ.kind == kindPointer {
		if err := v.follow(); err != nil {
			return err
		}
	}
	full, err := v.typ.complete()
	if err != nil {
		return err
	}
	if v.typ = full; full.kind != kindRecord {
		return fmt.Errorf("%s has no members", full.name)
	}
	m, of, bit, err := full.find(name, 0)
	switch {
	case err != nil:
		return err
	case m.entry == nil:
		return full.noMember(name)
	}
	v.value, v.typ = v.value.from(bit/8), of
	if m.bits > 0 {
		v.bit, v.bits = bit%8, m.bits
	}
	return nil
}

func (v *variable) element(index int64) error {
	if err := v.unwrap(); err != nil {
		return err
	}
	if full, err := v.typ.complete(); err == nil && full.kind == kindRecord {
		v.typ = full
		if name := full.elements(); name != "" {
			if err := v.field(name); err != nil {
				return err
			}
		}
	}
	t := v.typ
	if t.kind != kindPointer && t.kind != kindArray {
		return fmt.Errorf("%s has no elements", t.name)
	}
	to, err := t.to()
	if err != nil {
		return err
	}
	if to, err = to.complete(); err != nil {
		return err
	}
	switch {
	case to.size == 0:
		return fmt.Errorf("the size of %s is not known", to.name)
	case index > 1<<32 || index < -1<<32 || to.size > 1<<28:
		return errors.New("it is too far away")
	case t.kind == kindArray && (index < 0 || t.counts[0] > 0 && index >= t.counts[0]):
		return fmt.Errorf("%s has %d elements, and they count from 0", t.name, t.counts[0])
	case t.kind == kindArray:
		v.value, v.typ = v.value.from(index*to.size), to
		return nil
	}
	if err := v.follow(); err != nil {
		return err
	}
	v.value[0].add(index * to.size)
	v.typ = to
	return nil
}

// elements returns the member of a slice of Go or Rust that points to its elements; "": the type is none.
func (t *typ) elements() string {
	if t.goKind == goSlice {
		return "array"
	}
	if t.unit.lang == langRust && strings.HasPrefix(t.name, "&") {
		return "data_ptr"
	}
	return ""
}

// cast takes the value for one of another type.
func (v *variable) cast(a *probe.Access) error {
	if err := v.unwrap(); err != nil {
		return err
	}
	t, err := v.unit.findType(a.Type)
	if err != nil {
		return err
	}
	isWord := v.typ.kind == kindPointer || v.typ.kind == kindNumber || v.typ.kind == kindEnum
	switch {
	case a.IsPtr && !isWord:
		return fmt.Errorf("%s is not a pointer", v.typ.name)
	case a.IsPtr:
		t = pointerTo(t)
	case t.kind == kindRecord && v.typ.kind != kindRecord && v.typ.kind != kindArray:
		return fmt.Errorf("%s is not a structure: cast to %s *", v.typ.name, t.name)
	case t.kind == kindRecord:
		v.typ = t
		return nil
	case !isWord:
		return fmt.Errorf("%s is not a number", v.typ.name)
	}
	o, err := v.number()
	if err != nil {
		return err
	}
	v.value, v.typ, v.bit, v.bits = whole(o), t, 0, 0
	return nil
}

// number is the value of a number or pointer, out of memory.
func (v *variable) number() (operand, error) {
	t := v.typ
	size := t.size
	if size != 1 && size != 2 && size != 4 && size != 8 || v.bits > 0 {
		return operand{}, fmt.Errorf("%s cannot be cast", t.name)
	}
	p, err := v.value.part(0, size)
	if err != nil {
		return operand{}, err
	}
	switch o := p.operand; {
	case o.inMemory:
		o.steps = append(o.steps, probe.Step{Kind: probe.StepLoad, User: true, Size: int(size), Signed: t.signed})
		o.inMemory = false
		return o, nil
	case o.shift != 0:
		return operand{}, errComputed
	default:
		if len(o.steps) == 0 {
			o.from.Size, o.from.Signed = int(size), t.signed
		}
		return o, nil
	}
}

// container is the structure of which the value is a member, or points to one.
func (v *variable) container(a *probe.Access) error {
	if err := v.unwrap(); err != nil {
		return err
	}
	t, err := v.unit.findType(a.Type)
	if err != nil {
		return err
	}
	_, bit, err := t.findPath(a.Member)
	if err != nil {
		return err
	}
	if v.typ.kind == kindPointer {
		if err := v.follow(); err != nil {
			return err
		}
	}
	p, err := v.value.part(0, 1)
	if err != nil {
		return err
	}
	if !p.inMemory {
		return fmt.Errorf("%s is not in memory there, and no pointer", v.typ.name)
	}
	p.operand.add(-bit / 8)
	v.value, v.typ = whole(p.operand), t
	return nil
}
