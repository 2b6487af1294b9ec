package cli

import (
	"fmt"
	"strings"
)

// The scripts of a tool with commands complete their names, and after a name what the script of its tool completes, which the tool prints
// when it is first needed.

const bashCommands = `# bash completion for NAME
_NAME() {
	local tool=
	if [[ ${COMP_WORDS[1]} == help ]]; then
		if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W "COMMANDS" -- "${COMP_WORDS[2]}")); fi
		return
	fi
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "COMMANDS FLAGS" -- "${COMP_WORDS[1]}"))
		return
	fi
	case ${COMP_WORDS[1]} in
CASES	*) return ;;
	esac
	local func=_${tool//-/_}
	declare -F "$func" >/dev/null || eval "$("${COMP_WORDS[0]}" "${tool#*-}" --completion bash 2>/dev/null)"
	declare -F "$func" >/dev/null || return
	COMP_WORDS=("$tool" "${COMP_WORDS[@]:2}")
	((COMP_CWORD -= 1))
	"$func"
}
complete -o filenames -F _NAME NAME
`

const zshCommands = `#compdef NAME
_NAME() {
	local -a commands
	local tool
	commands=(
DESCRIPTIONS	)
	if (( CURRENT == 2 )) || [[ $words[2] == help && CURRENT -eq 3 ]]; then
		_describe command commands
		return
	fi
	case $words[2] in
CASES	*) return ;;
	esac
	(( $+functions[_${tool//-/_}] )) || eval "$($words[1] ${tool#*-} --completion zsh 2>/dev/null)"
	(( $+functions[_${tool//-/_}] )) || return
	words=($tool ${words[3,-1]})
	(( CURRENT -= 1 ))
	_${tool//-/_}
}
if [ "$funcstack[1]" = "_NAME" ]; then _NAME "$@"; else compdef _NAME NAME; fi
`

const fishCommands = `# fish completion for NAME
function __NAME_tool
    set -l words (commandline -opc)
    set -l tool
    switch $words[2]
        case help
            test (count $words) -eq 2; and string split ' ' 'COMMANDS'
CASES    end
    test -n "$tool"; or return
    functions -q __(string replace -a -- - _ $tool)_value
    or $words[1] (string replace -- NAME- '' $tool) --completion fish 2>/dev/null | source
    set -e words[1..2]
    complete -C (string join -- ' ' $tool (string escape -- $words) (commandline -ct))
end
function __NAME_is_first
    test (count (commandline -opc)) -eq 1
end
complete -c NAME -f -n 'not __NAME_is_first' -a '(__NAME_tool)'
DESCRIPTIONS`

// commandsCompletion returns the script of a tool with commands.
func (t Tool) commandsCompletion(shell string) string {
	script, one, description := bashCommands, "\t%s) tool=%s ;;\n", "%.0s%.0s"
	switch shell {
	case "zsh":
		script, one, description = zshCommands, "\t%s) tool=%s ;;\n", "\t\t'%s:%s'\n"
	case "fish":
		script, one, description = fishCommands, "        case %s\n            set tool %s\n", "complete -c "+t.Name+" -n __"+t.Name+"_is_first -a %s -d '%s'\n"
	}
	var cases, descriptions strings.Builder
	for _, c := range t.Commands {
		fmt.Fprintf(&cases, one, c.Name, c.Tool)
		fmt.Fprintf(&descriptions, description, c.Name, strings.ReplaceAll(c.Summary, ":", " -"))
	}
	fmt.Fprintf(&descriptions, description, helpCommand, "show the help of a command")
	var flags []string
	for _, f := range t.flags() {
		flags = append(flags, f.spellings()...)
		if shell == "fish" {
			fmt.Fprintf(&descriptions, "complete -c %s -n __%[1]s_is_first%s%s -d '%s'\n", t.Name, f.fishNames(), f.fishValue(t.fishName()), firstSentence(f.Usage))
		}
	}
	names := strings.Join(t.commandNames(), " ")
	return strings.NewReplacer("NAME", t.Name, "CASES", cases.String(), "DESCRIPTIONS", descriptions.String(), "COMMANDS", names, "FLAGS", strings.Join(flags, " ")).Replace(script)
}
