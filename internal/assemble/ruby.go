package assemble

import "wprof/internal/ringdata"

// language is one of those whose interpreters' frames stacks have.
type language uint8

const (
	ofPython language = iota
	ofRuby
	languages
)

// unknownRuby is the function of a frame whose iseq could not be read.
const unknownRuby = "[ruby?]"

// languageOf returns the language of a definition by its id: see ruby.h.
func languageOf(id uint64) language {
	if id != 0 && id&1 == 0 {
		return ofRuby
	}
	return ofPython
}

// rubyLine is the line of a frame, which its word has; 0: it is not known.
func rubyLine(at uint64) uint32 {
	if at >= ringdata.PythonWordFar {
		return 0
	}
	return uint32(at)
}

// isRuby reports whether runs of frames, which may have no frame, are of Ruby.
func isRuby(runs [][]uint64) bool {
	return len(runs[0]) > 0 && languageOf(runs[0][0]>>ringdata.PythonWordCodeShift) == ofRuby
}
