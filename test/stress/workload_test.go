//go:build linux

package stress

import (
	"fmt"
	"strings"
	"testing"

	"wprof/test/tools"
)

// parse reads lines of numbers.
func parse(t *testing.T, lines []string) [][]int64 {
	t.Helper()
	all := make([][]int64, len(lines))
	for i, line := range lines {
		for word := range strings.FieldsSeq(line) {
			var n int64
			if _, err := fmt.Sscan(word, &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			all[i] = append(all[i], n)
		}
	}
	return all
}

// bounded fails the test if a tool took more memory than a renderer may beyond its definitions.
func bounded(t *testing.T, what string, r tools.Result, most int64) {
	t.Helper()
	if r.Status != 0 {
		t.Fatalf("%s: status %d: %s", what, r.Status, r.Stderr)
	}
	if r.PeakBytes > most {
		t.Errorf("%s took %d MiB, want %d at most", what, r.PeakBytes>>20, most>>20)
	}
	t.Logf("%s: %v, %d MiB", what, r.Took, r.PeakBytes>>20)
}
