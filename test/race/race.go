// Package race makes tests shorter under the race detector, where they take ten times as long. scripts/test runs every
// test without it as well.
package race

import "testing"

// Runs is how often a test repeats what it repeats n times without the race detector.
func Runs(n int) int {
	if Enabled {
		return max(1, n/20)
	}
	return n
}

// Skip skips a test in which goroutines share nothing.
func Skip(t *testing.T) {
	t.Helper()
	if Enabled {
		t.Skip("the race detector has nothing to find here")
	}
}
