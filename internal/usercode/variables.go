package usercode

import (
	"wprof/internal/probe"
	"wprof/internal/symbol"
)

// Variable is an argument or a variable in words, for lists.
type Variable struct {
	Name  string
	Type  string // as the source names it
	Index int    // of a parameter: arg:INDEX
	Err   error  // why it cannot be read, or only its members can; nil: it can
}

// Arguments returns the arguments of a function, as they are known at its entry. The error is ErrNoDWARF if nothing describes it.
func (f *File) Arguments(fn *Function) (_ []Variable, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	d, err := f.data()
	if err != nil {
		return nil, err
	}
	inner, err := d.functionAt(fn.Address)
	if err != nil {
		return nil, err
	}
	params, _ := inner.parameters(inner.node)
	list := make([]Variable, 0, len(params))
	for i, n := range params {
		list = append(list, f.describe(inner, n, i, Where{Address: fn.Address, Kind: AtEntry}))
	}
	return list, nil
}

// Result returns what a function returns, in words.
func (f *File) Result(fn *Function) (_ Variable, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	d, err := f.data()
	if err != nil {
		return Variable{}, err
	}
	inner, err := d.functionAt(fn.Address)
	if err != nil {
		return Variable{}, err
	}
	value, t, err := f.returned(inner)
	if err != nil {
		return Variable{}, err
	}
	_, err = (&variable{unit: inner.unit, value: value, typ: t}).read(probe.TypeAuto)
	return Variable{Name: "ret", Type: t.name, Err: err}, nil
}

// Variables returns the arguments and local variables in scope at an address, innermost first: those of lexical blocks up to the function,
// or up to the function that is inlined there.
func (f *File) Variables(address uint64) (_ []Variable, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	d, err := f.data()
	if err != nil {
		return nil, err
	}
	fn, err := d.functionAt(address)
	if err != nil {
		return nil, err
	}
	params, _ := fn.parameters(fn.instance(address))
	index := map[*node]int{}
	for i, n := range params {
		index[n] = i
	}
	var list []Variable
	for _, n := range fn.visible(address) {
		list = append(list, f.describe(fn, n, index[n], Where{Address: address, Kind: AtLine}))
	}
	return list, nil
}

// describe describes a variable, and tries to read it.
func (f *File) describe(fn *function, n *node, index int, at Where) Variable {
	v := Variable{Name: fn.unit.d.name(n.Entry), Index: index}
	t, err := fn.unit.typeOf(n.Entry)
	if err != nil {
		v.Err = err
		return v
	}
	v.Type = t.name
	of := &variable{unit: fn.unit, typ: t}
	if at.Kind == AtEntry {
		of.value, v.Err = f.atEntry(fn, n)
	} else if of, v.Err = f.located(fn, n, at.Address); v.Err != nil {
		return v
	}
	if v.Err == nil {
		_, v.Err = of.read(probe.TypeAuto)
	}
	return v
}
