package web

import _ "embed"

var (
	//go:embed numbers.js
	numbersScript string
	//go:embed search.js
	searchScript string
	//go:embed frame.js
	frameScript string
	//go:embed path.js
	pathScript string
)

// Script returns the part that the scripts of the SVG and of the page share: numbers, in the format of graph.Caption; search;
// the colours and times of frames; and how their names are shortened.
func Script() string { return numbersScript + searchScript + frameScript + pathScript }
