package probe

import (
	"slices"
	"strings"
)

// legScan is what a leg consists of.
type legScan struct {
	end  int // where ~~, | or nothing follows
	list int // where the parentheses of the parameters are; -1: there are none
	open int // where something is that is not closed, or closes nothing; -1: nothing
}

// scanLeg finds the end of a leg of which text is the target and what follows.
func scanLeg(text string, user bool) legScan {
	s := legScan{list: -1, open: -1}
	depth, opened, closed := 0, 0, 0
	for ; s.end < len(text); s.end++ {
		rest := text[s.end:]
		switch c := rest[0]; {
		case depth == 0 && strings.HasPrefix(rest, "~~"), depth == 0 && c == '|' && !user:
			return s.withList(text, opened, closed)
		case depth == 0 && c == '|':
			name := operatorName(text, s.end)
			if name == "" {
				return s.withList(text, opened, closed)
			}
			s.end += len(name) - 1
		case c == '(':
			if depth++; depth == 1 {
				opened = s.end
			}
		case c == ')' && depth == 0:
			s.open = s.end
			return s
		case c == ')':
			if depth--; depth == 0 {
				closed = s.end
			}
		case (c == '\'' || c == '"') && depth > 0 && spaceBefore(text, opened) && beginsValue(text[:s.end]):
			// What is not closed is an error of the parameters.
			s.end += max(0, endOfQuoted(rest)-1)
		}
	}
	if depth > 0 {
		s.open = opened
	}
	return s.withList(text, opened, closed)
}

// withList finds out whether the last parentheses are those of the parameters.
func (s legScan) withList(text string, opened, closed int) legScan {
	if closed > 0 && spaceBefore(text, opened) && strings.TrimLeft(text[closed+1:s.end], " ") == "" {
		s.list = opened
	}
	return s
}

func spaceBefore(text string, at int) bool { return at > 0 && text[at-1] == ' ' }

// operatorName returns what the bar there belongs to in the name of a function in C++: |, || or |= after "operator".
func operatorName(text string, bar int) string {
	if !strings.HasSuffix(text[:bar], "operator") {
		return ""
	}
	for _, name := range []string{"||", "|="} {
		if strings.HasPrefix(text[bar:], name) {
			return name
		}
	}
	return "|"
}

// beginsValue reports whether a quote that follows would begin a value of a parameter, not a lifetime in a name of Rust.
func beginsValue(before string) bool {
	before = strings.TrimRight(before, " ")
	return before != "" && strings.IndexByte(":=(,", before[len(before)-1]) >= 0
}

// target reads a target without quotes.
func (p *parser) target(info KindInfo) Word {
	p.spaces()
	text := p.rest()
	s := scanLeg(text, info.User)
	if s.open >= 0 {
		p.failAt(p.pos+s.open, 1, nil, "%s", map[byte]string{')': "')' closes nothing", '(': "'(' is not closed"}[text[s.open]])
		return Word{}
	}
	end := s.end
	if s.list >= 0 {
		end = s.list
	}
	w := Word{strings.TrimRight(text[:end], " "), p.pos}
	p.checkForgotten(w)
	p.pos = min(p.pos+end, len(p.def.Text))
	return w
}

// checkForgotten refuses targets that end later than was intended.
func (p *parser) checkForgotten(w Word) {
	for i := range len(w.Text) {
		switch {
		case w.Text[i] != '(' || !beginsParameters(w.Text[i+1:]):
		case i == 0:
			p.failAt(w.At, 0, nil, "a target is expected before the parameters")
		case spaceBefore(w.Text, i):
			p.pos = min(w.At+i+1+endOf(w.Text[i+1:], "")+1, len(p.def.Text))
			p.spaces()
			p.missing("only ~~ or | can follow the parameters")
			return
		default:
			p.failAt(w.At+i, 1, nil, "a space is expected before the parameters; quotes make this a part of the name")
		}
	}
	if i := strings.Index(w.Text, " ~ "); i >= 0 {
		p.failAt(w.At+i+1, 1, []string{"~~"}, "~~ is expected between the two ends of a span")
	}
	if i := strings.Index(w.Text, " #"); i >= 0 {
		p.failAt(w.At+i+1, len(w.Text)-i-1, nil, "comments are lines of their own; quotes make this a part of the name")
	}
}

// beginsParameters reports whether a parameter is next, rather than a type of C++.
func beginsParameters(text string) bool {
	text = strings.TrimLeft(text, " ")
	w := identifier(text)
	after := text[len(w):]
	if slices.Contains(stackWords(), w) {
		return strings.HasPrefix(after, ")") || strings.HasPrefix(after, ",")
	}
	known := slices.Contains(wordsOf(ParameterWords()), w+":")
	return known && strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "::")
}

// checkTarget checks what can be said without the system.
func (p *parser) checkTarget(kind ProbeKind, w Word) {
	info := kind.Info()
	before, after, colon := strings.Cut(w.Text, ":")
	switch {
	case p.err != nil:
	case kind == Breakpoint && w.Text != "":
		p.checkWatch(w)
	case w.Text == "":
		p.missing("a target is expected after %s: %s", info.Word, info.Target)
	case !info.User && otherCharacter(w.Text) >= 0:
		i := otherCharacter(w.Text)
		p.failAt(w.At+i, 1, nil, "'%s' is in no name of the kernel; a target of %s: is %s", string([]rune(w.Text[i:])[:1]), info.Word, info.Target)
	case kind == UserEntry && (w.Text[0] == '/' || w.Text[0] == '.') && colon && !isNumber(afterLastColon(w.Text)):
		p.fail(w, nil, "a target is %s; the program or library is a parameter: u:%s (path:%s)",
			info.Target, afterLastColon(w.Text), strings.TrimSuffix(w.Text, ":"+afterLastColon(w.Text)))
	case (kind == Tracepoint || kind == USDT) && (before == "" || after == "" || strings.Contains(after, ":")):
		p.fail(w, nil, "a target of %s: is %s", info.Word, info.Target)
	case (kind == RawTracepoint || kind == KernelEntry || kind == KernelReturn || kind == KernelSpan) && colon:
		p.fail(w, nil, "a target of %s: is %s", info.Word, info.Target)
	default:
		p.checkOffset(kind, w)
	}
}

func otherCharacter(text string) int {
	return strings.IndexFunc(text, func(r rune) bool {
		return r >= 0x80 || !isLetter(byte(r)) && !strings.ContainsRune(".*?:+-@[]", r)
	})
}

// checkOffset refuses offsets where a probe is always at the entry or return, and those that are no numbers.
func (p *parser) checkOffset(kind ProbeKind, w Word) {
	plus := strings.LastIndexByte(w.Text, '+')
	if plus < 0 {
		return
	}
	at, offset := w.At+plus, w.Text[plus:]
	digits := isNumber(offset[1:])
	switch {
	case kind == UserEntry || kind == KernelEntry && digits, kind.Info().User && !digits:
	case kind == KernelEntry:
		p.failAt(at, len(offset), nil, "an offset is expected, as in +0x10")
	default:
		p.failAt(at, len(offset), nil, "%s: has no offsets; u: and k: have", kind.Info().Word)
	}
}

func afterLastColon(text string) string { return text[strings.LastIndexByte(text, ':')+1:] }

func isNumber(text string) bool {
	n, unsigned, ok := number(text)
	return ok && n >= 0 && !unsigned
}
