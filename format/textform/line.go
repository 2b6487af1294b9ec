package textform

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"wprof/format"
	"wprof/format/internal/spell"
)

// maxLine bounds a line of the text form, and with it what the parser holds at a time. The longest that Dump writes
// is an event that fills a block with bytes of which each takes four characters.
const maxLine = 4*format.MaxBlockBytes + 1<<20

// word is one word of a line: KEY, KEY=VALUE or "VALUE".
type word struct {
	key    string // "" for a quoted word that stands alone
	value  string // unquoted
	valued bool   // there is a value, perhaps an empty one
	quoted bool   // it stood in quotes
}

// splitLine cuts a line into words. A # at the start of a word begins a comment.
func splitLine(line string) ([]word, error) {
	if !utf8.ValidString(line) {
		return nil, fmt.Errorf(`the line is not UTF-8; write other bytes as \xNN within quotes`)
	}
	var words []word
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		w, rest, err := nextWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, w), rest
	}
}

func nextWord(line string) (w word, rest string, err error) {
	end := strings.IndexAny(line, " \t\r=\"")
	if end < 0 {
		return word{key: line}, "", nil
	}
	w.key, rest = line[:end], line[end:]
	switch rest[0] {
	case '=':
		if w.key == "" {
			return w, "", fmt.Errorf("there is no name before %s", spell.Clip(rest))
		}
		w.valued, rest = true, rest[1:]
	case '"':
		if w.key != "" {
			return w, "", fmt.Errorf("write a space or = before the quote in %s", spell.Clip(line))
		}
		w.valued = true
	default:
		return w, rest, nil
	}
	if !strings.HasPrefix(rest, `"`) {
		end := strings.IndexAny(rest, " \t\r")
		if end < 0 {
			end = len(rest)
		}
		w.value = rest[:end]
		return w, rest[end:], nil
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return w, "", fmt.Errorf("the quoted string %s does not end, or holds an unknown escape", spell.Clip(rest))
	}
	rest = rest[len(quoted):]
	if rest != "" && !strings.ContainsRune(" \t\r", rune(rest[0])) {
		return w, "", fmt.Errorf("write a space after %s", spell.Clip(quoted))
	}
	w.quoted = true
	w.value, err = strconv.Unquote(quoted)
	return w, rest, err
}
