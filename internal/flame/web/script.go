package web

import _ "embed"

var (
	//go:embed numbers.js
	numbersScript string
	//go:embed search.js
	searchScript string
	//go:embed frame.js
	frameScript string
)

// Script returns the part that the scripts of the SVG and of the page share: numbers, in the format of graph.Caption; search;
// and the colours and times of frames.
func Script() string { return numbersScript + searchScript + frameScript }
