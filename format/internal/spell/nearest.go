package spell

import (
	"fmt"
	"strconv"
	"strings"
)

// Clip shortens what an error quotes.
func Clip(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "..."
	}
	return strconv.Quote(s)
}

// Unknown returns the error for a name that is not valid; it suggests the nearest one.
func Unknown(what, name string, valid []string) error {
	best, distance := "", 1<<30
	for _, v := range valid {
		if d := editDistance(name, v); d < distance {
			best, distance = v, d
		}
	}
	switch {
	case best == "":
		return fmt.Errorf("there is no %s %s", what, Clip(name))
	case distance > max(2, len(best)/2):
		return fmt.Errorf("there is no %s %s; valid are %s", what, Clip(name), strings.Join(valid, ", "))
	}
	return fmt.Errorf("there is no %s %s; the nearest is %s", what, Clip(name), best)
}

// editDistance counts the inserted, removed and changed bytes between two names. Only the first 64 bytes of a count.
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
