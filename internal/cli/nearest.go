package cli

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the valid words that were probably intended by a wrong one: at most three, nearest first.
func Nearest(word string, valid []string) []string {
	type candidate struct {
		word string
		far  int
	}
	var near []candidate
	for _, v := range valid {
		far := distance(word, v)
		if word != "" && (isPart(word, v) || isPart(v, word)) {
			far = min(far, 1)
		}
		if far <= max(2, len(v)/3) && far < len(v) {
			near = append(near, candidate{v, far})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.far - b.far })
	var words []string
	for _, c := range near[:min(3, len(near))] {
		words = append(words, c.word)
	}
	return words
}

// isPart reports whether a word begins with part, or ends with it after an underscore: rename is part of task_rename.
func isPart(part, word string) bool {
	return strings.HasPrefix(word, part) || strings.HasSuffix(word, "_"+part)
}

// didYouMean names the nearest valid words, or all when none is near.
func didYouMean(word string, valid []string) string {
	if near := Nearest(word, valid); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	return "valid are " + strings.Join(valid, ", ")
}

// distance counts the insertions, deletions and substitutions between two words, and swaps of neighbours as one.
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
