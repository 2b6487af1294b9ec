package web

import _ "embed"

var (
	//go:embed numbers.js
	numbersScript string
	//go:embed search.js
	searchScript string
)

// sharedScript is what the scripts of the SVG and of the page have in common: how numbers are written, as
// [Profile.Caption] writes them, and what a search finds.
func Script() string { return numbersScript + searchScript }
