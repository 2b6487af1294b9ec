package usercode

import (
	"errors"
	"fmt"
)

// nextGo is the place of an argument of a Go function: in registers if each of its words can be in one, else on the stack (Go's
// cmd/compile/abi-internal.md).
func (c *calls) nextGo(t *typ) value {
	left, floats := c.registers, c.floats
	var v value
	fits := true
	err := t.scalarsGo(0, 0, func(at int64, s *typ) {
		p := part{at: at, size: s.size}
		switch {
		case s.kind == kindArray:
			fits = false
		case s.float:
			p.err = errVector
			floats--
			if s.kind == kindOther { // a complex number
				floats--
			}
			fits = fits && floats >= 0
		case len(left) == 0:
			fits = false
		default:
			p.operand = inRegister(Register{Offset: left[0], Size: 8})
			left = left[1:]
		}
		v = append(v, p)
	})
	if err != nil {
		c.err = err
		return unreadable(err)
	}
	if !fits {
		return c.onStackGo(t)
	}
	c.registers, c.floats = left, floats
	return v
}

// onStackGo is an argument on the stack, where each is aligned as its type.
func (c *calls) onStackGo(t *typ) value {
	align := int64(1)
	_ = t.scalarsGo(0, 0, func(_ int64, s *typ) { align = max(align, min(s.size, 8)) }) // nextGo has done it
	c.stack = (c.stack + align - 1) / align * align
	o := inRegister(Register{Offset: c.machine.sp, Size: 8})
	o.add(8 + c.stack) // behind the return address, or where arm64 keeps it
	o.inMemory = true
	c.stack += t.size
	return whole(o)
}

// scalarsGo is scalars, but visits an array of more than one element as such.
func (t *typ) scalarsGo(at int64, depth int, visit func(at int64, s *typ)) error {
	switch {
	case depth > 16:
		return errDepth
	case t.kind == kindArray && t.counts[0] > 1:
		visit(at, t)
		return nil
	case t.kind == kindArray:
		if t.counts[0] == 0 {
			return nil
		}
		of, err := t.to()
		if err != nil {
			return err
		}
		return of.scalarsGo(at, depth+1, visit)
	case t.kind != kindRecord:
		visit(at, t)
		return nil
	}
	members, err := t.members()
	if err != nil {
		return err
	}
	for _, m := range members {
		of, err := t.unit.typeOf(m.entry)
		if err != nil {
			return err
		}
		if err := of.scalarsGo(at+m.bit/8, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// returnedGo returns where one of the results of a Go function is.
func (f *File) returnedGo(fn *function, index int) (value, *typ, error) {
	_, results := fn.parameters(fn.node)
	switch {
	case len(results) == 0:
		return nil, nil, errors.New("the function returns nothing")
	case index >= len(results):
		return nil, nil, fmt.Errorf("the function has %d results, and they count from 0", len(results))
	}
	c := &calls{machine: f.machine, registers: f.machine.golang.results, floats: 15}
	for i, r := range results {
		t, err := fn.unit.typeOf(r.Entry)
		if err != nil {
			return nil, nil, err
		}
		place := c.next(t)
		if i < index {
			continue
		}
		if place[0].inMemory {
			return nil, nil, errors.New("the result is on the stack, behind the arguments, where it is not looked for")
		}
		return place, t, nil
	}
	return nil, nil, errOptimised
}
