package web

import (
	"slices"
	"strings"
)

// Shorter returns shorter forms of a function's name, for boxes that it does not fit in: without the first parts of its path, and then
// without more of them. The last part always remains: "…Reader.Next", "…Next". path.js does the same in the script.
func Shorter(name string) []string {
	var forms []string
	rest := name
	for before := ""; rest != ""; {
		word := rest[:wordEnd(rest)]
		rest = rest[len(word):]
		last := word
		for _, at := range partStarts(word) {
			last = "…" + word[at:]
			forms = append(forms, before+last+rest)
		}
		before += last
	}
	return forms
}

// CutPlace splits a function's name before the file and line that it ends in, " (parser.c:118)"; place is "" if it ends in none.
// Labels keep a place whole, because a part of a line reads as another line.
func CutPlace(name string) (function, place string) {
	at := max(0, strings.LastIndex(name, " ("))
	place = name[at:]
	colon := strings.LastIndexByte(place, ':')
	line, closed := strings.CutSuffix(place[colon+1:], ")")
	if at == 0 || colon <= len(" (") || !closed || line == "" || strings.Trim(line, "0123456789") != "" {
		return name, ""
	}
	return name[:at], place
}

// wordEnd returns where the first word of a text ends, with the space after it. Spaces in brackets belong to a word.
func wordEnd(text string) int {
	depth := 0
	for i := range len(text) {
		if depth = nesting(depth, text[i]); depth == 0 && text[i] == ' ' {
			return i + 1
		}
	}
	return len(text)
}

// partStarts returns where the parts of a path begin, but for the first one. A path is one of C++ and Rust (a::b), of Go, Java and
// Python (a/b.c), or of a file.
func partStarts(word string) []int {
	var starts []int
	dots := !isPlace(word)
	depth := 0
	for i := range len(word) - 1 {
		c, next := word[i], word[i+1]
		if depth = nesting(depth, c); depth > 0 || strings.IndexByte(" :/.", next) >= 0 {
			continue
		}
		switch {
		case c == '/', c == ':' && i > 0 && word[i-1] == ':', c == '.' && dots && !isClone(word[i+1:]):
			starts = append(starts, i+1)
		}
	}
	return starts
}

// nesting returns the number of open brackets after one more byte. The arrows of operators close none.
func nesting(depth int, c byte) int {
	switch {
	case strings.IndexByte("<([{", c) >= 0:
		return depth + 1
	case strings.IndexByte(">)]}", c) >= 0:
		return max(0, depth-1)
	}
	return depth
}

// isPlace reports whether a word is a file with a line, whose dot is that of its type.
func isPlace(word string) bool {
	name, line, found := strings.Cut(word, ":")
	return found && name != "" && line != "" && line[0] >= '0' && line[0] <= '9'
}

// isClone reports whether a suffix is one of those that compilers give to parts and copies of functions: "f.cold", "f.isra.0", and "func1.2" of Go.
func isClone(suffix string) bool {
	word, _, _ := strings.Cut(suffix, ".")
	return word[0] >= '0' && word[0] <= '9' || slices.Contains(cloneSuffixes(), strings.TrimSpace(word))
}

func cloneSuffixes() []string {
	return []string{"cold", "part", "isra", "constprop", "lto_priv", "localalias", "llvm"}
}
