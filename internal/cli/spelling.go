package cli

import (
	"fmt"
	"slices"
	"strings"
)

// words are command-line arguments in the one spelling that the parser reads.
type words struct {
	flags      []string // --KEY or --KEY=value
	args       []string
	command    []string
	hasCommand bool
}

// spell turns every accepted spelling into one: -d5s, -d 5s, -d=5s, --dur 5s and --dur=5s into --dur=5s, -av into
// --all --verbose; flags may follow arguments, "--" ends them.
func (t Tool) spell(argv []string) (words, error) {
	s := speller{tool: t, named: map[string]Flag{}}
	for _, f := range t.flags() {
		for _, n := range f.names() {
			s.named[n] = f
		}
	}
	for s.rest = argv; len(s.rest) > 0; {
		arg := s.next()
		var err error
		switch {
		case arg == "--":
			s.end()
		case strings.HasPrefix(arg, "--"):
			err = s.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			err = s.short(arg[1:])
		default:
			s.out.args = append(s.out.args, arg)
		}
		if err != nil {
			return words{}, err
		}
	}
	return s.out, nil
}

type speller struct {
	tool  Tool
	named map[string]Flag
	rest  []string
	out   words
}

func (s *speller) next() string {
	arg := s.rest[0]
	s.rest = s.rest[1:]
	return arg
}

func (s *speller) end() {
	if s.tool.AllowCommand {
		s.out.command, s.out.hasCommand = s.rest, true
	} else {
		s.out.args = append(s.out.args, s.rest...)
	}
	s.rest = nil
}

func (s *speller) long(arg string) error {
	name, value, attached := strings.Cut(arg, "=")
	f, ok := s.named[name]
	if !ok || len(name) == 1 {
		return s.unknown("--"+name, name)
	}
	switch {
	case f.Kind == Bool && attached:
		return Usagef("--%s takes no value", f.Name)
	case f.Kind == Bool:
		s.put(f, "")
		return nil
	case f.Kind == Optional && !attached:
		return s.valueless(f, "--"+name, "=")
	case !attached:
		return s.separate(f, "--"+name)
	}
	s.put(f, value)
	return nil
}

// short reads the letters of one argument: flags without values until one takes the rest. The whole name of a flag is
// refused: "-output x" would otherwise write a file called "utput".
func (s *speller) short(letters string) error {
	if name, _, _ := strings.Cut(letters, "="); len(name) > 1 {
		if _, isLong := s.named[name]; isLong {
			return Usagef("there is no flag -%s; did you mean --%s?", name, name)
		}
	}
	for i := range letters {
		letter := letters[i : i+1]
		f, ok := s.named[letter]
		if !ok {
			return s.unknown("-"+letters, letter)
		}
		if f.Kind == Bool {
			s.put(f, "")
			continue
		}
		value := letters[i+1:]
		switch {
		case value == "" && f.Kind == Optional:
			return s.valueless(f, "-"+letter, "")
		case value == "":
			return s.separate(f, "-"+letter)
		}
		s.put(f, strings.TrimPrefix(value, "="))
		return nil
	}
	return nil
}

// separate takes the next argument as the value.
func (s *speller) separate(f Flag, typed string) error {
	if len(s.rest) == 0 {
		return Usagef("%s needs a value: %s %s", typed, typed, f.placeholder())
	}
	value := s.rest[0]
	if len(value) > 1 && value[0] == '-' && !strings.ContainsRune("0123456789.", rune(value[1])) {
		return Usagef("%s needs a value, and %s is a flag; write %s=%s if that is the value", typed, value, typed, value)
	}
	s.put(f, s.next())
	return nil
}

// valueless adds an Optional flag without a value, unless the next argument was intended as its value.
func (s *speller) valueless(f Flag, typed, joint string) error {
	if s.valueIsNext(f) {
		return Usagef("no space after %s: write %s%s%s", typed, typed, joint, s.rest[0])
	}
	s.put(f, "")
	return nil
}

// valueIsNext reports whether the next argument is one of the flag's choices. Of an output file [Invocation.outputHint] finds out.
func (s *speller) valueIsNext(f Flag) bool {
	return len(f.Choices) > 0 && len(s.rest) > 0 && s.rest[0] != "" && s.rest[0][0] != '-' && choose(f, s.rest[0]) == nil
}

func (s *speller) put(f Flag, value string) {
	word := "--" + key(f.Name)
	if f.Kind != Bool {
		word += "=" + value
	}
	s.out.flags = append(s.out.flags, word)
}

// unknown suggests the flags that were probably intended. A letter is near to every short word, so that for letters only the
// other case counts. name is the part of what was typed that names no flag.
func (s *speller) unknown(typed, name string) error {
	if hint, ok := s.tool.Hints[name]; ok {
		return Usagef("there is no flag %s: %s", typed, hint)
	}
	if f, ok := flagNamed(s.tool.Filters, name); ok {
		return Usagef("there is no flag %s; wprof-filter has it: %s", typed, s.pipeline(f, name))
	}
	var near []string
	if letters := strings.TrimLeft(typed, "-"); len(letters) >= 3 || strings.HasPrefix(typed, "--") {
		near = Nearest("--"+letters, s.longFlags())
	} else if other := swapCase(letters); other != letters {
		if _, ok := s.named[other]; ok {
			near = []string{"-" + other}
		}
	}
	hint := fmt.Sprintf("%s --help lists them", s.tool.Name)
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef("there is no flag %s; %s", typed, hint)
}

// pipeline returns the command line that gives a flag of wprof-filter to wprof-filter, in front of the tool.
func (s *speller) pipeline(f Flag, name string) string {
	typed := "-" + name
	if len(name) > 1 {
		typed = "--" + name
	}
	if f.Kind != Bool {
		typed += " " + f.placeholder()
	}
	return fmt.Sprintf("wprof-filter %s FILE | %s", typed, s.tool.Name)
}

func (s *speller) longFlags() []string {
	var valid []string
	for n := range s.named {
		if len(n) > 1 {
			valid = append(valid, "--"+n)
		}
	}
	slices.Sort(valid)
	return valid
}

func swapCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}
