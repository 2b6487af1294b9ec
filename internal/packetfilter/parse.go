package packetfilter

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
)

// Names finds what names of hosts and services stand for.
type Names struct {
	Host func(name string) ([]netip.Addr, error)
	Port func(name string) (uint16, error)
}

const (
	longest = 4096 // bytes of an expression
	deepest = 32   // parentheses and operations within each other
)

// Parse reads a condition in the syntax of pcap-filter(7). Errors are sentences about the expression.
func Parse(text string, names Names) (Node, error) {
	if len(text) > longest {
		return nil, fmt.Errorf("the filter of packets has %d bytes: %d are possible", len(text), longest)
	}
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("the filter of packets is empty: write it as net='tcp port 443'")
	}
	p := &parser{names: names, words: words, group: -1}
	v, err := p.condition()
	if err != nil {
		return nil, err
	}
	if !p.atEnd() {
		return nil, fmt.Errorf("%q is not expected after %q: write and, or or between them", p.peek().text, p.words[p.at-1].text)
	}
	n, err := v.asNode()
	if err == nil && numbersKept(n) > MostKept {
		return nil, errors.New("the filter of packets computes with more numbers at a time than are possible: leave out parentheses")
	}
	return n, err
}

// MostKept is how many numbers are kept at most while another one is computed.
const MostKept = 16

// numbersKept returns how many there are.
func numbersKept(n Node) int {
	switch n := n.(type) {
	case *And:
		return max(numbersKept(n.A), numbersKept(n.B))
	case *Or:
		return max(numbersKept(n.A), numbersKept(n.B))
	case *Not:
		return numbersKept(n.Node)
	case *Compare:
		return keptFor(&Binary{A: n.A, B: n.B})
	}
	return 0
}

func keptFor(n Number) int {
	switch n := n.(type) {
	case *Binary:
		return max(keptFor(n.A), 1+keptFor(n.B))
	case *Load:
		return keptFor(n.At)
	}
	return 0
}

// parser descends recursively: and, or; not; comparisons; arithmetic; primitives.
type parser struct {
	names Names
	words []word
	at    int
	depth int
	last  qualifiers // of the primitive before, which a name alone repeats
	group int        // place of the parenthesis before names that have the same qualifiers
}

// value is a condition or a number.
type value struct {
	node   Node
	number Number
	text   string // of a number: its name or digits, if it is nothing else
}

func (v value) asNode() (Node, error) {
	if v.node == nil {
		return nil, fmt.Errorf("%q is a number, where a condition is expected", v.text)
	}
	return v.node, nil
}

func (v value) asNumber() (Number, error) {
	if v.number == nil {
		return nil, errors.New("there is a condition where a number is expected")
	}
	return v.number, nil
}

func (p *parser) atEnd() bool { return p.at == len(p.words) }

// peek returns the next word, at the end an empty one.
func (p *parser) peek() word { return p.peekAt(0) }

func (p *parser) peekAt(n int) word {
	if p.at+n >= len(p.words) {
		return word{}
	}
	return p.words[p.at+n]
}

// take takes the next word if it is one of these.
func (p *parser) take(words ...string) (taken string) {
	for _, w := range words {
		if !p.atEnd() && p.peek().text == w {
			p.at++
			return w
		}
	}
	return ""
}

func (p *parser) expect(what string) error {
	if p.take(what) != "" {
		return nil
	}
	return p.unexpected("%q is expected", what)
}

func (p *parser) unexpected(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if p.atEnd() {
		return fmt.Errorf("the filter of packets ends where %s", what)
	}
	return fmt.Errorf("%q is where %s", p.peek().text, what)
}

func (p *parser) enter() error {
	if p.depth++; p.depth > deepest {
		return fmt.Errorf("the filter of packets is nested deeper than %d times", deepest)
	}
	return nil
}

// condition reads conditions with and, or between them, which bind alike, from left to right.
func (p *parser) condition() (value, error) {
	left, err := p.negation()
	for err == nil {
		op := p.take("and", "&&", "or", "||")
		if op == "" {
			break
		}
		var a, b Node
		if a, err = left.asNode(); err != nil {
			break
		}
		var right value
		if right, err = p.negation(); err != nil {
			break
		}
		if b, err = right.asNode(); err != nil {
			break
		}
		if op == "and" || op == "&&" {
			left = value{node: &And{a, b}}
		} else {
			left = value{node: &Or{a, b}}
		}
	}
	return left, err
}

func (p *parser) negation() (value, error) {
	if p.take("not", "!") == "" {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return value{}, err
	}
	defer func() { p.depth-- }()
	v, err := p.negation()
	if err != nil {
		return v, err
	}
	n, err := v.asNode()
	return value{node: &Not{n}}, err
}

// comparison reads a primitive, or a comparison of numbers.
func (p *parser) comparison() (value, error) {
	left, err := p.arithmetic(0)
	if err != nil {
		return left, err
	}
	op := p.take("=", "==", "!=", "<", "<=", ">", ">=")
	if op == "" {
		if left.text == "" || !p.repeats() {
			return left, nil
		}
		node, err := p.of(p.last, left.text)
		return value{node: node}, err
	}
	right, err := p.arithmetic(0)
	if err != nil {
		return right, err
	}
	if op == "==" {
		op = "="
	}
	a, err := left.asNumber()
	if err != nil {
		return left, err
	}
	b, err := right.asNumber()
	if err != nil {
		return right, err
	}
	return value{node: withHeaders(&Compare{Op(op), a, b})}, nil
}

