package swift

import (
	"strings"
	"unicode/utf8"
)

// maxWords is how many words of a name can be substituted in later identifiers.
const maxWords = 26

// identifier reads one: its length and text; "0" and parts of it, some of them words of earlier ones; or "00" and a text in Punycode.
func (m *machine) identifier() *node {
	substituted, encoded := false, false
	if m.skip("00") {
		encoded = true
	} else if m.skip("0") {
		substituted = true
	}
	var text strings.Builder
	for {
		for substituted && isLetter(m.peek()) {
			c := m.next()
			word := int(c - 'a')
			if c <= 'Z' {
				word, substituted = int(c-'A'), false
			}
			if word >= len(m.words) {
				return nil
			}
			if m.expanded += len(m.words[word]); m.expanded > maxBytes {
				return nil
			}
			text.WriteString(m.words[word])
		}
		if m.skip("0") {
			break
		}
		part, ok := m.identifierPart(encoded)
		if !ok {
			return nil
		}
		text.WriteString(part)
		if !substituted {
			break
		}
	}
	if text.Len() == 0 {
		return nil
	}
	return m.substitutable(m.node(identifier, text.String()))
}

// identifierPart reads a length and a text.
func (m *machine) identifierPart(encoded bool) (part string, ok bool) {
	length, ok := m.natural()
	if encoded {
		m.skip("_")
	}
	if !ok || length == 0 || length > len(m.in)-m.at {
		return "", false
	}
	part = m.in[m.at : m.at+length]
	m.at += length
	if encoded {
		return punycode(part)
	}
	m.addWords(part)
	return part, true
}

// addWords remembers the words of an identifier: what is between underscores, cut before each capital that follows a small letter
// or a digit.
func (m *machine) addWords(s string) {
	start := -1
	for i := 0; i <= len(s); i++ {
		isEnd := i == len(s) || s[i] == '_' || i > 0 && isCapital(s[i]) && !isCapital(s[i-1])
		if start >= 0 && isEnd {
			if i-start >= 2 && len(m.words) < maxWords {
				m.words = append(m.words, s[start:i])
			}
			start = -1
		}
		if start < 0 && i < len(s) && s[i] != '_' && (s[i] < '0' || s[i] > '9') {
			start = i
		}
	}
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

func isLetter(c byte) bool { return isCapital(c) || c >= 'a' && c <= 'z' }

// punycode decodes the form of RFC 3492, with "_" as the delimiter, and A to J as the digits above z.
func punycode(s string) (string, bool) {
	var runes []rune
	if at := strings.LastIndexByte(s, '_'); at >= 0 {
		runes = []rune(s[:at])
		s = s[at+1:]
	}
	const base, tMin, tMax, skew, damp = 36, 1, 26, 38, 700
	n, bias, i := 128, 72, 0
	for s != "" {
		before, weight := i, 1
		for k := base; ; k += base {
			if s == "" {
				return "", false
			}
			digit, ok := punycodeDigit(s[0])
			s = s[1:]
			i += digit * weight
			if !ok || i > 1<<30 {
				return "", false
			}
			t := min(max(k-bias, tMin), tMax)
			if digit < t {
				break
			}
			weight *= base - t
			if weight > 1<<30 {
				return "", false
			}
		}
		delta := i - before
		if before == 0 {
			delta /= damp
		} else {
			delta /= 2
		}
		delta += delta / (len(runes) + 1)
		k := 0
		for ; delta > (base-tMin)*tMax/2; k += base {
			delta /= base - tMin
		}
		bias = k + (base-tMin+1)*delta/(delta+skew)
		n += i / (len(runes) + 1)
		i %= len(runes) + 1
		r := rune(n)
		if n >= 0xd800 && n < 0xd880 { // ASCII that an identifier cannot have
			r = rune(n - 0xd800)
		}
		if n > utf8.MaxRune || !utf8.ValidRune(r) {
			return "", false
		}
		runes = append(runes, 0)
		copy(runes[i+1:], runes[i:])
		runes[i] = r
		i++
	}
	return string(runes), true
}

func punycodeDigit(c byte) (digit int, ok bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a'), true
	case c >= 'A' && c <= 'J':
		return int(c-'A') + 26, true
	}
	return 0, false
}

// operatorCharacters are what small letters of an operator's name stand for.
const operatorCharacters = "& @/= >    <*!|+?%-~   ^ ."

// operatorIdentifier reads the fixity of the identifier before it, which is that of an operator.
func (m *machine) operatorIdentifier() *node {
	id := m.pop(identifier)
	fixity := map[byte]string{'i': " infix", 'p': " prefix", 'P': " postfix"}[m.next()]
	if id == nil || fixity == "" {
		return nil
	}
	var text strings.Builder
	for _, c := range id.text {
		switch {
		case c >= utf8.RuneSelf:
			text.WriteRune(c)
		case c < 'a' || c > 'z' || operatorCharacters[c-'a'] == ' ':
			return nil
		default:
			text.WriteByte(operatorCharacters[c-'a'])
		}
	}
	return m.node(operatorName, text.String()+fixity)
}

