package tracepoint

import (
	"regexp"
	"slices"
	"strings"

	"wprof/format"
)

// printed is what the print format of a tracepoint says of its fields.
type printed struct {
	numbers map[string][]*format.EnumName // of fields that are one of these
	flags   map[string][]*format.EnumName // of fields that are several of these
	hex     map[string]bool
}

// parsePrint reads a print format, in which C of the kernel is left: "code=%s flags=%x", __print_symbolic(REC->code, { 1, "a" }), REC->flags.
// What it cannot read it leaves out.
func parsePrint(text string, types Types) *printed {
	p := &printed{numbers: map[string][]*format.EnumName{}, flags: map[string][]*format.EnumName{}, hex: map[string]bool{}}
	form, rest, ok := cutString(strings.TrimSpace(text))
	if !ok {
		return p
	}
	p.addHex(form, splitArgs(rest)) // the comma after the format makes the first one empty
	for _, call := range calls(text) {
		isFlags := strings.HasPrefix(call, "flags")
		_, args, _ := strings.Cut(call, "(")
		parts := splitArgs(args)
		name, bare := fieldOf(parts[0])
		first := 1
		if isFlags {
			first = 2
		}
		if name == "" || len(parts) <= first || !isFlags && !bare {
			continue
		}
		into := p.numbers
		if isFlags {
			into = p.flags
		}
		if names := namesOf(parts[first:], types); names != nil && into[name] == nil {
			into[name] = names
		}
	}
	return p
}

// apply gives a field what the print format says of it.
func (p *printed) apply(f *format.TypeField, place *Place) {
	if place.Kind != Fixed || f.List || !f.Is(format.ValueType_VALUE_UINT) && !f.Is(format.ValueType_VALUE_INT) && !f.Is(format.ValueType_VALUE_ENUM) {
		return
	}
	switch {
	case p.numbers[string(f.Name)] != nil:
		setNames(f, place, p.numbers[string(f.Name)])
	case p.flags[string(f.Name)] != nil:
		setNames(f, place, p.flags[string(f.Name)])
		f.List = f.Is(format.ValueType_VALUE_ENUM)
	case p.hex[string(f.Name)] && !f.Is(format.ValueType_VALUE_ENUM):
		f.Hint = uint32(format.ValueHint_HINT_HEX)
	}
}

// addHex notes the fields that are printed as hexadecimal numbers. args begins after the format.
func (p *printed) addHex(form string, args []string) {
	conversion := regexp.MustCompile(`%[-+ #0]*(\*|\d+)?(\.(\*|\d+))?(?:hh|h|ll|l|L|z|t|j)?([a-zA-Z%])`)
	at := 1
	for _, m := range conversion.FindAllStringSubmatch(form, -1) {
		if m[4] == "%" {
			continue
		}
		at += strings.Count(m[0], "*")
		if at >= len(args) {
			return
		}
		if name, bare := fieldOf(args[at]); bare && strings.Contains("xXp", m[4]) {
			p.hex[name] = true
		}
		at++
	}
}

// calls returns the rest of the text after each "__print_" of a table: flags(…, symbolic(….
func calls(text string) (all []string) {
	for rest := text; ; {
		at := strings.Index(rest, "__print_")
		if at < 0 {
			return all
		}
		rest = rest[at+len("__print_"):]
		for _, kind := range []string{"flags(", "flags_u64(", "symbolic(", "symbolic_u64("} {
			if strings.HasPrefix(rest, kind) {
				all = append(all, untilClosed(rest))
			}
		}
	}
}

// untilClosed cuts a call behind its arguments.
func untilClosed(call string) string {
	open := strings.IndexByte(call, '(')
	if end := closing(call, open); end > 0 {
		return call[:end]
	}
	return call
}

// closing returns the index of the bracket that closes the one at open; 0: there is none.
func closing(text string, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// endOfString returns the index of the quote that ends the string at i.
func endOfString(text string, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// splitArgs splits at the commas that are in no brackets and no string. It returns at least one part.
func splitArgs(text string) (parts []string) {
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(text[min(from, len(text)):]))
}

// fieldOf returns the only field in an expression, and whether it is nothing else: no more than casts and brackets around it. For flags
// a mask may follow it.
func fieldOf(expression string) (name string, bare bool) {
	e := strip(expression)
	rest, ok := strings.CutPrefix(e, "REC->")
	if !ok {
		return "", false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		return rest, true
	}
	name, rest = rest[:end], strings.TrimSpace(rest[end:])
	if strings.HasPrefix(rest, "&") && !strings.Contains(rest, "REC->") {
		return name, false
	}
	return "", false
}

// strip removes casts and brackets around an expression.
func strip(e string) string {
	for {
		e = strings.TrimSpace(e)
		if !strings.HasPrefix(e, "(") {
			return e
		}
		end := closing(e, 0)
		switch {
		case end == len(e)-1:
			e = e[1:end]
		case end > 0 && isTypeName(e[1:end]):
			e = e[end+1:]
		default:
			return e
		}
	}
}

// isTypeName reports whether what is in brackets before an expression can be a type: a cast.
func isTypeName(text string) bool {
	text = strings.TrimRight(strings.TrimSpace(text), "* ")
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !isWord(r) && r != ' ' }) && (text[0] < '0' || text[0] > '9')
}

// namesOf reads { 1, "a" }, { 2, "b" }; nil: there is nothing that it can read.
func namesOf(entries []string, types Types) (names []*format.EnumName) {
	for _, entry := range entries {
		inner := strings.TrimSuffix(strings.TrimPrefix(entry, "{"), "}")
		parts := splitArgs(inner)
		if len(parts) != 2 || len(inner) == len(entry) {
			continue
		}
		name, _, ok := cutString(parts[1])
		number, known := evaluate(parts[0], types)
		if !ok || !known || name == "" {
			continue
		}
		names = append(names, &format.EnumName{Number: number, Name: []byte(name)})
	}
	return slices.Clip(names)
}

// cutString reads a string of C at the beginning of a text; adjacent ones are one.
func cutString(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for strings.HasPrefix(text, `"`) {
		end := endOfString(text, 0)
		if end >= len(text) {
			return "", "", false
		}
		b.WriteString(unescape(text[1:end]))
		text, ok = strings.TrimSpace(text[end+1:]), true
	}
	return b.String(), text, ok
}

// unescape replaces the escapes of C that formats have.
func unescape(text string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, " ", `\t`, " ").Replace(text)
}
