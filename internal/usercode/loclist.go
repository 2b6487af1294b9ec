package usercode

import (
	"cmp"
	"debug/dwarf"
	"slices"
)

const maxListEntries = 1 << 16

// Kinds of entries of location lists: DWARF 5, 7.7.3.
const (
	lleEnd          = 0x00
	lleBaseAddressx = 0x01
	lleStartxEndx   = 0x02
	lleStartxLength = 0x03
	lleOffsetPair   = 0x04
	lleDefault      = 0x05
	lleBaseAddress  = 0x06
	lleStartEnd     = 0x07
	lleStartLength  = 0x08
	lleGNUViewPair  = 0x09
)

// expressionAt returns the location expression of an attribute at an address. listed: it comes from a list, which says where it holds.
// There is none if the list does not have the address.
func (u *unit) expressionAt(e *dwarf.Entry, attr dwarf.Attr, address uint64) (expression []byte, listed bool, err error) {
	field := e.AttrField(attr)
	if field == nil {
		return nil, false, errOptimised
	}
	var list []byte
	read := u.list5
	switch v := field.Val.(type) {
	case []byte:
		return v, false, nil
	case int64: // an offset in .debug_loc or .debug_loclists
		if list = after(u.d.loclists, v); field.Class != dwarf.ClassLocListPtr {
			return nil, true, errExpression
		}
		if !u.isVersion5() {
			list, read = after(u.d.loc, v), u.list4
		}
	case uint64: // an index
		list = u.indexedList(v)
	}
	if list == nil {
		return nil, true, errExpression
	}
	expression = read(&bytesReader{b: list, order: u.d.order}, address)
	if expression == nil {
		return nil, true, errOptimised
	}
	return expression, true, nil
}

func after(b []byte, at int64) []byte {
	if at < 0 || at >= int64(len(b)) {
		return nil
	}
	return b[at:]
}

// isVersion5 reports whether the unit is of DWARF 5. A file may have units of several versions.
func (u *unit) isVersion5() bool {
	i, found := slices.BinarySearchFunc(u.d.units, u.entry.Offset, func(h unitHead, at dwarf.Offset) int { return cmp.Compare(h.entry, at) })
	return found && u.d.units[i].version >= 5
}

// indexedList returns a list by its index in the unit's table of offsets.
func (u *unit) indexedList(index uint64) []byte {
	base, ok := u.entry.Val(attrLoclistsBase).(int64)
	if !ok {
		base = 12 // behind the header of the section's only table
	}
	table := after(u.d.loclists, base)
	if index >= uint64(len(table))/4 {
		return nil
	}
	return after(table, int64(u.d.order.Uint32(table[4*index:])))
}

// address returns an address by its index in .debug_addr.
func (u *unit) address(index uint64) (uint64, bool) {
	base, ok := u.entry.Val(dwarf.AttrAddrBase).(int64)
	if !ok {
		if base, ok = u.entry.Val(attrGNUAddrBase).(int64); !ok {
			base = 8
		}
	}
	table := after(u.d.addr, base)
	if index >= uint64(len(table))/8 {
		return 0, false
	}
	return u.d.order.Uint64(table[8*index:]), true
}

// list4 finds an address in a list of DWARF 4: pairs of distances from a base.
func (u *unit) list4(r *bytesReader, address uint64) []byte {
	base := u.low
	for range maxListEntries {
		begin, end := r.u64(), r.u64()
		if r.failed || begin == 0 && end == 0 {
			return nil
		}
		if begin == ^uint64(0) {
			base = end
			continue
		}
		expression := r.take(uint64(r.u16()))
		if r.failed {
			return nil
		}
		if address >= base+begin && address < base+end {
			return expression
		}
	}
	return nil
}

// list5 finds an address in a list of DWARF 5.
func (u *unit) list5(r *bytesReader, address uint64) []byte {
	base := u.low
	var otherwise []byte
	for range maxListEntries {
		kind := r.u8()
		begin, end, isRange := uint64(0), uint64(0), true
		switch kind {
		case lleEnd:
			return otherwise
		case lleBaseAddressx:
			base, _ = u.address(r.uleb())
			isRange = false
		case lleStartxEndx:
			begin, _ = u.address(r.uleb())
			end, _ = u.address(r.uleb())
		case lleStartxLength:
			begin, _ = u.address(r.uleb())
			end = begin + r.uleb()
		case lleOffsetPair:
			begin = base + r.uleb()
			end = base + r.uleb()
		case lleDefault:
			otherwise = r.take(r.uleb())
			isRange = false
		case lleBaseAddress:
			base = r.u64()
			isRange = false
		case lleStartEnd:
			begin, end = r.u64(), r.u64()
		case lleStartLength:
			begin = r.u64()
			end = begin + r.uleb()
		case lleGNUViewPair:
			r.uleb()
			r.uleb()
			isRange = false
		default:
			return nil
		}
		if r.failed {
			return nil
		}
		if !isRange {
			continue
		}
		expression := r.take(r.uleb())
		if r.failed {
			return nil
		}
		if address >= begin && address < end {
			return expression
		}
	}
	return nil
}

// evaluator returns what finds values at an address of a function.
func (f *File) evaluator(fn *function, address uint64) *evaluator {
	u := fn.unit
	v := &evaluator{machine: f.machine, order: u.d.order, at: address, indexed: u.address}
	v.cfa = func() (operand, error) { return f.cfa(fn, address) }
	v.base = func() (operand, error) {
		expression, _, err := u.expressionAt(fn.node.Entry, dwarf.AttrFrameBase, address)
		if err != nil {
			return operand{}, errComputed
		}
		inner := *v
		inner.base = nil // an expression of its own would not end
		at := inner.evaluate(expression)[0]
		switch {
		case at.err != nil:
			return operand{}, at.err
		case at.from.Kind == noRegister:
			return operand{}, errVector
		}
		at.inMemory = false // a frame base in a register is its value, and another one is an address
		return at.operand, nil
	}
	return v
}

// cfa returns the canonical frame address: the stack pointer before the call.
func (f *File) cfa(fn *function, address uint64) (operand, error) {
	if address == fn.low {
		o := inRegister(Register{Offset: f.machine.sp, Size: 8})
		o.add(int64(f.machine.returned))
		return o, nil
	}
	return f.frame(address)
}