// repeats reports whether the number before repeats the qualifiers of a primitive: port 80 or 443, port (80 or 443).
func (p *parser) repeats() bool {
	if p.last.kind == "" || p.at < 2 {
		return false
	}
	switch p.words[p.at-2].text {
	case "and", "&&", "or", "||", "not", "!":
		return true
	}
	return p.at-2 == p.group
}

// precedences are those of operators, the loosest first.
var precedences = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) arithmetic(level int) (value, error) {
	if level == len(precedences) {
		return p.operand()
	}
	left, err := p.arithmetic(level + 1)
	for err == nil {
		op := p.take(precedences[level]...)
		if op == "" {
			break
		}
		var right value
		if right, err = p.arithmetic(level + 1); err != nil {
			break
		}
		var a, b Number
		if a, err = left.asNumber(); err != nil {
			break
		}
		if b, err = right.asNumber(); err != nil {
			break
		}
		left.text = ""
		left.number, err = combine(Op(op), a, b)
	}
	return left, err
}

// combine computes what is constant.
func combine(op Op, a, b Number) (Number, error) {
	y, constant := b.(Const)
	switch {
	case constant && (op == "/" || op == "%") && y == 0:
		return nil, errors.New("the filter of packets divides by 0")
	case constant && (op == "<<" || op == ">>") && y > 31:
		return nil, fmt.Errorf("the filter of packets shifts a number of 32 bits by %d", y)
	}
	x, also := a.(Const)
	if !constant || !also {
		return &Binary{op, a, b}, nil
	}
	return Const(Calculate(op, uint32(x), uint32(y))), nil
}

// Calculate returns the result of an operation; the divisor is not 0.
func Calculate(op Op, a, b uint32) uint32 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "%":
		return a % b
	case "&":
		return a & b
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "<<":
		return a << (b & 31)
	}
	return a >> (b & 31)
}

// operand reads a number, bytes of a header, what is in parentheses, or a primitive.
func (p *parser) operand() (value, error) {
	if err := p.enter(); err != nil {
		return value{}, err
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("(") != "":
		v, err := p.condition()
		v.text = ""
		if err == nil {
			err = p.expect(")")
		}
		return v, err
	case p.take("-") != "":
		v, err := p.operand()
		if err != nil {
			return v, err
		}
		n, err := v.asNumber()
		if err != nil {
			return v, err
		}
		n, err = combine("-", Const(0), n)
		return value{number: n}, err
	case p.take("len") != "":
		return value{number: Length}, nil
	}
	w := p.peek()
	if !w.name {
		return value{}, p.unexpected("a condition is expected")
	}
	if n, ok, err := number(w.text); ok || err != nil {
		p.at++
		return value{number: Const(n), text: w.text}, err
	}
	if n, ok := constantOf(w.text); ok {
		p.at++
		return value{number: Const(n)}, nil
	}
	if p.peekAt(1).text == "[" {
		n, err := p.load()
		return value{number: n}, err
	}
	n, err := p.primitive()
	return value{node: n}, err
}

// number reads a number; ok is false where a word is none.
func number(text string) (n uint32, ok bool, err error) {
	wide, err := strconv.ParseUint(text, 0, 32)
	if errors.Is(err, strconv.ErrRange) {
		return 0, false, fmt.Errorf("%q is out of range: numbers are 0 to %d", text, uint32(math.MaxUint32))
	}
	return uint32(wide), err == nil, nil
}

// list reads names in parentheses, each of which has the qualifiers before these.
func (p *parser) list(q qualifiers) (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	p.last, p.group = q, p.at
	p.at++
	v, err := p.condition()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return v.asNode()
}

// load reads PROTOCOL[OFFSET] or PROTOCOL[OFFSET:SIZE].
func (p *parser) load() (Number, error) {
	name := p.peek().text
	l := &load{Load: Load{Size: 1}}
	if name != "ether" {
		of, ok := protocolOf(name)
		if !ok {
			return nil, fmt.Errorf("%q is not a protocol whose bytes can be compared: ether, ip, ip6, arp, rarp, tcp, udp, sctp, icmp, icmp6, igmp, pim, vrrp are", name)
		}
		l.From, l.of = of.header, of.is()
		if of.header == TransportHeader {
			l.of = all(l.of, has(HasTransport))
		}
	} else {
		l.From, l.of = FrameHeader, has(HasFrame)
	}
	p.at += 2
	v, err := p.arithmetic(0)
	if err != nil {
		return nil, fmt.Errorf("the index of a byte of %s: %w", name, err)
	}
	if l.At, err = v.asNumber(); err != nil {
		return nil, err
	}
	if p.take(":") != "" {
		size := p.take("1", "2", "4")
		if size == "" {
			return nil, p.unexpected("1, 2 or 4 is expected, the number of bytes")
		}
		l.Size = int(size[0] - '0')
	}
	return l, p.expect("]")
}

// load is a Load, and the condition that there is such a header.
type load struct {
	Load
	of Node
}

// withHeaders adds to a comparison the conditions that the headers are there of which it loads bytes.
func withHeaders(c *Compare) Node {
	var conditions []Node
	var plain func(n Number) Number
	plain = func(n Number) Number {
		switch n := n.(type) {
		case *load:
			conditions = append(conditions, n.of)
			return &Load{n.From, plain(n.At), n.Size}
		case *Binary:
			return &Binary{n.Op, plain(n.A), plain(n.B)}
		}
		return n
	}
	compare := &Compare{c.Op, plain(c.A), plain(c.B)}
	return all(append(conditions, compare)...)
}
