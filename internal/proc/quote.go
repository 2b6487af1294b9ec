package proc

import "strings"

// Quote writes a word so that a POSIX shell reads exactly it.
func Quote(word string) string {
	if word != "" && strings.IndexFunc(word, needsQuote) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// QuoteAll quotes each word of a command line.
func QuoteAll(argv []string) []string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = Quote(word)
	}
	return words
}

// CommandLine is a command line as one text that can be typed again. A stream stores it as UTF-8, so invalid bytes become
// U+FFFD.
func CommandLine(argv []string) string {
	return strings.ToValidUTF8(strings.Join(QuoteAll(argv), " "), "\uFFFD")
}

func needsQuote(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_./:=,+@%", r)
}
