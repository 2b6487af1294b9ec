package symbol

import (
	"bufio"
	"errors"
	"io"
)

// maxLineBytes is the longest line of the kernel's tables and of JIT maps that is used; longer ones are skipped.
const maxLineBytes = 16 << 10

// eachLine visits the lines of a text, without their ends. A line is valid during its visit.
func eachLine(r io.Reader, visit func(line []byte) error) error {
	in := bufio.NewReaderSize(r, maxLineBytes)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			line = nil
		}
		for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			if err := visit(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cutWord returns the first word of a line and the text after the white space that follows.
func cutWord(line []byte) (word, rest []byte) {
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	end := 0
	for end < len(line) && line[end] != ' ' && line[end] != '\t' {
		end++
	}
	word, rest = line[:end], line[end:]
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
		rest = rest[1:]
	}
	return word, rest
}

// parseHex reads a number without a sign, with or without 0x.
func parseHex(word []byte) (uint64, bool) {
	if len(word) > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X') {
		word = word[2:]
	}
	if len(word) == 0 || len(word) > 16 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range word {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, true
}
