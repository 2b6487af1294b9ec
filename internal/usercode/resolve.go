package usercode

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"wprof/internal/cli"
	"wprof/internal/probe"
	"wprof/internal/symbol"
)

// Where is a place where arguments are read.
type Where struct {
	Address uint64
	Kind    WhereKind
}

// WhereKind is what a place is.
type WhereKind uint8

const (
	AtLine   WhereKind = iota // any instruction: variables in scope there
	AtEntry                   // the first instruction of a function: its arguments
	AtReturn                  // the return of the function whose first instruction is at Address: its result
)

// variable is a value and its type.
type variable struct {
	unit  *unit
	value value
	typ   *typ
	bit   int64 // of a bit-field: bits to the right of it in the value
	bits  int64 // 0: it is none
}

// Resolve returns how to read an argument by what the DWARF says: a parameter by its name or index, a variable, a result, and what its
// accessors lead to. The error is ErrNoDWARF if nothing describes the place, and PartError for an accessor.
func (f *File) Resolve(at Where, arg *probe.Arg) (_ probe.Read, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	d, err := f.data()
	if err != nil {
		return probe.Read{}, err
	}
	fn, err := d.functionAt(at.Address)
	if err != nil {
		return probe.Read{}, err
	}
	v, err := f.base(fn, at, arg)
	if err != nil {
		return probe.Read{}, err
	}
	for i := range arg.Access {
		if err := v.access(&arg.Access[i]); err != nil {
			return probe.Read{}, &PartError{At: arg.Access[i].At, Err: err}
		}
	}
	read, err := v.read(arg.Type)
	if err != nil && len(arg.Access) > 0 {
		err = &PartError{At: arg.Access[len(arg.Access)-1].At, Err: err}
	}
	return read, err
}

// ErrReturned is the error for arguments at the return of a function.
var ErrReturned = errors.New("arguments are known only at the function's entry: write arg:ret, or probe the span of the function")

// base finds what an argument expression begins with.
func (f *File) base(fn *function, at Where, arg *probe.Arg) (*variable, error) {
	switch {
	case arg.Base == probe.BaseContext:
		return nil, errors.New("probes of programs have no context")
	case at.Kind == AtReturn:
		return f.result(fn, arg)
	case arg.Base == probe.BaseReturn:
		return nil, errors.New("the result is known only when the function returns")
	case at.Kind == AtEntry:
		params, _ := fn.parameters(fn.node)
		n, err := fn.pick(params, arg)
		if err != nil {
			return nil, err
		}
		t, err := fn.unit.typeOf(n.Entry)
		if err != nil {
			return nil, err
		}
		value, err := f.atEntry(fn, n)
		return &variable{unit: fn.unit, value: value, typ: t}, err
	case arg.Base == probe.BaseIndex:
		instance := fn.instance(at.Address)
		params, _ := fn.parameters(instance)
		n, err := fn.pick(params, arg)
		if err != nil {
			return nil, err
		}
		return f.located(fn, n, at.Address)
	}
	list := fn.visible(at.Address)
	for _, n := range list {
		if fn.unit.d.name(n.Entry) == arg.Name {
			return f.located(fn, n, at.Address)
		}
	}
	return nil, &NotFound{What: "variable", Name: arg.Name, In: "the scope there", Near: fn.near(arg.Name, list)}
}

// pick returns the parameter that an argument names.
func (fn *function) pick(params []*node, arg *probe.Arg) (*node, error) {
	if arg.Base == probe.BaseIndex {
		if arg.Index >= 0 && arg.Index < len(params) {
			return params[arg.Index], nil
		}
		return nil, fmt.Errorf("the function has %d arguments, and they count from 0", len(params))
	}
	for _, n := range params {
		if fn.unit.d.name(n.Entry) == arg.Name {
			return n, nil
		}
	}
	return nil, &NotFound{What: "argument", Name: arg.Name, In: "the function", Near: fn.near(arg.Name, params)}
}

// near returns names like a wrong one, or all if there are few.
func (fn *function) near(name string, list []*node) []string {
	var names []string
	for _, n := range list {
		if other := fn.unit.d.name(n.Entry); other != "" {
			names = append(names, other)
		}
	}
	if near := cli.Nearest(name, names); len(near) > 0 {
		return near
	}
	return names[:min(len(names), maxListed)]
}

// visible returns the variables in scope at an address, innermost first. Those of an inlined function end its scope, as names of the function
// around it are not its own.
func (fn *function) visible(address uint64) (list []*node) {
	seen := map[string]bool{}
	for _, scope := range fn.scopes(address) {
		for _, n := range scope.below {
			if n.Tag != dwarf.TagVariable && n.Tag != dwarf.TagFormalParameter && n.Tag != dwarf.TagConstant {
				continue
			}
			if name := fn.unit.d.name(n.Entry); name != "" && !seen[name] {
				seen[name] = true
				list = append(list, n)
			}
		}
		if scope.Tag != dwarf.TagLexDwarfBlock {
			break
		}
	}
	return list
}

// located is a variable where the DWARF says that it is at an address.
func (f *File) located(fn *function, n *node, address uint64) (*variable, error) {
	t, err := fn.unit.typeOf(n.Entry)
	if err != nil {
		return nil, err
	}
	v := &variable{unit: fn.unit, typ: t}
	if constant, ok := constantOf(fn.unit, n.Entry); ok {
		v.value = constant
		return v, nil
	}
	expression, _, err := fn.unit.expressionAt(n.Entry, dwarf.AttrLocation, address)
	if err != nil {
		if at, ok := n.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok { // a static variable of an inlined function
			if origin, failed := fn.unit.d.entry(at); failed == nil {
				expression, _, failed = fn.unit.expressionAt(origin, dwarf.AttrLocation, address)
				if failed == nil {
					err = nil
				}
			}
		}
	}
	if err != nil {
		return nil, err
	}
	v.value = f.evaluator(fn, address).evaluate(expression)
	return v, nil
}

// constantOf is the value of a variable that is the same everywhere.
func constantOf(u *unit, e *dwarf.Entry) (value, bool) {
	switch n := u.d.attr(e, dwarf.AttrConstValue).(type) {
	case int64:
		return whole(constant(n)), true
	case []byte:
		if len(n) > 8 {
			return nil, false
		}
		var b [8]byte
		copy(b[:], n)
		return whole(constant(int64(u.d.order.Uint64(b[:])))), true
	}
	return nil, false
}

// result is what a function returns, or one of the results of a Go function.
func (f *File) result(fn *function, arg *probe.Arg) (*variable, error) {
	if arg.Base == probe.BaseReturn {
		value, t, err := f.returned(fn)
		return &variable{unit: fn.unit, value: value, typ: t}, err
	}
	_, results := fn.parameters(fn.node)
	if len(results) == 0 {
		return nil, ErrReturned
	}
	n, err := fn.pick(results, arg)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if results[i] == n {
			value, t, err := f.returnedGo(fn, i)
			return &variable{unit: fn.unit, value: value, typ: t}, err
		}
	}
	return nil, errOptimised
}
