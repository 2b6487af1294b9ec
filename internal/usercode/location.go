package usercode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"wprof/internal/probe"
)

// Operations of expressions: DWARF 5, 7.7.1, and GNU's.
const (
	opAddr           = 0x03
	opDeref          = 0x06
	opConst1u        = 0x08
	opConsts         = 0x11
	opMinus          = 0x1c
	opPlus           = 0x22
	opPlusUconst     = 0x23
	opLit0           = 0x30
	opReg0           = 0x50
	opBreg0          = 0x70
	opRegx           = 0x90
	opFbreg          = 0x91
	opBregx          = 0x92
	opPiece          = 0x93
	opDerefSize      = 0x94
	opNop            = 0x96
	opFormTLS        = 0x9b
	opCallFrameCFA   = 0x9c
	opBitPiece       = 0x9d
	opImplicitValue  = 0x9e
	opStackValue     = 0x9f
	opImplicitPtr    = 0xa0
	opAddrx          = 0xa1
	opEntryValue     = 0xa3
	opGNUTLS         = 0xe0
	opGNUImplicitPtr = 0xf2
	opGNUEntryValue  = 0xf3
	opGNUAddrIndex   = 0xfb
)

const (
	maxStack      = 16
	maxParts      = 32
	maxExpression = 4096
	maxSteps      = 16 // of a plan
)

var (
	errExpression = errors.New("its location is malformed in the debugging information")
	errOptimised  = errors.New("it was optimised out there")
	errComputed   = errors.New("its location is computed in a way that probes cannot follow")
	errEntryValue = errors.New("only its value at the function's entry is known there")
	errThread     = errors.New("it is a thread-local variable")
	errPointer    = errors.New("it was optimised out there, only what it points to is left")
)

// part is some bytes of a value: in memory at an address that a plan computes, in a register, or a number.
type part struct {
	at, size int64 // which bytes of the value
	operand
	err error // why they cannot be read; nil: they can
}

// value is where all bytes of a value are.
type value []part

// allBytes is the size of a value that is in one place.
const allBytes = 1 << 40

func whole(o operand) value { return value{{size: allBytes, operand: o}} }

func unreadable(err error) value { return value{{size: allBytes, err: err}} }

// evaluator finds where values are at a place of the code.
type evaluator struct {
	machine *machine
	order   binary.ByteOrder
	at      uint64                                       // address of the place
	base    func() (operand, error)                      // the frame base of the function
	cfa     func() (operand, error)                      // the canonical frame address
	indexed func(index uint64) (address uint64, ok bool) // .debug_addr
}

// evaluate follows a location expression.
func (v *evaluator) evaluate(expression []byte) value {
	if len(expression) == 0 {
		return unreadable(errOptimised)
	}
	if len(expression) > maxExpression {
		return unreadable(errExpression)
	}
	x := &execution{evaluator: v, in: bytesReader{b: expression, order: v.order}}
	for len(x.in.b) > 0 && x.err == nil {
		x.step(x.in.u8())
		if x.in.failed {
			x.err = errExpression
		}
	}
	if x.err != nil {
		return unreadable(x.err)
	}
	if x.parts != nil {
		return merged(x.parts)
	}
	o := x.result()
	if x.err != nil {
		return unreadable(x.err)
	}
	return whole(o)
}

// execution is the state of an evaluation.
type execution struct {
	*evaluator
	in      bytesReader
	stack   []operand // values, not what is in memory at them
	final   *operand  // a location that is not an address: a register, a value
	parts   value
	covered int64
	err     error
}

// result is the location so far: what is in memory at the address on the stack, unless another was named.
func (x *execution) result() operand {
	if x.final != nil {
		return *x.final
	}
	o := x.pop()
	o.inMemory = true
	return o
}

func (x *execution) push(o operand) {
	if len(x.stack) >= maxStack || len(o.steps) > maxSteps {
		x.err = errComputed
		return
	}
	x.stack = append(x.stack, o)
}

