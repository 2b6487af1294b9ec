package perfetto

import (
	"bytes"

	"wprof/format"
	"wprof/internal/stacks"
)

// maxWords bounds how many words of a command line are shown.
const maxWords = 1024

// commandWords are the words of a command line, which may be nil; nil where none is known.
func commandWords(c *format.Command) [][]byte {
	if c == nil || len(c.Args) == 0 || c.Args[0] == 0 {
		return nil // without a first word the process would have no name
	}
	var words [][]byte
	rest := c.Args
	for len(rest) > 0 && len(words) < maxWords {
		var word []byte
		word, rest, _ = bytes.Cut(rest, []byte{0})
		words = append(words, stacks.Printable(word, ""))
	}
	if c.Cut || len(rest) > 0 {
		words = append(words, []byte("…"))
	}
	return words
}
