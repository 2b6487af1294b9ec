package cli

import (
	"fmt"
	"strings"
)

// bashBody is the part that is the same for all tools. bash cuts words at "=" and "@", so that --flag=value arrives as
// three words and --flag=@value as --flag, =@ and value; COMP_WORDBREAKS without them makes it one. All are parsed into the
// flag, the text before the value in the current word, and the value so far; "@" belongs to the value, because a
// completion replaces it too. It cuts words at ":" as well, and replaces only what is behind the last one. It works with bash 3.2, the version of macOS.
const bashBody = `	local cur=${COMP_WORDS[COMP_CWORD]} flag= head= attached= given= left= words= listed= programs= kind= word before= i at=$COMP_CWORD
	local IFS=$'\n'
	COMPREPLY=()
	while ((at > 1)) && [[ ${COMP_WORDS[at]} == :* || ${COMP_WORDS[at-1]} == :* ]]; do ((at -= 1)); cur=${COMP_WORDS[at]}$cur; done
	if ((at < COMP_CWORD)); then before=${cur%"${cur##*:}"}; fi
	flag=${COMP_WORDS[at-1]}
	case $flag in
	@) cur=@$cur flag=${COMP_WORDS[at-2]%=} ;;
	=@) cur=@$cur flag=${COMP_WORDS[at-2]} attached=1 ;;
	esac
	if [[ $flag == = ]]; then flag=${COMP_WORDS[at-2]} attached=1; fi
	case $cur in = | =@) cur=${cur#=} attached=1 ;; esac
	if [[ $cur == --*=* ]]; then flag=${cur%%=*} head=$flag= cur=${cur#*=} attached=1
	elif [[ $cur == -[!-]?* ]]; then flag=${cur:0:2} head=$flag cur=${cur:2} attached=1; fi
`

const bashEnd = `	if [[ -z $kind && -n $attached ]]; then cur=$head$cur head=; fi
	if [[ $kind == list && $cur == *,* ]]; then
		given=,${cur%,*}, head+=${cur%,*}, cur=${cur##*,}
		for word in ${words// /$'\n'}; do [[ $given == *,$word,* ]] || left+=$word$'\n'; done
		words=$left
	fi
	case $kind in
	list | words) words=${words// /$'\n'} ;;
	files) COMPREPLY=($(compgen -f -P "$head" -- "$cur")); return ;;
	entries)
` + bashEntries + `		return
		;;
	begins)
` + bashBegins + `		return
		;;
	any) return ;;
	*)
		if [[ $cur != -* ]]; then COMPREPLY=($(compgen -f -- "$cur")); return; fi
		words=${flags// /$'\n'}
		;;
	esac
	COMPREPLY=($(compgen -P "$head" -W "$words" -- "$cur"))
	if [[ $kind == list ]]; then compopt -o nospace 2>/dev/null; fi
`

// bashEntries offers files after "@". bash would take "@" for a part of their names: it would quote it, and not recognize
// folders.
const bashEntries = `		if [[ $cur != @* ]]; then return; fi
		compopt +o filenames 2>/dev/null
		for word in $(compgen -f -- "${cur#@}"); do
			i=$head@$(printf %q "$word")
			if [[ -d $word ]]; then i+=/; compopt -o nospace 2>/dev/null; fi
			COMPREPLY+=("$i")
		done
`

// bashBegins offers the beginnings of values, and what the tool lists, of some in the program behind "--". The value may be in quotes that are
// still open.
const bashBegins = `		compopt +o filenames -o nospace 2>/dev/null
		word=${cur#[\'\"]}
		kind=" ${word%%:*}: "
		for ((i = COMP_CWORD + 1; i < ${#COMP_WORDS[@]}; i++)); do
			if [[ ${COMP_WORDS[i]} == -- ]]; then given=${COMP_WORDS[i+1]}; break; fi
		done
		if [[ $word == ?*:?* && " $listed " == *$kind* ]]; then words=$("${COMP_WORDS[0]}" --list "$word*" 2>/dev/null | cut -d ' ' -f 1)
		elif [[ $word == ?*:* && " $programs " == *$kind* ]]; then
			if [[ -n $given ]]; then words=$("${COMP_WORDS[0]}" --list "$word*" -- "$given" 2>/dev/null | cut -d ' ' -f 1); fi
		else words=${words// /$'\n'}; fi
		COMPREPLY=($(compgen -P "$head" -W "$words" -- "$word"))
		COMPREPLY=("${COMPREPLY[@]#"$before"}")
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

// bash returns the part of the script that completes a flag's value.
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
	case f.ListFile:
		action = "kind=entries"
	case len(f.Begins) > 0:
		return fmt.Sprintf("if [[ $cur != -* ]]; then kind=begins words='%s' listed='%s' programs='%s'; fi", f.begins(), f.listed(OfMachine), f.listed(OfCommand))
	}
	if f.Kind == Optional {
		return "if [[ -n $attached ]]; then " + action + "; fi"
	}
	return action
}
