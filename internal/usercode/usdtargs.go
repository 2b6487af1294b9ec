package usercode

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/probe"
)

const (
	maxUSDTArgs = 32
	maxUSDTSpec = 8 << 10
)

// argScope is what the arguments of a static probe may refer to.
type argScope struct {
	machine *machine
	at      uint64 // address of the probe
	data    func(name string) (address uint64, ok bool)
}

// parseUSDTArgs returns how to read the arguments of a static probe from the text that describes them: "-4@%edi 8@16(%rsp)". The error is
// for text that is none; an argument that cannot be read has an error of its own.
func parseUSDTArgs(s *argScope, spec string) ([]USDTArg, error) {
	if len(spec) > maxUSDTSpec {
		return nil, fmt.Errorf("the arguments are described by %d bytes, and the limit is %d", len(spec), maxUSDTSpec)
	}
	words := splitArgs(spec)
	if len(words) > maxUSDTArgs {
		return nil, fmt.Errorf("there are %d arguments, and the limit is %d", len(words), maxUSDTArgs)
	}
	args := make([]USDTArg, 0, len(words))
	for _, word := range words {
		a, err := s.parse(word)
		if err != nil {
			return nil, fmt.Errorf("the argument %q is malformed", word)
		}
		a.Spec = word
		args = append(args, a)
	}
	return args, nil
}

// splitArgs splits at the spaces that are not in brackets.
func splitArgs(spec string) (words []string) {
	depth, from := 0, -1
	for i := range len(spec) {
		switch c := spec[i]; {
		case c == ' ' && depth == 0:
			if from >= 0 {
				words = append(words, spec[from:i])
			}
			from = -1
			continue
		case c == '[' || c == '(':
			depth++
		case (c == ']' || c == ')') && depth > 0:
			depth--
		}
		if from < 0 {
			from = i
		}
	}
	if from >= 0 {
		words = append(words, spec[from:])
	}
	return words
}

var (
	errForm   = errors.New("malformed")
	errVector = errors.New("it is in a vector register, which probes do not see")
)

// operand is where an argument is.
type operand struct {
	from     probe.From
	steps    []probe.Step
	shift    int  // bits, of a register
	inMemory bool // from and steps are its address
}

// parse reads one argument: its size, negative if it is signed, with an f if it is a floating-point number, and where it is.
func (s *argScope) parse(word string) (USDTArg, error) {
	sized, where, hasSize := strings.Cut(word, "@")
	size, signed, float := 8, false, false
	if !hasSize || !isSize(sized) {
		where = word // as old versions of sys/sdt.h write it
	} else {
		sized, float = strings.CutSuffix(sized, "f")
		n, err := strconv.Atoi(sized)
		if err != nil {
			return USDTArg{}, errForm
		}
		size, signed = max(n, -n), n < 0
	}
	isWhole := size == 1 || size == 2 || size == 4 || size == 8
	if !isWhole || float && size < 4 {
		return USDTArg{Err: fmt.Errorf("it is a value of %d bytes", size)}, nil
	}
	parse := s.operandX86
	if s.machine.elf == elf.EM_AARCH64 {
		parse = s.operandArm
	}
	o, err := parse(where)
	switch {
	case errors.Is(err, errForm):
		return USDTArg{}, err
	case err != nil:
		return USDTArg{Err: err}, nil
	}
	return o.arg(size, signed, float), nil
}

func isSize(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "-"), "f")
	_, err := strconv.ParseUint(s, 10, 8)
	return err == nil
}

// arg is an argument of some bytes.
func (o *operand) arg(size int, signed, float bool) USDTArg {
	a := USDTArg{Type: numberType(size, signed), Read: probe.Read{From: o.from, Steps: o.steps}}
	leaf := probe.Leaf{Kind: probe.LeafNumber, Size: size, Signed: signed, Float: float}
	switch {
	case o.inMemory:
		a.Read.Steps = append(a.Read.Steps, probe.Step{Kind: probe.StepLoad, User: true, Size: size, Signed: signed})
	case o.shift > 0:
		leaf.Shift, leaf.Bits = o.shift, 8
	default:
		a.Read.From.Size = min(size, max(o.from.Size, 1))
		a.Read.From.Signed = signed
	}
	if float {
		a.Type = map[int]probe.Type{4: probe.TypeF32, 8: probe.TypeF64}[size]
	}
	a.Read.Leaf = leaf
	return a
}

