package capture

import (
	"testing"

	"wprof/internal/probe"
)

// Stacks are taken for single events, and to count by them.
func TestProbesThatTakeStacks(t *testing.T) {
	for text, want := range map[string]bool{"u:f": false, "u:f (stack)": true, "u:f | count |": false, "u:f | count, by:stack |": true} {
		d, err := probe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := takesStacks([]*probe.Definition{d}); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
