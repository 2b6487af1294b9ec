package cli

import (
	"fmt"
	"strings"
)

// fishBody holds the functions that flags call, with NAME for the tool's. A value begins after "=" or the letter of a short flag.
const fishBody = `function __NAME_value
    commandline -ct | string replace -r -- '^(--[^=]*=|-[^-]=?)' ''
end
function __NAME_list
    set -l head (__NAME_value | string match -r -- '.*,')
    for word in $argv
        string match -q -- "*,$word,*" ",$head"; or echo "$head$word"
    end
end
function __NAME_entries
    set -l file (__NAME_value | string replace -rf -- '^@' '')
    and printf '@%s\n' (complete -C "'' $file")
end
`

// fishCommand completes the command after "--" like a command line of its own.
const fishCommand = `function __NAME_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    or return
    complete -C (string join -- ' ' (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end
complete -c TOOL -n 'contains -- -- (commandline -opc)' -x -a '(__NAME_command)'
`

func (t Tool) fish() string {
	names := strings.NewReplacer("NAME", t.fishName(), "TOOL", t.Name)
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s\n%s", t.Name, names.Replace(fishBody))
	if t.AllowCommand {
		b.WriteString(names.Replace(fishCommand))
	}
	for _, f := range t.flags() {
		b.WriteString(f.fishBegins(t.fishName()))
		fmt.Fprintf(&b, "complete -c %s%s%s -d '%s'\n", t.Name, f.fishNames(), f.fishValue(t.fishName()),
			strings.NewReplacer("'", "", `\`, "").Replace(firstSentence(f.Usage)))
	}
	return b.String()
}

// fishName is the prefix of the names of the tool's functions.
func (t Tool) fishName() string { return strings.ReplaceAll(t.Name, "-", "_") }

func (f Flag) fishNames() string {
	names := ""
	for _, s := range f.spellings() {
		if long, ok := strings.CutPrefix(s, "--"); ok {
			names += " -l " + long
		} else {
			names += " -s " + s[1:]
		}
	}
	return names
}

// fishValue returns what completes the value. For a flag not declared to fish as requiring a value, only an attached one is completed.
func (f Flag) fishValue(name string) string {
	need := " -x"
	if f.Kind == Optional {
		need = " -f"
	}
	words, some := f.wordList()
	switch {
	case f.Kind == Bool:
		return ""
	case some && f.CommaList:
		return fmt.Sprintf("%s -a '(__%s_list %s)'", need, name, words)
	case some:
		return fmt.Sprintf("%s -a '%s'", need, words)
	case f.Files:
		return " -r -F"
	case f.ListFile:
		return fmt.Sprintf("%s -a '(__%s_entries)'", need, name)
	case len(f.Begins) > 0:
		return fmt.Sprintf("%s -a '(%s)'", need, f.function("__"+name))
	}
	return need
}

// fishBegins returns a function that offers the beginnings of values, and what the tool lists for the machine: fish hides from it what is
// behind the cursor, so that the command is unknown.
func (f Flag) fishBegins(name string) string {
	if len(f.Begins) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "function %s\n    set -l value (__%s_value | string trim -l -c '\"\\'')\n", f.function("__"+name), name)
	fmt.Fprintf(&b, "    if contains -- (string replace -r -- ':.*' ':' \"$value\") %s; and string match -qr -- ':.' \"$value\"\n", f.listed(OfMachine))
	b.WriteString("        set -l words (commandline -opc)\n        $words[1] --list \"$value*\" 2>/dev/null | string replace -r -- ' .*' ''\n        return\n    end\n")
	for _, row := range f.Begins {
		fmt.Fprintf(&b, "    printf '%%s\\t%%s\\n' '%s' '%s'\n", row.Word, row.Text)
	}
	return b.String() + "end\n"
}
