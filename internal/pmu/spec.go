package pmu

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	maxText  = 1024 // of a spec
	maxTerms = 64   // of a spec, or of the description of an event in sysfs
	maxName  = 128
)

// Spec is an event as it is written. Whether a machine has it is for [Machine.Resolve] to say.
type Spec struct {
	Text      string
	PMU       string // before a slash; "": there are no terms
	Group     string // of a tracepoint, before its colon
	Name      string // without a PMU: of a generic event, of a cache event, of one of a PMU, or of a tracepoint
	Raw       bool   // r003c: Config is that of the CPU's own PMU
	Number    bool   // 4:0x3c: Type and Config are given
	Type      uint32
	Config    uint64
	Terms     []Term
	Modifiers string
}

// Term is a word between slashes: name=value, or a name.
type Term struct {
	Name, Value string
	HasValue    bool
}

// Parse reads an event as perf writes it: cycles:u, r003c, cpu/event=0x3c,umask=1/, L1-dcache-load-misses, sched:sched_switch.
// Before a name may stand sw: for a software event, and tp: (as in -U) or tracepoint: (as in bpftrace) for a tracepoint.
func Parse(text string) (*Spec, error) {
	s := &Spec{Text: text}
	if err := s.parse(); err != nil {
		return nil, fmt.Errorf("event %q: %w", clip(text), err)
	}
	return s, nil
}

func clip(text string) string {
	if len(text) > maxName {
		return text[:maxName] + "..."
	}
	return text
}

func (s *Spec) parse() error {
	switch {
	case s.Text == "":
		return fmt.Errorf("it is empty")
	case len(s.Text) > maxText:
		return fmt.Errorf("it is longer than %d bytes", maxText)
	case strings.IndexFunc(s.Text, func(r rune) bool { return r <= ' ' && r != ' ' || r >= 0x7f }) >= 0:
		return fmt.Errorf("it has characters that are not printable ASCII")
	}
	head, rest, hasTerms := strings.Cut(s.Text, "/")
	if !hasTerms {
		return s.parseWords(s.Text)
	}
	list, modifiers, ok := cutQuoted(rest, '/')
	if !ok {
		return fmt.Errorf("the second slash is missing, after the terms")
	}
	s.Modifiers = strings.TrimPrefix(modifiers, ":")
	if s.Modifiers != "" && !isModifiers(s.Modifiers) {
		return fmt.Errorf("%q after the terms is not a list of modifiers; modifiers are %s", clip(s.Modifiers), modifierLetters)
	}
	if head == "" {
		return fmt.Errorf("the PMU before the first slash is missing")
	}
	var err error
	if s.Terms, err = parseTerms(list); err != nil {
		return err
	}
	if isGenericName(head) || parseRaw(head) != nil || strings.Contains(head, ":") {
		return s.parseWords(head)
	}
	s.PMU = head
	return nil
}

// isGenericName reports whether an event has a name that all machines know.
func isGenericName(name string) bool {
	if _, ok := genericOf(name); ok {
		return true
	}
	_, ok := cacheConfig(name)
	return ok
}

// parseWords reads an event without terms: words with colons between them.
func (s *Spec) parseWords(text string) error {
	words := strings.Split(text, ":")
	if words[0] == "sw" && len(words) > 1 {
		words = words[1:]
		if g, ok := genericOf(words[0]); !ok || g.kind != TypeSoftware {
			return s.unknownSoftware(words[0])
		}
	}
	if len(words) > 2 && (words[0] == "tp" || words[0] == "tracepoint") {
		words = words[1:]
	}
	first := words[0]
	if config := parseRaw(first); config != nil {
		s.Raw, s.Config = true, *config
		return s.setModifiers(words[1:])
	}
	switch {
	case len(words) == 1 || isGenericName(first):
		s.Name = first
		return s.setModifiers(words[1:])
	case s.parseNumbers(words):
		return s.setModifiers(words[2:])
	case len(words) == 2 && isModifiers(words[1]):
		s.Name = first
		return s.setModifiers(words[1:])
	case first == "" || words[1] == "":
		return fmt.Errorf("a word before or after the colon is missing")
	}
	s.Group, s.Name = first, words[1]
	return s.setModifiers(words[2:])
}

func (s *Spec) unknownSoftware(name string) error {
	var valid []string
	for _, g := range generics() {
		if g.kind == TypeSoftware {
			valid = append(valid, g.names...)
		}
	}
	return fmt.Errorf("sw:%s is no software event; %s", clip(name), suggest(name, valid))
}

// parseNumbers reads a type and a config.
func (s *Spec) parseNumbers(words []string) bool {
	kind, err := parseNumber(words[0])
	if err != nil || kind > 1<<31-1 {
		return false
	}
	config, err := parseNumber(words[1])
	if err != nil {
		return false
	}
	s.Number, s.Type, s.Config = true, uint32(kind), config
	return true
}

func (s *Spec) setModifiers(words []string) error {
	switch {
	case len(words) > 1:
		return fmt.Errorf("there are too many colons")
	case len(words) == 1 && words[0] != "" && s.Modifiers != "":
		return fmt.Errorf("modifiers stand before the slash and after it")
	case len(words) == 1 && words[0] != "" && !isModifiers(words[0]):
		return fmt.Errorf("%q after the colon is not a list of modifiers; modifiers are %s", clip(words[0]), modifierLetters)
	case len(words) == 1 && words[0] != "":
		s.Modifiers = words[0]
	}
	return nil
}

// parseRaw reads r003c; nil: it is none.
func parseRaw(text string) *uint64 {
	digits, ok := strings.CutPrefix(text, "r")
	if !ok {
		return nil
	}
	config, err := strconv.ParseUint(strings.TrimPrefix(digits, "0x"), 16, 64)
	if err != nil {
		return nil
	}
	return &config
}

// parseNumber reads a decimal number, or with 0x a hexadecimal one. As with perf, 010 is 10.
func parseNumber(text string) (uint64, error) {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		return strconv.ParseUint(digits, 16, 64)
	}
	return strconv.ParseUint(text, 10, 64)
}

// parseTerms reads terms with commas between them.
func parseTerms(list string) ([]Term, error) {
	var all []Term
	for more := list != ""; more; {
		var word string
		word, list, more = cutQuoted(list, ',')
		t := Term{}
		t.Name, t.Value, t.HasValue = strings.Cut(word, "=")
		t.Value = unquote(t.Value)
		switch {
		case t.Name == "":
			return nil, fmt.Errorf("a term is empty")
		case len(all) == maxTerms:
			return nil, fmt.Errorf("there are more than %d terms", maxTerms)
		case t.HasValue && t.Value == "":
			return nil, fmt.Errorf("the term %s has no value", clip(t.Name))
		}
		all = append(all, t)
	}
	return all, nil
}

// cutQuoted cuts at the first separator that is not between single quotes.
func cutQuoted(text string, separator byte) (before, after string, ok bool) {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '\'':
			quoted = !quoted
		case text[i] == separator && !quoted:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

func unquote(text string) string {
	if len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'' {
		return text[1 : len(text)-1]
	}
	return text
}
