package pmu

import (
	"strings"

	"wprof/internal/cli"
)

// suggest names the words that were probably meant, or some of the valid ones.
func suggest(word string, valid []string) string {
	if near := cli.Nearest(word, valid); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	const few = 12
	if len(valid) > few {
		return "there are " + strings.Join(valid[:few], ", ") + " and others, which perf list shows"
	}
	return "there are " + strings.Join(valid, ", ")
}
