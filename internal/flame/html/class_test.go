package html

import (
	"testing"

	"wprof/internal/flame/profile"
)

// The page gives numbers to classes by their names, so a class without one would have another's.
func TestEachClassHasAName(t *testing.T) {
	seen := map[string]bool{"": true}
	for class, name := range classNames() {
		if seen[name] {
			t.Errorf("class %d (%s) has the name %q", class, profile.Class(class).Note(), name)
		}
		seen[name] = true
	}
}
