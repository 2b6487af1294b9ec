package flame

import _ "embed"

var (
	//go:embed script/numbers.js
	numbersScript string
	//go:embed script/search.js
	searchScript string
)

// sharedScript is what the scripts of the SVG and of the page have in common: how numbers are written, as
// [Profile.Caption] writes them, and what a search finds.
func sharedScript() string { return numbersScript + searchScript }
