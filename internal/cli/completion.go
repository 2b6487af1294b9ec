package cli

import (
	"fmt"
	"strings"
)

// completion is a script that completes flags and values in a shell.
func (t Tool) completion(shell string) string {
	switch shell {
	case "zsh":
		return t.zsh()
	case "fish":
		return t.fish()
	default:
		return t.bash()
	}
}

// values are the words that complete a flag's value.
func (f Flag) values() []string {
	words := append([]string(nil), f.Choices...)
	if f.Negate {
		for _, c := range f.Choices {
			words = append(words, "no-"+c)
		}
	}
	return words
}

// spellings are all names of a flag with their dashes.
func (f Flag) spellings() []string {
	all := []string{"--" + f.Name}
	for _, a := range f.Aliases {
		if len(a) == 1 {
			all = append(all, "-"+a)
		} else {
			all = append(all, "--"+a)
		}
	}
	return all
}

func (t Tool) bash() string {
	var b strings.Builder
	name := "_" + strings.ReplaceAll(t.Name, "-", "_")
	var flags []string
	for _, f := range t.flags() {
		flags = append(flags, f.spellings()...)
	}
	fmt.Fprintf(&b, "# bash completion for %s\n%s() {\n", t.Name, name)
	b.WriteString("\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} head= words=\n\tCOMPREPLY=()\n")
	b.WriteString("\tif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n\tif [[ $cur == = ]]; then cur=; fi\n")
	b.WriteString("\tif [[ $cur == --*=* ]]; then prev=${cur%%=*}; head=$prev=; cur=${cur#*=}; fi\n\tcase $prev in\n")
	for _, f := range t.flags() {
		if f.Kind == Bool {
			continue
		}
		action := "return"
		switch values := f.values(); {
		case len(values) > 0:
			action = fmt.Sprintf("words='%s'", strings.Join(values, " "))
			if f.CommaList {
				action += "; if [[ $cur == *,* ]]; then head+=${cur%,*},; cur=${cur##*,}; fi"
			}
		case f.Files:
			action = "COMPREPLY=($(compgen -f -P \"$head\" -- \"$cur\")); return"
		}
		fmt.Fprintf(&b, "\t%s) %s ;;\n", strings.Join(f.spellings(), " | "), action)
	}
	b.WriteString("\tesac\n\tif [[ -n $words ]]; then COMPREPLY=($(compgen -P \"$head\" -W \"$words\" -- \"$cur\")); return; fi\n")
	fmt.Fprintf(&b, "\tif [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return; fi\n", strings.Join(flags, " "))
	fmt.Fprintf(&b, "\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n}\ncomplete -o filenames -F %s %s\n", name, t.Name)
	return b.String()
}

func (t Tool) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n_arguments -s -S \\\n", t.Name)
	for _, f := range t.flags() {
		for _, s := range f.spellings() {
			fmt.Fprintf(&b, "  %s \\\n", f.zsh(s))
		}
	}
	if t.AllowCommand {
		b.WriteString("  '*::command:_normal'\n")
	} else {
		b.WriteString("  '*:file:_files'\n")
	}
	return b.String()
}

func (f Flag) zsh(spelling string) string {
	text := strings.NewReplacer("'", "", "[", "(", "]", ")", ":", " -").Replace(firstSentence(f.Usage))
	many := ""
	if f.Kind == List {
		many = "*"
	}
	attach, value := "", ""
	if f.Kind != Bool {
		attach = "+"
		if strings.HasPrefix(spelling, "--") {
			attach = "="
		}
		action := " "
		switch values := f.values(); {
		case f.CommaList && len(values) > 0:
			action = "_values -s , value " + strings.Join(values, " ")
		case len(values) > 0:
			action = "(" + strings.Join(values, " ") + ")"
		case f.Files:
			action = "_files"
		}
		colon := ":"
		if f.Kind == Optional {
			colon, attach = "::", "-"
			if strings.HasPrefix(spelling, "--") {
				attach = "=-"
			}
		}
		value = colon + strings.ToLower(f.placeholder()) + ":" + action
	}
	return fmt.Sprintf("'%s%s%s[%s]%s'", many, spelling, attach, text, value)
}

func (t Tool) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s\n", t.Name)
	for _, f := range t.flags() {
		fmt.Fprintf(&b, "complete -c %s", t.Name)
		for _, s := range f.spellings() {
			if strings.HasPrefix(s, "--") {
				fmt.Fprintf(&b, " -l %s", s[2:])
			} else {
				fmt.Fprintf(&b, " -s %s", s[1:])
			}
		}
		switch values := f.values(); {
		case f.Kind == Bool || f.Kind == Optional && len(values) == 0:
		case f.CommaList && len(values) > 0:
			fmt.Fprintf(&b, " -x -a '(__fish_append , %s)'", strings.Join(values, " "))
		case len(values) > 0:
			fmt.Fprintf(&b, " -x -a '%s'", strings.Join(values, " "))
		case f.Files:
			b.WriteString(" -r -F")
		default:
			b.WriteString(" -x")
		}
		fmt.Fprintf(&b, " -d '%s'\n", strings.NewReplacer("'", "", `\`, "").Replace(firstSentence(f.Usage)))
	}
	return b.String()
}

func firstSentence(text string) string {
	if i := strings.IndexAny(text, ".;\n"); i > 0 {
		return text[:i]
	}
	return text
}
