package cli

import (
	"fmt"
	"strings"
)

// zsh returns a script that may be sourced, or be in $fpath under the name _TOOL.
func (t Tool) zsh() string {
	name := "_" + strings.ReplaceAll(t.Name, "-", "_")
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n", t.Name)
	for _, f := range t.flags() {
		b.WriteString(f.zshBegins(name))
	}
	fmt.Fprintf(&b, "%s() {\n", name)
	rest := "'*:file:_files'"
	if t.AllowCommand {
		b.WriteString(zshCommand)
		rest = ""
	}
	b.WriteString("\t_arguments -s -S \\\n")
	for _, f := range t.flags() {
		for _, s := range f.spellings() {
			fmt.Fprintf(&b, "\t\t%s \\\n", f.zsh(s, name))
		}
	}
	fmt.Fprintf(&b, "\t\t%s\n}\nif [ \"$funcstack[1]\" = \"_%s\" ]; then %s \"$@\"; else compdef %s %s; fi\n", rest, t.Name, name, name, t.Name)
	return b.String()
}

// zshCommand completes the command after "--" like a command line of its own. _arguments offers nothing if "--" comes first.
const zshCommand = `	local at=${words[(i)--]}
	if (( at < CURRENT )); then
		shift at words
		(( CURRENT -= at ))
		_normal
		return
	fi
`

// zsh returns the specification of one spelling for _arguments.
func (f Flag) zsh(spelling, tool string) string {
	text := strings.NewReplacer("'", "", "[", "(", "]", ")", ":", " -", "`", "", `\`, "").Replace(firstSentence(f.Usage))
	exclude := "(" + strings.Join(f.spellings(), " ") + ")"
	if f.Kind == List || f.Kind == Optional {
		exclude = "*"
	}
	return fmt.Sprintf("'%s%s%s[%s]%s'", exclude, spelling, f.zshAttachment(spelling), text, f.zshValue(tool))
}

// zshAttachment returns how a value may follow: "+" attached or separate, "=" likewise after an equals sign, with "-"
// attached only.
func (f Flag) zshAttachment(spelling string) string {
	long := strings.HasPrefix(spelling, "--")
	switch {
	case f.Kind == Bool:
		return ""
	case f.Kind == Optional && long:
		return "=-"
	case f.Kind == Optional:
		return "-"
	case long:
		return "="
	}
	return "+"
}

func (f Flag) zshValue(tool string) string {
	if f.Kind == Bool {
		return ""
	}
	colon := ":"
	if f.Kind == Optional {
		colon = "::"
	}
	action := " "
	words, some := f.wordList()
	switch {
	case some && f.CommaList:
		action = "_values -s , value " + words
	case some:
		action = "(" + words + ")"
	case f.Files:
		action = "_files"
	case f.ListFile:
		action = "{ compset -P @ && _files }"
	case len(f.Begins) > 0:
		action = " " + f.function(tool)
	}
	return colon + strings.ToLower(strings.ReplaceAll(f.placeholder(), ":", " ")) + ":" + action
}

// zshListed begins a function that offers the beginnings of values: it offers what the tool lists, of some in the program behind "--".
const zshListed = `%s() {
	local -a rows texts listed programs command
	local at=${words[(i)--]}
	listed=(%s) programs=(%s)
	if [[ $PREFIX == ?*:* && -n ${programs[(r)${PREFIX%%%%:*}:]} ]]; then
		(( at < $#words )) || return
		command=(-- ${(Q)words[at+1]})
	fi
	if [[ $#command -gt 0 || $PREFIX == ?*:?* && -n ${listed[(r)${PREFIX%%%%:*}:]} ]]; then
		rows=(${${(f)"$($words[1] --list "$PREFIX*" $command 2>/dev/null)"}%%%% *})
		compadd -S '' -a rows
		return
	fi
	rows=(`

// zshBegins returns a function that offers the beginnings of values, and what the tool lists.
func (f Flag) zshBegins(tool string) string {
	if len(f.Begins) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, zshListed, f.function(tool), f.listed(OfMachine), f.listed(OfCommand))
	for _, row := range f.Begins {
		fmt.Fprintf(&b, "%s ", row.Word)
	}
	b.WriteString(")\n\ttexts=(\n")
	for _, row := range f.Begins {
		fmt.Fprintf(&b, "\t\t'%s -- %s'\n", row.Word, row.Text)
	}
	return b.String() + "\t)\n\tcompadd -S '' -l -d texts -a rows\n}\n"
}