func (x *execution) pop() operand {
	if len(x.stack) == 0 {
		x.err = errExpression
		return operand{}
	}
	o := x.stack[len(x.stack)-1]
	x.stack = x.stack[:len(x.stack)-1]
	o.steps = slices.Clone(o.steps)
	return o
}

// pushFound pushes what a function finds.
func (x *execution) pushFound(find func() (operand, error), distance int64) {
	if find == nil {
		x.err = errComputed
		return
	}
	o, err := find()
	if err != nil {
		x.err = err
		return
	}
	o.add(distance)
	x.push(o)
}

func (x *execution) step(op byte) {
	switch {
	case op >= opLit0 && op < opLit0+32:
		x.push(constant(int64(op - opLit0)))
	case op >= opReg0 && op < opReg0+32:
		x.inRegister(uint64(op - opReg0))
	case op >= opBreg0 && op < opBreg0+32:
		x.atRegister(uint64(op-opBreg0), x.in.sleb())
	case op >= opConst1u && op <= opConsts:
		x.push(constant(x.in.constant(op)))
	default:
		x.other(op)
	}
}

func (x *execution) other(op byte) {
	switch op {
	case opNop:
	case opAddr:
		x.address(x.in.u64())
	case opAddrx, opGNUAddrIndex:
		index := x.in.uleb()
		if address, ok := x.indexed(index); ok {
			x.address(address)
		} else {
			x.err = errExpression
		}
	case opRegx:
		x.inRegister(x.in.uleb())
	case opBregx:
		reg := x.in.uleb()
		x.atRegister(reg, x.in.sleb())
	case opFbreg:
		x.pushFound(x.base, x.in.sleb())
	case opCallFrameCFA:
		x.pushFound(x.cfa, 0)
	case opPlusUconst:
		n := int64(x.in.uleb())
		o := x.pop()
		o.add(n)
		x.push(o)
	case opPlus, opMinus:
		x.sum(op)
	case opDeref:
		x.deref(8)
	case opDerefSize:
		x.deref(int(x.in.u8()))
	default:
		x.ending(op)
	}
}

// ending executes the operations that say what kind of place an expression ends with, and gives the reasons of others.
func (x *execution) ending(op byte) {
	switch op {
	case opStackValue:
		o := x.pop()
		x.final = &o
	case opImplicitValue:
		b := x.in.take(x.in.uleb())
		if len(b) > 8 {
			x.err = errComputed
			return
		}
		var n [8]byte
		copy(n[:], b)
		o := constant(int64(x.order.Uint64(n[:])))
		x.final = &o
	case opPiece:
		x.piece(x.in.uleb())
	case opEntryValue, opGNUEntryValue:
		x.err = errEntryValue
	case opFormTLS, opGNUTLS:
		x.err = errThread
	case opImplicitPtr, opGNUImplicitPtr:
		x.err = errPointer
	default:
		x.err = errComputed
	}
}

// address pushes an address of the file as its distance from the place, at which the thread is.
func (x *execution) address(address uint64) {
	o := inRegister(Register{Offset: x.machine.pc, Size: 8})
	o.add(int64(address - x.at))
	x.push(o)
}

func (x *execution) register(number uint64) (operand, bool) {
	if number < uint64(len(x.machine.dwarf)) && x.machine.dwarf[number] >= 0 {
		return inRegister(Register{Offset: x.machine.dwarf[number], Size: 8}), true
	}
	return operand{}, false
}

func (x *execution) inRegister(number uint64) {
	o, ok := x.register(number)
	if !ok {
		// The parts of a value may be in several registers, some of which can be read.
		x.final = &operand{from: probe.From{Kind: noRegister}}
		return
	}
	x.final = &o
}

// noRegister marks a place in a register that probes do not see.
const noRegister probe.FromKind = 0xff

func (x *execution) atRegister(number uint64, distance int64) {
	o, ok := x.register(number)
	if !ok {
		x.err = errVector
		return
	}
	o.add(distance)
	x.push(o)
}

