package assemble

import "testing"

// The id of a definition says which language it is of, and the word of a frame of Ruby has its line.
func TestLanguageOfADefinition(t *testing.T) {
	for id, want := range map[uint64]language{0: ofPython, 1: ofPython, 2: ofRuby, 1<<42 - 1: ofPython, 1<<42 - 2: ofRuby} {
		if got := languageOf(id); got != want {
			t.Errorf("%#x is of language %d, not %d", id, got, want)
		}
	}
	code := pythonCode{language: ofRuby, first: 10}
	if got := code.line(4711); got != 4711 {
		t.Errorf("line %d, not 4711", got)
	}
	if got := code.line(1<<20 - 1); got != 0 {
		t.Errorf("line %d of a frame without one", got)
	}
}
