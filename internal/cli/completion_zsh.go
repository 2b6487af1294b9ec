package cli

import (
	"fmt"
	"strings"
)

// zsh returns a script that may be sourced, or be in $fpath under the name _TOOL.
func (t Tool) zsh() string {
	name := "_" + strings.ReplaceAll(t.Name, "-", "_")
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n%s() {\n", t.Name, name)
	rest := "'*:file:_files'"
	if t.AllowCommand {
		b.WriteString(zshCommand)
		rest = ""
	}
	b.WriteString("\t_arguments -s -S \\\n")
	for _, f := range t.flags() {
		for _, s := range f.spellings() {
			fmt.Fprintf(&b, "\t\t%s \\\n", f.zsh(s))
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
func (f Flag) zsh(spelling string) string {
	text := strings.NewReplacer("'", "", "[", "(", "]", ")", ":", " -", "`", "", `\`, "").Replace(firstSentence(f.Usage))
	exclude := "(" + strings.Join(f.spellings(), " ") + ")"
	if f.Kind == List || f.Kind == Optional {
		exclude = "*"
	}
	return fmt.Sprintf("'%s%s%s[%s]%s'", exclude, spelling, f.zshAttachment(spelling), text, f.zshValue())
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

func (f Flag) zshValue() string {
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
	}
	return colon + strings.ToLower(strings.ReplaceAll(f.placeholder(), ":", " ")) + ":" + action
}
