package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

const maxListFile = 1 << 20

// ExpandLists replaces each "@FILE" by the lines of the file: one entry a line, without surrounding space; empty lines
// and lines that begin with # say nothing. A file may have 1 MiB.
func ExpandLists(values []string) ([]string, error) {
	var all []string
	for _, v := range values {
		name, isFile := strings.CutPrefix(v, "@")
		if !isFile {
			all = append(all, v)
			continue
		}
		lines, err := readList(name)
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

func readList(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, Usagef("read the list @%s: %w", name, err)
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: maxListFile + 1}
	var lines []string
	s := bufio.NewScanner(limited)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if limited.N <= 0 {
		return nil, Usagef("read the list @%s: it is larger than 1 MiB", name)
	}
	if err := s.Err(); err != nil {
		return nil, Usagef("read the list @%s: %w", name, err)
	}
	return lines, nil
}

// choose holds a value against a flag's choices.
func choose(f Flag, value string) error {
	if len(f.Choices) == 0 {
		return nil
	}
	words := []string{value}
	if f.CommaList {
		words = strings.Split(value, ",")
	}
	for _, w := range words {
		if f.Negate {
			w = strings.TrimPrefix(w, "no-")
		}
		if !contains(f.Choices, w) {
			return fmt.Errorf("%q is not one of its values; %s", w, didYouMean(w, f.Choices))
		}
	}
	return nil
}

func contains(words []string, w string) bool {
	for _, v := range words {
		if v == w {
			return true
		}
	}
	return false
}
