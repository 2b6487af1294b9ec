package format

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxTextLine bounds a line of the text form, and with it what the parser holds at a time. The longest that Dump writes
// is an event that fills a block with bytes of which each takes four characters.
const maxTextLine = 4*MaxBlockBytes + 1<<20

// textWord is one word of a line: KEY, KEY=VALUE or "VALUE".
type textWord struct {
	key    string // "" for a quoted word that stands alone
	value  string // unquoted
	valued bool   // there is a value, perhaps an empty one
	quoted bool   // it stood in quotes
}

// splitTextLine cuts a line into words. A # at the start of a word begins a comment.
func splitTextLine(line string) ([]textWord, error) {
	if !utf8.ValidString(line) {
		return nil, fmt.Errorf(`the line is not UTF-8; write other bytes as \xNN within quotes`)
	}
	var words []textWord
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		w, rest, err := nextTextWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, w), rest
	}
}

func nextTextWord(line string) (w textWord, rest string, err error) {
	end := strings.IndexAny(line, " \t\r=\"")
	if end < 0 {
		return textWord{key: line}, "", nil
	}
	w.key, rest = line[:end], line[end:]
	switch rest[0] {
	case '=':
		if w.key == "" {
			return w, "", fmt.Errorf("there is no name before %s", clip(rest))
		}
		w.valued, rest = true, rest[1:]
	case '"':
		if w.key != "" {
			return w, "", fmt.Errorf("write a space or = before the quote in %s", clip(line))
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
		return w, "", fmt.Errorf("the quoted string %s does not end, or holds an unknown escape", clip(rest))
	}
	rest = rest[len(quoted):]
	if rest != "" && !strings.ContainsRune(" \t\r", rune(rest[0])) {
		return w, "", fmt.Errorf("write a space after %s", clip(quoted))
	}
	w.quoted = true
	w.value, err = strconv.Unquote(quoted)
	return w, rest, err
}

// clip shortens what an error quotes.
func clip(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "..."
	}
	return strconv.Quote(s)
}

// unknownName is the error for a name that is none of the valid ones; it names the nearest.
func unknownName(what, name string, valid []string) error {
	best, distance := "", 1<<30
	for _, v := range valid {
		if d := editDistance(name, v); d < distance {
			best, distance = v, d
		}
	}
	switch {
	case best == "":
		return fmt.Errorf("there is no %s %s", what, clip(name))
	case distance > max(2, len(best)/2):
		return fmt.Errorf("there is no %s %s; valid are %s", what, clip(name), strings.Join(valid, ", "))
	}
	return fmt.Errorf("there is no %s %s; the nearest is %s", what, clip(name), best)
}

// editDistance counts the inserted, removed and changed bytes between two names. Of a long one only the start counts.
func editDistance(a, b string) int {
	a = a[:min(len(a), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			corner, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, corner+cost)
		}
	}
	return row[len(b)]
}
