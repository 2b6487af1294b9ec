package filter

import (
	"testing"

	"wprof/format"
)

// The names that the JSON schema has for some kinds select them too.
func TestKindsHaveTheNamesOfTheSchema(t *testing.T) {
	names, schema := KindNames()
	if len(schema) == 0 {
		t.Fatal("no kind has another name in the schema")
	}
	for _, k := range format.Kinds() {
		if k.JSON == "" {
			continue
		}
		if MakeKindSet([]string{k.JSON}, nil) != MakeKindSet([]string{k.Name}, nil) {
			t.Errorf("-k %s does not keep what -k %s does", k.JSON, k.Name)
		}
		if dropped := MakeKindSet(nil, []string{k.JSON}); dropped.Dropped() != k.Name {
			t.Errorf("-K %s drops %q, want %s", k.JSON, dropped.Dropped(), k.Name)
		}
	}
	if kept := MakeKindSet(names, nil); kept.Dropped() != "" {
		t.Errorf("all kinds without %s", kept.Dropped())
	}
}
