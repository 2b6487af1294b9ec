package cmdline

import (
	"strconv"
	"strings"
	"unicode"

	"wprof/internal/printable"
)

// Quoted returns the words of a command, quoted for a shell.
func Quoted(argv []string) []string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = quoted(arg)
	}
	return words
}

func quoted(s string) string {
	const plain = "-_./=:,@%+"
	special := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(plain, r)
	}
	switch escaped := strconv.Quote(s); {
	case s != "" && !strings.ContainsFunc(s, special):
		return s
	case escaped == `"`+s+`"` || printable.Is(s):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	default:
		return "$'" + strings.ReplaceAll(escaped[1:len(escaped)-1], "'", `\'`) + "'"
	}
}

// Files returns the files of a command as they are typed; "" if one is standard input.
func Files(args []string) string {
	for _, arg := range args {
		if arg == "-" {
			return ""
		}
	}
	return strings.Join(Quoted(args), " ")
}
