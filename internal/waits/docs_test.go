package waits

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table in docs/waits.md is that of the classes: WPROF_UPDATE=1 writes it.
func TestDocumentedClasses(t *testing.T) {
	const path, begin, end = "../../docs/waits.md", "<!-- begin classes -->\n", "<!-- end classes -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	have, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no table of classes", path)
	}
	want := "| Class | What the thread waits for | Idle |\n|---|---|---|\n"
	for _, c := range Classes() {
		want += fmt.Sprintf("| %s | %s | %s |\n", c.Name, c.Doc, [...]string{Never: "never", IfUsual: "usual", IfShown: "shown", Always: "always"}[c.Idle])
	}
	if have == want {
		return
	}
	if os.Getenv("WPROF_UPDATE") == "" {
		t.Fatalf("%s has\n%swant\n%s", path, have, want)
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