// localIdentifier reads what distinguishes declarations of the same name.
func (m *machine) localIdentifier() *node {
	switch c := m.peek(); {
	case m.skip("L"):
		file := m.pop(identifier)
		name := m.popDeclName()
		if file == nil || name == nil {
			return nil
		}
		return m.node(privateName, file.text, name)
	case m.skip("l"):
		file := m.pop(identifier)
		if file == nil {
			return nil
		}
		return m.node(anonymous, file.text)
	case c >= 'a' && c <= 'j' || c >= 'A' && c <= 'J':
		m.at++
		return m.all(localName, "related decl '"+string(c)+"' for ", m.popDeclName())
	}
	index, ok := m.indexNumber()
	name := m.popDeclName()
	if !ok || name == nil {
		return nil
	}
	n := m.node(localName, "", name)
	n.index = index
	return n
}

// substitution reads references to earlier nodes: letters, of which the last is a capital, each after how often it is repeated; or
// the number of one that has no letter.
func (m *machine) substitution() *node {
	repeat := 0
	for len(m.stack) <= maxStack {
		c := m.next()
		switch {
		case c == '_':
			return m.substituted(repeat + 26)
		case !isLetter(c):
			m.at--
			n, ok := m.natural()
			if !ok {
				return nil
			}
			if m.peek() == '_' {
				m.at++
				return m.substituted(n + 27)
			}
			repeat = n
			continue
		}
		isLast := isCapital(c)
		n := m.substituted(int((c | 0x20) - 'a'))
		if n == nil || repeat > maxStack {
			return nil
		}
		for ; repeat > 1; repeat-- {
			m.push(n)
		}
		if isLast {
			return n
		}
		m.push(n)
		repeat = 0
	}
	return nil
}

func (m *machine) substituted(index int) *node {
	if index >= len(m.substitutions) {
		return nil
	}
	return m.substitutions[index]
}

// standardTypes are those of Swift's library that have an operator, and standardConcurrencyTypes those that have one after "c".
var standardTypes, standardConcurrencyTypes = standardNodes(map[byte]string{
	'A': "AutoreleasingUnsafeMutablePointer", 'a': "Array", 'B': "BinaryFloatingPoint", 'b': "Bool", 'D': "Dictionary", 'd': "Double",
	'E': "Encodable", 'e': "Decodable", 'F': "FloatingPoint", 'f': "Float", 'G': "RandomNumberGenerator", 'H': "Hashable", 'h': "Set",
	'I': "DefaultIndices", 'i': "Int", 'J': "Character", 'j': "Numeric", 'K': "BidirectionalCollection", 'k': "RandomAccessCollection",
	'L': "Comparable", 'l': "Collection", 'M': "MutableCollection", 'm': "RangeReplaceableCollection", 'N': "ClosedRange", 'n': "Range",
	'O': "ObjectIdentifier", 'P': "UnsafePointer", 'p': "UnsafeMutablePointer", 'Q': "Equatable", 'q': "Optional",
	'R': "UnsafeBufferPointer", 'r': "UnsafeMutableBufferPointer", 'S': "String", 's': "Substring", 'T': "Sequence",
	't': "IteratorProtocol", 'U': "UnsignedInteger", 'u': "UInt", 'V': "UnsafeRawPointer", 'v': "UnsafeMutableRawPointer",
	'W': "UnsafeRawBufferPointer", 'w': "UnsafeMutableRawBufferPointer", 'X': "RangeExpression", 'x': "Strideable",
	'Y': "RawRepresentable", 'y': "StringProtocol", 'Z': "SignedInteger", 'z': "BinaryInteger",
}), standardNodes(map[byte]string{
	'A': "Actor", 'C': "CheckedContinuation", 'c': "UnsafeContinuation", 'E': "CancellationError", 'e': "UnownedSerialExecutor",
	'F': "Executor", 'f': "SerialExecutor", 'G': "TaskGroup", 'g': "ThrowingTaskGroup", 'h': "TaskExecutor",
	'I': "AsyncIteratorProtocol", 'i': "AsyncSequence", 'J': "UnownedJob", 'M': "MainActor", 'P': "TaskPriority", 'S': "AsyncStream",
	's': "AsyncThrowingStream", 'T': "Task", 't': "UnsafeCurrentTask",
})

func standardNodes(names map[byte]string) map[byte]*node {
	swift := &node{kind: module, text: "Swift"}
	nodes := map[byte]*node{}
	for letter, name := range names {
		nodes[letter] = &node{kind: nominal, kids: []*node{swift, {kind: identifier, text: name}}}
	}
	return nodes
}

// standardSubstitution reads a reference to Swift's library, or to the modules of imported C.
func (m *machine) standardSubstitution() *node {
	switch {
	case m.skip("o"):
		return m.node(module, "__C")
	case m.skip("C"):
		return m.node(module, "__C_Synthesized")
	case m.skip("g"):
		return m.substitutable(m.all(bound, "", standardTypes['q'], m.popType()))
	}
	repeat, _ := m.natural()
	types := standardTypes
	if m.skip("c") {
		types = standardConcurrencyTypes
	}
	n := types[m.next()]
	if n == nil || repeat > maxStack {
		return nil
	}
	for ; repeat > 1; repeat-- {
		m.push(n)
	}
	return n
}
