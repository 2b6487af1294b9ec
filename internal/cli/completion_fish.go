package cli

import (
	"fmt"
	"strings"
)

func (t Tool) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s\n", t.Name)
	for _, f := range t.flags() {
		fmt.Fprintf(&b, "complete -c %s%s%s -d '%s'\n", t.Name, f.fishNames(), f.fishValue(),
			strings.NewReplacer("'", "", `\`, "").Replace(firstSentence(f.Usage)))
	}
	return b.String()
}

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

// fishValue says what completes the value. A flag that fish is not told to need one is completed only when it is attached.
func (f Flag) fishValue() string {
	need := " -x"
	if f.Kind == Optional {
		need = " -f"
	}
	words, some := f.wordList()
	switch {
	case f.Kind == Bool:
		return ""
	case some && f.CommaList:
		return fmt.Sprintf("%s -a '(__fish_append , %s)'", need, words)
	case some:
		return fmt.Sprintf("%s -a '%s'", need, words)
	case f.Files:
		return " -r -F"
	}
	return need
}