// sum adds or subtracts the two values on the stack.
func (x *execution) sum(op byte) {
	b, a := x.pop(), x.pop()
	if op == opPlus && a.isConstant() {
		a, b = b, a
	}
	switch {
	case b.isConstant():
		n := b.from.Number
		if op == opMinus {
			n = -n
		}
		a.add(n)
	case op == opPlus && b.isRegister():
		a.steps = append(a.steps, probe.Step{Kind: probe.StepAddRegister, Register: b.from.Register, Scale: 1})
	case op == opPlus && a.isRegister():
		a, b = b, a
		a.steps = append(a.steps, probe.Step{Kind: probe.StepAddRegister, Register: b.from.Register, Scale: 1})
	default:
		x.err = errComputed
	}
	x.push(a)
}

func (o *operand) isConstant() bool { return o.from.Kind == probe.FromConstant && len(o.steps) == 0 }

func (o *operand) isRegister() bool { return o.from.Kind == probe.FromRegister && len(o.steps) == 0 }

func (x *execution) deref(size int) {
	if size != 1 && size != 2 && size != 4 && size != 8 {
		x.err = errComputed
		return
	}
	o := x.pop()
	o.steps = append(o.steps, probe.Step{Kind: probe.StepLoad, User: true, Size: size})
	x.push(o)
}

// piece ends a part of the value.
func (x *execution) piece(size uint64) {
	if size == 0 || size > 1<<20 || len(x.parts) >= maxParts {
		x.err = errComputed
		return
	}
	p := part{at: x.covered, size: int64(size)}
	switch {
	case x.final == nil && len(x.stack) == 0:
		p.err = errOptimised
	default:
		p.operand = x.result()
		if p.from.Kind == noRegister {
			p.operand, p.err = operand{}, errVector
		}
	}
	x.covered += int64(size)
	x.parts = append(x.parts, p)
	x.final, x.stack = nil, nil
}

// merged joins parts that lie one behind the other in memory.
func merged(parts value) value {
	var out value
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].err == nil && p.err == nil && out[n-1].inMemory && p.inMemory {
			last := &out[n-1]
			a, aAt := last.split()
			b, bAt := p.split()
			if a.from == b.from && slices.Equal(a.steps, b.steps) && bAt-aAt == last.size {
				last.size += p.size
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// split separates the number that is added last.
func (o *operand) split() (operand, int64) {
	if n := len(o.steps); n > 0 && o.steps[n-1].Kind == probe.StepAdd {
		return operand{from: o.from, steps: o.steps[:n-1]}, o.steps[n-1].Number
	}
	return *o, 0
}

// part returns where some bytes of a value are.
func (v value) part(at, size int64) (part, error) {
	for _, p := range v {
		if at < p.at || at >= p.at+p.size {
			continue
		}
		switch {
		case p.err != nil:
			return part{}, p.err
		case p.from.Kind == noRegister:
			return part{}, errVector
		case size > p.at+p.size-at:
			return part{}, errors.New("its parts are in different places there")
		}
		p.steps = slices.Clone(p.steps)
		if p.inMemory {
			p.add(at - p.at)
		} else {
			p.shift += int(8 * (at - p.at))
		}
		if len(p.steps) > maxSteps {
			return part{}, fmt.Errorf("reading it takes more than %d steps", maxSteps)
		}
		p.at, p.size = 0, p.at+p.size-at
		return p, nil
	}
	return part{}, errOptimised
}

// from returns a value without its first bytes.
func (v value) from(at int64) value {
	var out value
	for _, p := range v {
		if p.at+p.size <= at {
			continue
		}
		if p.at < at {
			p.steps = slices.Clone(p.steps)
			if p.inMemory {
				p.add(at - p.at)
			} else {
				p.shift += int(8 * (at - p.at))
			}
			p.size -= at - p.at
			p.at = at
		}
		p.at -= at
		out = append(out, p)
	}
	return out
}
