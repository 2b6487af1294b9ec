package cli

import (
	"fmt"
	"strings"
)

// words are command-line arguments in the one spelling that the parser reads.
type words struct {
	flags      []string // --name or --name=value
	args       []string
	command    []string
	hasCommand bool
}

// spell turns every accepted spelling into one: -d5s, -d 5s, -d=5s, --dur 5s and --dur=5s into --dur=5s, -av into
// --all --verbose; flags may follow arguments, "--" ends them.
func (t Tool) spell(argv []string) (words, error) {
	s := speller{tool: t, named: map[string]Flag{}}
	for _, f := range t.flags() {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
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
		return s.unknown("--" + name)
	}
	switch {
	case f.Kind == Bool && attached:
		return Usagef("--%s takes no value", f.Name)
	case f.Kind == Bool, f.Kind == Optional && !attached:
		s.put(f, "")
		return nil
	case !attached:
		return s.separate(f, "--"+name)
	}
	s.put(f, value)
	return nil
}

// short reads the letters of one argument: flags without values until one takes the rest.
func (s *speller) short(letters string) error {
	for i := range letters {
		letter := letters[i : i+1]
		f, ok := s.named[letter]
		if !ok {
			return s.unknown("-" + letters)
		}
		if f.Kind == Bool {
			s.put(f, "")
			continue
		}
		value := letters[i+1:]
		if value == "" && f.Kind != Optional {
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
		return Usagef("%s needs a value: %s %s", typed, typed, f.Value)
	}
	value := s.rest[0]
	if len(value) > 1 && value[0] == '-' && (value[1] < '0' || value[1] > '9') {
		return Usagef("%s needs a value, and %s is a flag; write %s=%s if it is meant", typed, value, typed, value)
	}
	s.put(f, s.next())
	return nil
}

func (s *speller) put(f Flag, value string) {
	word := "--" + f.Name
	if f.Kind != Bool {
		word += "=" + value
	}
	s.out.flags = append(s.out.flags, word)
}

func (s *speller) unknown(typed string) error {
	var valid []string
	for n := range s.named {
		if len(n) > 1 {
			valid = append(valid, "--"+n)
		}
	}
	name := typed
	if !strings.HasPrefix(name, "--") {
		name = "-" + name
	}
	hint := fmt.Sprintf("%s --help lists them", s.tool.Name)
	if near := Nearest(name, sorted(valid)); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef("there is no flag %s; %s", typed, hint)
}
