package cli

import "strings"

// completion returns a script that completes flags and values in a shell.
func (t Tool) completion(shell string) string {
	if len(t.Commands) > 0 {
		return t.commandsCompletion(shell)
	}
	switch shell {
	case "zsh":
		return t.zsh()
	case "fish":
		return t.fish()
	default:
		return t.bash()
	}
}

// spellings returns all names of a flag with their dashes.
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

// wordList returns the words that complete a value, and whether there are any.
func (f Flag) wordList() (string, bool) { return strings.Join(f.values(), " "), len(f.Choices) > 0 }

// begins returns the words with which values begin.
func (f Flag) begins() string {
	var words []string
	for _, b := range f.Begins {
		words = append(words, b.Word)
	}
	return strings.Join(words, " ")
}

// listed returns those beginnings of values of which --list lists the continuation in this way.
func (f Flag) listed(how Listed) string {
	var words []string
	for _, b := range f.Begins {
		if b.Listed == how {
			words = append(words, b.Word)
		}
	}
	return strings.Join(words, " ")
}

// function is the name of a function of a script that completes the flag's value.
func (f Flag) function(prefix string) string {
	return prefix + "_begins_" + strings.ReplaceAll(f.Name, "-", "_")
}

func firstSentence(text string) string {
	if i := strings.IndexAny(text, ".;\n"); i > 0 {
		return text[:i]
	}
	return text
}
