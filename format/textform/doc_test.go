package textform

import (
	"os"
	"strings"
	"testing"
)

// The captures that docs/text-form.md shows are whole ones.
func TestDocumentedTextsAreWholeStreams(t *testing.T) {
	page, err := os.ReadFile("../../docs/text-form.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for part := range strings.SplitSeq(string(page), "\n\n") {
		if !strings.HasPrefix(part, "    section ") {
			continue
		}
		shown++
		stream := undumped(t, part)
		checked(t, stream)
		text, err := dumped(t, stream)
		if err != nil {
			t.Errorf("%s\ndump: %v", part, err)
		}
		if again, _ := dumped(t, undumped(t, text)); again != text {
			t.Errorf("the text\n%s\nbecomes\n%s", text, again)
		}
	}
	if shown < 3 {
		t.Errorf("the page shows %d captures, not 3", shown)
	}
}
