package usercode

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wprof/internal/probe"
)

// calls hands out the places of arguments at the entry of a function, one after the other.
type calls struct {
	machine   *machine
	registers []int // that are left
	floats    int   // vector registers that are left
	stack     int64 // bytes of the arguments on the stack so far
	err       error // why no more places are known
}

// parameters returns the formal parameters of a function in their order, without the results that Go lists among them.
func (fn *function) parameters(n *node) (params, results []*node) {
	for _, below := range n.below {
		if below.Tag != dwarf.TagFormalParameter {
			continue
		}
		if isResult, _ := fn.unit.d.attr(below.Entry, dwarf.AttrVarParam).(bool); isResult && fn.unit.lang == langGo {
			results = append(results, below)
		} else {
			params = append(params, below)
		}
	}
	return params, results
}

// atEntry returns where a parameter is at the function's first instruction: where callers put it. Compilers may describe only where it is
// kept later. A description of this instruction counts where the platform's convention does not hold.
func (f *File) atEntry(fn *function, param *node) (value, error) {
	if !f.isConventional(fn) {
		expression, listed, err := fn.unit.expressionAt(param.Entry, dwarf.AttrLocation, fn.low)
		if err == nil && listed {
			return f.evaluator(fn, fn.low).evaluate(expression), nil
		}
		if fn.unit.lang != langGo && fn.unit.lang != langRust {
			return nil, errors.New("the compiler has changed how the function takes its arguments")
		}
	}
	params, _ := fn.parameters(fn.node)
	c := f.calls(fn)
	for _, p := range params {
		t, err := fn.unit.typeOf(p.Entry)
		if err != nil {
			return nil, err
		}
		place := c.next(t)
		if p == param {
			return place, nil
		}
	}
	return nil, errOptimised
}

// isConventional reports whether a function takes its arguments as the platform says. GCC names those that do not, and LLVM marks them
// (DW_CC_nocall).
func (f *File) isConventional(fn *function) bool {
	convention, _ := fn.node.Val(dwarf.AttrCalling).(int64)
	if fn.unit.lang == langGo || fn.unit.lang == langRust || convention == 3 {
		return false
	}
	name := f.symbolAt(fn.low)
	for _, kind := range []string{".isra.", ".constprop.", ".part."} {
		if strings.Contains(name, kind) {
			return false
		}
	}
	return true
}

// calls begins the arguments of a function.
func (f *File) calls(fn *function) *calls {
	c := &calls{machine: f.machine, registers: f.machine.c.arguments, floats: 8}
	if fn.unit.lang == langGo {
		c.registers, c.floats = f.machine.golang.arguments, 15
		return c
	}
	if t, err := fn.unit.typeOf(fn.node.Entry); err == nil && f.machine.elf == elf.EM_X86_64 && isInMemory(t) {
		c.registers = c.registers[1:] // the first one has the address of the result
	}
	return c
}

// isInMemory reports whether a value is passed in memory because of its size, or because it has constructors.
func isInMemory(t *typ) bool {
	if t.kind != kindRecord && t.kind != kindArray {
		return false
	}
	return t.size > 16 || isByReference(t)
}

// isByReference reports whether values of a C++ class are passed by their address, because copying or destroying one calls a function.
// Not all compilers say it (DW_AT_calling_convention).
func isByReference(t *typ) bool { return isByReferenceAt(t, 0) }

func isByReferenceAt(t *typ, depth int) bool {
	if t.kind != kindRecord || t.entry == nil || t.unit.isC() || depth > 8 {
		return false
	}
	switch convention, _ := t.entry.Val(dwarf.AttrCalling).(int64); convention {
	case 4: // DW_CC_pass_by_reference
		return true
	case 5: // DW_CC_pass_by_value
		return false
	}
	byReference := false
	_ = t.unit.d.children(t.entry, func(e *dwarf.Entry) bool { // what is before malformed bytes counts
		switch e.Tag {
		case dwarf.TagSubprogram:
			byReference = t.isSpecial(e)
		case dwarf.TagMember, dwarf.TagInheritance:
			if isStatic, _ := e.Val(dwarf.AttrExternal).(bool); isStatic {
				return true
			}
			if of, err := t.unit.typeOf(e); err == nil {
				byReference = isByReferenceAt(of, depth+1)
			}
		}
		return !byReference
	})
	return byReference
}

// isSpecial reports whether a method is virtual, a destructor, or a constructor that copies or moves, which the program has defined.
func (t *typ) isSpecial(method *dwarf.Entry) bool {
	if method.Val(dwarf.AttrVirtuality) != nil {
		return true
	}
	isImplicit, _ := method.Val(dwarf.AttrArtificial).(bool)
	if isImplicit || method.Val(dwarf.AttrDefaulted) != nil {
		return false
	}
	name, _ := method.Val(dwarf.AttrName).(string)
	class, _ := t.entry.Val(dwarf.AttrName).(string)
	class, _, _ = strings.Cut(class, "<")
	if strings.HasPrefix(name, "~") {
		return true
	}
	if name != class {
		return false
	}
	copies, at := false, 0
	_ = t.unit.d.children(method, func(e *dwarf.Entry) bool { // what is before malformed bytes counts
		if e.Tag != dwarf.TagFormalParameter {
			return true
		}
		if at++; at == 2 { // behind this
			if of, err := t.unit.typeOf(e); err == nil && of.kind == kindRef {
				to, err := of.to()
				copies = err == nil && to.entry != nil && to.entry.Offset == t.entry.Offset
			}
		}
		return at < 2
	})
	return copies
}

