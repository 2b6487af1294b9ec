package firefox

import (
	"strconv"
	"testing"
)

// Types beyond the bound share one schema.
func TestSchemasAreBounded(t *testing.T) {
	s := newSchemas()
	for n := range 2 * maxSchemas {
		if s.of(itemPrefix+strconv.Itoa(n)) == nil {
			t.Fatalf("type %d has no schema", n)
		}
	}
	if len(s.order) != maxSchemas+1 {
		t.Errorf("there are %d schemas, want %d and one for the others", len(s.order), maxSchemas)
	}
	if a, b := s.of("one more"), s.of("and another"); a != b || a.name != itemPrefix+"other" {
		t.Errorf("types beyond the bound are %q and %q", a.name, b.name)
	}
}
