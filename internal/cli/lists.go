package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const maxListFile = 1 << 20

// ExpandLists replaces each "@FILE" by the lines of the file: one entry a line, without surrounding space; empty lines
// and lines that begin with # are ignored. A file may have 1 MiB. "@-" is refused, because standard input is for the
// stream. Errors are of wrong usage ([ExitUsage]).
func ExpandLists(values []string) ([]string, error) {
	var all []string
	for _, v := range values {
		name, isFile := strings.CutPrefix(v, "@")
		if !isFile {
			all = append(all, v)
			continue
		}
		if name == "-" || name == "" {
			return nil, Usagef("%q names no file; write @FILE", v)
		}
		lines, err := readList(name)
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

// EmptyEntry returns the error for a list with an empty entry, that is, a comma too many, with a hint on what is valid.
func EmptyEntry(list, hint string) error {
	if strings.TrimSpace(list) == "" {
		return fmt.Errorf("the value is empty; %s", hint)
	}
	return fmt.Errorf("%q has an empty entry; %s", list, hint)
}

// readList reads the file with its user's rights, to the end: files in /proc check permissions at each read, not only when opened.
func readList(name string) (lines []string, err error) {
	err = AsUser(func() (err error) {
		lines, err = readLines(name)
		return err
	})
	if err != nil {
		return nil, Usagef("read the list @%s: %w", name, withoutPath(err))
	}
	return lines, nil
}

var errLongList = errors.New("it is larger than 1 MiB")

func readLines(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: maxListFile + 1}
	var lines []string
	s := bufio.NewScanner(limited)
	s.Buffer(nil, maxListFile+1)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if limited.N <= 0 {
		return nil, errLongList
	}
	return lines, s.Err()
}