// next is the place of the next argument.
func (c *calls) next(t *typ) value {
	if c.err != nil {
		return unreadable(c.err)
	}
	full, err := t.complete()
	if err != nil {
		c.err = fmt.Errorf("its location depends on a type that is not known: %w", err)
		return unreadable(c.err)
	}
	switch t = full; {
	case t.unit.lang == langGo:
		return c.nextGo(t)
	case t.unit.lang == langRust:
		return c.nextRust(t)
	case t.kind == kindRecord && (isByReference(t) || c.machine.elf == elf.EM_AARCH64 && t.size > 16):
		return c.pointed()
	case t.kind == kindRecord && t.size > 16:
		return c.onStack(t.size, 8)
	}
	return c.words(t)
}

// pointed is a value whose address is in the next register.
func (c *calls) pointed() value {
	v := c.take(1, 8)
	v[0].steps = slices.Clone(v[0].steps)
	if v[0].inMemory {
		v[0].steps = append(v[0].steps, probe.Step{Kind: probe.StepLoad, User: true, Size: 8})
	}
	v[0].inMemory, v[0].size = true, allBytes
	return v
}

// take is a value in the next registers, or on the stack if these are too few.
func (c *calls) take(words int, size int64) value {
	if words > len(c.registers) {
		if c.machine.elf == elf.EM_AARCH64 {
			c.registers = nil // they stay unused
		}
		return c.onStack(size, 8)
	}
	var v value
	for i := range words {
		v = append(v, part{at: int64(8 * i), size: 8, operand: inRegister(Register{Offset: c.registers[i], Size: 8})})
	}
	c.registers = c.registers[words:]
	return v
}

func (c *calls) onStack(size, align int64) value {
	c.stack = (c.stack + align - 1) / align * align
	o := inRegister(Register{Offset: c.machine.sp, Size: 8})
	o.add(int64(c.machine.returned) + c.stack)
	o.inMemory = true
	c.stack += (max(size, 1) + 7) / 8 * 8
	return whole(o)
}

// words is an argument of at most two registers. Which ones, is decided for each of its words: one with nothing but floating-point numbers is
// in a vector register (System V ABI, AMD64 supplement, 3.2.3).
func (c *calls) words(t *typ) value {
	isArm := c.machine.elf == elf.EM_AARCH64
	switch {
	case t.kind == kindOther && t.float: // a complex number
		c.floats -= 2
		return unreadable(errVector)
	case t.float && t.size > 8 && (isArm || t.name != "long double"):
		c.floats--
		return unreadable(errVector)
	case t.float && t.size > 8, t.size > 16:
		return c.onStack(t.size, 16)
	}
	classes, err := classify(t)
	if err != nil {
		c.err = err
		return unreadable(err)
	}
	integers, floats := 0, 0
	for _, isFloat := range classes {
		if isFloat {
			floats++
		} else {
			integers++
		}
	}
	switch {
	case len(classes) == 0:
		return unreadable(errEmpty)
	case floats == 0:
		return c.take(integers, t.size)
	case integers > len(c.registers) || floats > c.floats:
		return c.onStack(t.size, 8)
	}
	if isArm && integers > 0 {
		return c.take(len(classes), t.size) // of a mix, all words are in general registers
	}
	c.floats -= floats
	var v value
	for i, isFloat := range classes {
		p := part{at: int64(8 * i), size: 8, err: errVector}
		if !isFloat {
			p.err, p.operand = nil, inRegister(Register{Offset: c.registers[0], Size: 8})
			c.registers = c.registers[1:]
		}
		v = append(v, p)
	}
	return v
}

var errEmpty = errors.New("it has no bytes")

// classify returns for each word of a value of at most two whether it has only floating-point numbers; nothing for one without any.
func classify(t *typ) ([]bool, error) {
	count := (max(t.size, 1) + 7) / 8
	floats, used := make([]bool, count), make([]bool, count)
	err := t.scalars(0, 0, func(at int64, s *typ) {
		if word := at / 8; word >= 0 && word < count {
			floats[word] = s.float && (floats[word] || !used[word])
			used[word] = true
		}
	})
	if !slices.Contains(used, true) {
		return nil, err
	}
	return floats, err
}

// scalars visits the numbers and pointers that a value is made of.
func (t *typ) scalars(at int64, depth int, visit func(at int64, s *typ)) error {
	if depth > 16 {
		return errDepth
	}
	switch t.kind {
	case kindRecord:
		full, err := t.complete()
		if err != nil {
			return err
		}
		members, err := full.members()
		if err != nil {
			return err
		}
		for _, m := range members {
			of, err := full.unit.typeOf(m.entry)
			if err != nil {
				return err
			}
			if err := of.scalars(at+m.bit/8, depth+1, visit); err != nil {
				return err
			}
		}
	case kindArray:
		of, err := t.to()
		if err != nil {
			return err
		}
		for i := range min(t.counts[0], 16) {
			if err := of.scalars(at+i*of.size, depth+1, visit); err != nil {
				return err
			}
		}
	default:
		visit(at, t)
	}
	return nil
}

// returned returns where the result of a function is when it returns.
func (f *File) returned(fn *function) (value, *typ, error) {
	if fn.unit.lang == langGo {
		return f.returnedGo(fn, 0)
	}
	t, err := fn.unit.typeOf(fn.node.Entry)
	if err != nil {
		return nil, nil, err
	}
	if t, err = t.complete(); err != nil {
		return nil, nil, err
	}
	c := &calls{machine: f.machine, registers: f.machine.c.results, floats: 2}
	switch {
	case t.kind == kindVoid:
		return nil, nil, errors.New("the function returns nothing")
	case !isInMemory(t):
		return c.next(t), t, nil
	case f.machine.elf == elf.EM_AARCH64:
		return nil, nil, errors.New("the location of the result is not known when the function returns")
	}
	return c.pointed(), t, nil
}
