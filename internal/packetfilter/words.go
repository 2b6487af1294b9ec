package packetfilter

import (
	"fmt"
	"strings"
)

// word is a token of an expression.
type word struct {
	text string
	name bool // not an operator
}

// operators are the longest first.
var operators = []string{"&&", "||", "<<", ">>", "<=", ">=", "!=", "==", "(", ")", "[", "]", "!", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", ":"}

// split splits an expression into words. Within brackets a colon stands alone, outside it is part of an address.
func split(text string) (words []word, err error) {
	inBrackets := 0
	for text = strings.TrimLeft(text, " \t\n\r"); text != ""; text = strings.TrimLeft(text, " \t\n\r") {
		text = strings.TrimPrefix(text, `\`) // before a name that is also a keyword
		n := nameLength(text, inBrackets > 0)
		if n > 0 {
			words = append(words, word{text[:n], true})
			text = text[n:]
			continue
		}
		op := operatorAt(text)
		switch op {
		case "":
			return nil, fmt.Errorf("%q does not belong in a filter of packets", firstRune(text))
		case "[":
			inBrackets++
		case "]":
			inBrackets--
		}
		words = append(words, word{op, false})
		text = text[len(op):]
	}
	return words, nil
}

func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

func operatorAt(text string) string {
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return op
		}
	}
	return ""
}

// nameLength is the length of the name, number or address that a text begins with.
func nameLength(text string, inBrackets bool) int {
	n := 0
	for n < len(text) {
		c := text[n]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && (c != ':' || inBrackets) && (c != '-' || n == 0) {
			break
		}
		n++
	}
	return n
}
