package cli

import (
	"fmt"
	"strings"
)

// bashBody is the part that is the same for all tools. bash cuts words at "=", so that --flag=value arrives as three
// words; COMP_WORDBREAKS without "=" makes it one. Both are brought to the flag, what stands before the value in the
// current word, and the value begun. It works with bash 3.2, which macOS has.
const bashBody = `	local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} head= attached= words= kind= i
	local IFS=$'\n'
	COMPREPLY=()
	if [[ $flag == = ]]; then flag=${COMP_WORDS[COMP_CWORD-2]} attached=1; fi
	if [[ $cur == = ]]; then cur= attached=1; fi
	if [[ $cur == --*=* ]]; then flag=${cur%%=*} head=$flag= cur=${cur#*=} attached=1
	elif [[ $cur == -[!-]?* ]]; then flag=${cur:0:2} head=$flag cur=${cur:2} attached=1; fi
`

const bashEnd = `	if [[ -z $kind && -n $attached ]]; then cur=$head$cur head=; fi
	if [[ $kind == list && $cur == *,* ]]; then head+=${cur%,*},; cur=${cur##*,}; fi
	case $kind in
	list | words) words=${words// /$'\n'} ;;
	files) COMPREPLY=($(compgen -f -P "$head" -- "$cur")); return ;;
	any) return ;;
	*)
		if [[ $cur != -* ]]; then COMPREPLY=($(compgen -f -- "$cur")); return; fi
		words=${flags// /$'\n'}
		;;
	esac
	COMPREPLY=($(compgen -P "$head" -W "$words" -- "$cur"))
	if [[ $kind == list ]]; then compopt -o nospace 2>/dev/null; fi
`

func (t Tool) bash() string {
	var flags []string
	for _, f := range t.flags() {
		flags = append(flags, f.spellings()...)
	}
	name := "_" + strings.ReplaceAll(t.Name, "-", "_")
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for %s\n%s() {\n%s", t.Name, name, bashBody)
	fmt.Fprintf(&b, "\tlocal flags='%s'\n", strings.Join(flags, " "))
	if t.AllowCommand {
		b.WriteString("\tfor ((i = 1; i < COMP_CWORD; i++)); do\n" +
			"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then COMPREPLY=($(compgen -c -f -- \"${COMP_WORDS[COMP_CWORD]}\")); return; fi\n\tdone\n")
	}
	b.WriteString("\tcase $flag in\n")
	for _, f := range t.flags() {
		if action := f.bash(); action != "" {
			fmt.Fprintf(&b, "\t%s) %s ;;\n", strings.Join(f.spellings(), " | "), action)
		}
	}
	fmt.Fprintf(&b, "\tesac\n%s}\ncomplete -o filenames -F %s %s\n", bashEnd, name, t.Name)
	return b.String()
}

// bash says what completes a flag's value.
func (f Flag) bash() string {
	action := "kind=any"
	words, some := f.wordList()
	switch {
	case f.Kind == Bool:
		return ""
	case some && f.CommaList:
		action = fmt.Sprintf("kind=list words='%s'", words)
	case some:
		action = fmt.Sprintf("kind=words words='%s'", words)
	case f.Files:
		action = "kind=files"
	}
	if f.Kind == Optional {
		return "if [[ -n $attached ]]; then " + action + "; fi"
	}
	return action
}
