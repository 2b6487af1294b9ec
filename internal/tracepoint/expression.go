package tracepoint

import (
	"strconv"
	"strings"
)

// evaluate computes a constant expression of C; ok is false if it has anything else.
func evaluate(text string, types Types) (value int64, ok bool) {
	e := expression{rest: text, types: types}
	value = e.binary(0)
	e.space()
	return value, !e.failed && e.rest == ""
}

// expression is what is left of one.
type expression struct {
	rest   string
	types  Types
	depth  int
	failed bool
}

// maxDepth bounds the brackets in an expression.
const maxDepth = 64

func (e *expression) space() { e.rest = strings.TrimLeft(e.rest, " \t") }

func (e *expression) fail() int64 {
	e.failed, e.rest = true, ""
	return 0
}

func (e *expression) take(word string) bool {
	e.space()
	rest, ok := strings.CutPrefix(e.rest, word)
	if ok {
		e.rest = rest
	}
	return ok
}

// levels are the binary operators, those that bind least first.
func levels() [][]string {
	return [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/"}}
}

func (e *expression) binary(level int) int64 {
	if level == len(levels()) {
		return e.unary()
	}
	left := e.binary(level + 1)
	for !e.failed {
		op := ""
		for _, candidate := range levels()[level] {
			if e.take(candidate) {
				op = candidate
				break
			}
		}
		if op == "" {
			return left
		}
		left = e.apply(op, left, e.binary(level+1))
	}
	return 0
}

func (e *expression) apply(op string, a, b int64) int64 {
	switch op {
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "&":
		return a & b
	case "<<", ">>":
		if b < 0 || b > 63 {
			return e.fail()
		}
		if op == "<<" {
			return a << uint(b)
		}
		return int64(uint64(a) >> uint(b))
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	if b == 0 {
		return e.fail()
	}
	return a / b
}

func (e *expression) unary() int64 {
	if e.depth++; e.depth > maxDepth {
		return e.fail()
	}
	defer func() { e.depth-- }()
	switch {
	case e.take("-"):
		return -e.unary()
	case e.take("~"):
		return ^e.unary()
	case e.take("+"):
		return e.unary()
	case e.take("("):
		return e.brackets()
	}
	return e.atom()
}

// brackets evaluates what follows an opening bracket: an expression, or a cast and its operand.
func (e *expression) brackets() int64 {
	inner, rest, ok := strings.Cut(e.rest, ")")
	if ok && isTypeName(inner) && !e.isConstant(strings.TrimSpace(inner)) {
		e.rest = rest
		return e.unary()
	}
	value := e.binary(0)
	if !e.take(")") {
		return e.fail()
	}
	return value
}

func (e *expression) isConstant(name string) bool {
	if e.types == nil {
		return false
	}
	_, ok := e.types.Constant(name)
	return ok
}

// atom evaluates a number, a character or the name of a constant.
func (e *expression) atom() int64 {
	e.space()
	if len(e.rest) >= 3 && e.rest[0] == '\'' && e.rest[2] == '\'' {
		c := e.rest[1]
		e.rest = e.rest[3:]
		return int64(c)
	}
	end := strings.IndexFunc(e.rest, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		end = len(e.rest)
	}
	word := e.rest[:end]
	e.rest = e.rest[end:]
	if word == "" {
		return e.fail()
	}
	if word[0] >= '0' && word[0] <= '9' {
		n, err := strconv.ParseUint(strings.TrimRight(strings.ToLower(word), "ul"), 0, 64)
		if err != nil {
			return e.fail()
		}
		return int64(n)
	}
	if e.types != nil {
		if value, ok := e.types.Constant(word); ok {
			return value
		}
	}
	return e.fail()
}