// number reads a number of assembler.
func number(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && !strings.Contains(text, "_") {
		return n, true
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return int64(n), err == nil && !strings.Contains(text, "_")
}

// constant is a number that stands in the description.
func constant(n int64) operand {
	return operand{from: probe.From{Kind: probe.FromConstant, Number: n, Size: 8, Signed: true}}
}

// inRegister is the value of a register.
func inRegister(r Register) operand {
	size := r.Size
	if r.Shift > 0 {
		size = 8
	}
	return operand{from: probe.From{Kind: probe.FromRegister, Register: r.Offset, Size: size}, shift: r.Shift}
}

func (o *operand) add(n int64) {
	steps := slices.Clip(o.steps)
	if last := len(steps) - 1; last >= 0 && steps[last].Kind == probe.StepAdd {
		n += steps[last].Number
		steps = slices.Clip(steps[:last])
	}
	if n != 0 {
		steps = append(steps, probe.Step{Kind: probe.StepAdd, Number: n})
	}
	o.steps = steps
}

// variable is a variable of the file: its distance from the probe, at which the thread is, is the same wherever the file is loaded.
func (s *argScope) variable(text string) (operand, error) {
	name, distance := text, int64(0)
	if at := strings.LastIndexAny(text, "+-"); at > 0 {
		if n, ok := number(strings.TrimPrefix(text[at:], "+")); ok {
			name, distance = text[:at], n
		}
	} else if before, after, ok := strings.Cut(text, "+"); ok && before != "" {
		if _, isNumber := number(before); isNumber {
			return s.variable(after + "+" + before)
		}
	}
	if !isSymbol(name) {
		return operand{}, errForm
	}
	address, ok := s.data(name)
	if !ok {
		return operand{}, fmt.Errorf("the file does not name %s in its symbol tables", name)
	}
	o := inRegister(Register{Offset: s.machine.pc, Size: 8})
	o.add(int64(address) + distance - int64(s.at))
	o.inMemory = true
	return o, nil
}

func isSymbol(name string) bool {
	for i, c := range name {
		isLetter := c == '_' || c == '.' || c == '$' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
		if !isLetter && (i == 0 || c != '@' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// operandX86 reads an operand in AT&T syntax: $5, %edi, -16(%rbp), 8(%rax,%rbx,4), variable(%rip).
func (s *argScope) operandX86(text string) (operand, error) {
	switch {
	case strings.HasPrefix(text, "$"):
		if n, ok := number(text[1:]); ok {
			return constant(n), nil
		}
		if isSymbol(text[1:]) {
			return operand{}, fmt.Errorf("it is the address of %s, which is known only to the linker", text[1:])
		}
		return operand{}, errForm
	case strings.HasPrefix(text, "%") && strings.Contains(text, ":"):
		return operand{}, errThread
	case strings.HasPrefix(text, "%"):
		return s.registerX86(text)
	}
	displacement, inside, hasBase := strings.Cut(text, "(")
	if !hasBase {
		return s.absolute(text)
	}
	inside, closed := strings.CutSuffix(inside, ")")
	parts := strings.Split(inside, ",")
	if !closed || len(parts) > 3 {
		return operand{}, errForm
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	if parts[0] == "%rip" && len(parts) == 1 {
		if _, ok := number(displacement); ok || displacement == "" {
			return operand{}, errors.New("it is at a distance from an instruction that is not known")
		}
		return s.variable(displacement)
	}
	return s.addressX86(displacement, parts)
}

// absolute reads an address without a register.
func (s *argScope) absolute(text string) (operand, error) {
	n, ok := number(text)
	if !ok {
		return s.variable(text)
	}
	o := constant(n)
	o.inMemory = true
	return o, nil
}

func (s *argScope) registerX86(text string) (operand, error) {
	name := text[1:]
	if r, ok := s.machine.register(name); ok {
		return inRegister(r), nil
	}
	for _, prefix := range []string{"xmm", "ymm", "zmm", "st", "mm", "k"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || strings.Trim(rest, "()0123456789") == "") {
			return operand{}, errVector
		}
	}
	return operand{}, errForm
}

// addressX86 is an address made of a base, an index with a scale, and a displacement.
func (s *argScope) addressX86(displacement string, parts []string) (o operand, err error) {
	distance, isNumber := number(displacement)
	switch {
	case parts[0] == "" && len(parts) == 1:
		return operand{}, errForm
	case displacement != "" && !isNumber:
		if o, err = s.variable(displacement); err == nil && parts[0] != "" {
			err = s.addRegister(&o, parts[0], 1)
		}
	case parts[0] != "":
		r, ok := s.addressRegister(parts[0])
		if !ok {
			return operand{}, errForm
		}
		o = inRegister(r)
	default:
		o = constant(0)
	}
	if err != nil {
		return operand{}, err
	}
	if len(parts) > 1 {
		scale := int64(1)
		if len(parts) == 3 {
			scale, _ = number(parts[2])
		}
		if err := s.addRegister(&o, parts[1], scale); err != nil {
			return operand{}, err
		}
	}
	o.add(distance)
	o.inMemory = true
	return o, nil
}

func (s *argScope) addRegister(o *operand, name string, scale int64) error {
	r, ok := s.addressRegister(name)
	switch {
	case !ok || scale != 1 && scale != 2 && scale != 4 && scale != 8:
		return errForm
	case r.Size != 8:
		return errors.New("its address is computed in 32 bits")
	}
	o.steps = append(o.steps, probe.Step{Kind: probe.StepAddRegister, Register: r.Offset, Scale: int(scale)})
	return nil
}

func (s *argScope) addressRegister(text string) (Register, bool) {
	name, ok := strings.CutPrefix(text, "%")
	if !ok {
		return Register{}, false
	}
	r, ok := s.machine.register(name)
	return r, ok && r.Size >= 4
}

// operandArm reads an operand as compilers write it for arm64: 5, x0, w1, [sp, 16], [x0, x1, lsl 3].
func (s *argScope) operandArm(text string) (operand, error) {
	inside, isMemory := strings.CutPrefix(text, "[")
	if !isMemory {
		if n, ok := number(strings.TrimPrefix(text, "#")); ok {
			return constant(n), nil
		}
		return s.registerArm(text)
	}
	inside, closed := strings.CutSuffix(inside, "]")
	parts := strings.Split(inside, ",")
	if !closed || len(parts) > 3 {
		return operand{}, errForm
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	r, ok := s.machine.register(parts[0])
	if !ok || r.Size != 8 {
		return operand{}, errForm
	}
	o := inRegister(r)
	o.inMemory = true
	if len(parts) == 1 {
		return o, nil
	}
	err := s.indexArm(&o, parts[1:])
	return o, err
}

// indexArm adds what follows a base: a number, or a register that may be shifted.
func (s *argScope) indexArm(o *operand, parts []string) error {
	if n, ok := number(strings.TrimPrefix(parts[0], "#")); ok {
		if len(parts) > 1 {
			return errForm
		}
		o.add(n)
		return nil
	}
	if strings.HasPrefix(parts[0], "#:") || strings.HasPrefix(parts[0], ":") {
		return errors.New("it is at a distance that is known only to the linker")
	}
	r, ok := s.machine.register(parts[0])
	if !ok {
		return errForm
	}
	if r.Size != 8 {
		return errors.New("its address is computed from 32 bits of a register")
	}
	shift := int64(0)
	if len(parts) == 2 {
		text, isShift := strings.CutPrefix(parts[1], "lsl")
		n, isNumber := number(strings.TrimPrefix(strings.TrimSpace(text), "#"))
		if !isShift || !isNumber || n < 0 || n > 4 {
			return errForm
		}
		shift = n
	}
	o.steps = append(o.steps, probe.Step{Kind: probe.StepAddRegister, Register: r.Offset, Scale: 1 << shift})
	return nil
}

func (s *argScope) registerArm(text string) (operand, error) {
	if text == "xzr" || text == "wzr" {
		return constant(0), nil
	}
	if r, ok := s.machine.register(text); ok {
		return inRegister(r), nil
	}
	if len(text) > 1 && strings.ContainsRune("vqdshb", rune(text[0])) && strings.Trim(text[1:], "0123456789") == "" {
		return operand{}, errVector
	}
	return operand{}, errForm
}
